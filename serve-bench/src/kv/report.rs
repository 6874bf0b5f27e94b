//! What was timed, as numbers and as a document.

use disagg::LinkLaw;
use import::transfers::{Timed, Transfers};
use serde::Serialize;
use stats::{Interval, median, median_interval};
use view::serve::{significant, within};
use view::{Block, Document, Next, Section, Table, Tone};

use super::wire::Transfer;
use crate::planner;

/// One length in one direction.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    pub(super) tokens: u32,
    pub(super) direction: &'static str,
    pub(super) pieces: u64,
    pub(super) piece_bytes: u64,
    pub(super) bytes: u64,
    pub(super) n: usize,
    pub(super) median_ms: f64,
    pub(super) interval_ms: Option<Interval>,
    pub(super) gb_per_s: f64,
    pub(super) samples_ms: Vec<f64>,
}

/// The law of one direction.
#[derive(Debug, Serialize)]
pub(super) struct Law {
    pub(super) direction: &'static str,
    pub(super) start_ms: f64,
    pub(super) gb_per_s: f64,
    /// By how much the law is off at most, relative.
    pub(super) largest_error: f64,
}

/// All of it.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) schema: u32,
    pub(super) backend: &'static str,
    pub(super) model: String,
    pub(super) tp: u32,
    pub(super) is_right: bool,
    pub(super) lines: Vec<Line>,
    pub(super) laws: Vec<Law>,
}

/// The line of seconds that were timed.
pub(super) fn line(tokens: u32, transfer: Transfer, seconds: &[f64]) -> Option<Line> {
    let samples_ms: Vec<f64> = seconds.iter().map(|seconds| seconds * 1e3).collect();
    let median_ms = median(&samples_ms)?;
    let bytes = transfer.bytes();
    Some(Line {
        tokens,
        direction: ["write", "read"][usize::from(transfer.is_read)],
        pieces: transfer.pieces,
        piece_bytes: transfer.piece,
        bytes,
        n: samples_ms.len(),
        median_ms,
        interval_ms: median_interval(&samples_ms),
        gb_per_s: bytes as f64 / median_ms * 1e-6,
        samples_ms,
    })
}

/// The laws of both directions, where they can be fitted.
pub(super) fn laws(lines: &[Line]) -> Vec<Law> {
    let of = |direction: &'static str| {
        let transfers: Vec<disagg::Transfer> = lines
            .iter()
            .filter(|line| line.direction == direction)
            .map(|line| disagg::Transfer {
                bytes: line.bytes as f64,
                seconds: line.median_ms * 1e-3,
            })
            .collect();
        let (law, largest_error) = LinkLaw::fit(&transfers)?;
        Some(Law {
            direction,
            start_ms: law.start_s * 1e3,
            gb_per_s: law.bytes_per_s * 1e-9,
            largest_error,
        })
    };
    ["read", "write"].into_iter().filter_map(of).collect()
}

/// The document.
pub(super) fn document(report: &Report) -> Document {
    let law = |law: &Law| {
        let (start, rate) = (significant(law.start_ms), significant(law.gb_per_s));
        let (way, off) = (law.direction, law.largest_error * 100.0);
        format!("{way}: {start} ms and {rate} GB/s, off by {off:.0}% at most.")
    };
    let mut answer: Vec<String> = report.laws.iter().map(law).collect();
    let (tone, content) = match report.is_right {
        true => (Tone::Good, "All content arrived as it was sent."),
        false => (Tone::Bad, "Content did not arrive as it was sent."),
    };
    answer.push(content.to_owned());
    let heads = "tokens, way, pieces, KiB each, MB, ms, 95% interval, GB/s, n";
    let row = |line: &Line| {
        [
            line.tokens.to_string(),
            line.direction.to_owned(),
            line.pieces.to_string(),
            significant(line.piece_bytes as f64 / 1024.0),
            significant(line.bytes as f64 * 1e-6),
            significant(line.median_ms),
            within(line.interval_ms),
            significant(line.gb_per_s),
            line.n.to_string(),
        ]
    };
    let table = planner::table(heads, report.lines.iter().map(row));
    Document {
        title: format!(
            "Keys and values of {} at TP{} over {}",
            report.model, report.tp, report.backend
        ),
        tone,
        answer,
        sections: vec![Section::new("One rank's transfers", table)],
        made_by: format!("tplens kv {}", env!("CARGO_PKG_VERSION")),
        ..Document::default()
    }
}

/// Rates of ports, Gbit/s.
const PORTS: [f64; 8] = [10.0, 25.0, 40.0, 50.0, 100.0, 200.0, 400.0, 800.0];

/// What a link is given to.
const PREDICT: &str = "tplens predict --box h200x8 --model qwen3-30b-a3b --tp 8 --split 1P1D";

/// By how much a law may be off to be worth a prediction.
const USABLE: f64 = 0.3;

/// What another tool timed.
pub(super) fn of_tool(read: &Transfers) -> Document {
    let mut answer = Vec::new();
    let mut next = Vec::new();
    let by_rate = |a: &&Timed, b: &&Timed| a.gb_per_s().total_cmp(&b.gb_per_s());
    let (alone, many): (Vec<&Timed>, Vec<&Timed>) = read.rows.iter().partition(|row| row.is_alone);
    if let Some(best) = many.iter().copied().max_by(by_rate) {
        let gbit = best.gb_per_s() * 8.0;
        let port = PORTS.into_iter().find(|port| *port >= gbit);
        let share = port.map_or_else(String::new, |port| {
            format!(", {:.0}% of a {port:.0}G port", gbit / port * 100.0)
        });
        let (rate, size) = (significant(best.gb_per_s()), bytes(best.bytes));
        answer.push(format!("{rate} GB/s at {size}{share}."));
    }
    if let Some(least) = alone.iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds)) {
        let (us, size) = (significant(least.seconds * 1e6), bytes(least.bytes));
        answer.push(format!("One message of {size} takes {us} us."));
    }
    let timed = |row: &&Timed| disagg::Transfer {
        bytes: row.bytes,
        seconds: row.seconds,
    };
    let transfers: Vec<disagg::Transfer> = many.iter().map(timed).collect();
    if let Some((law, off)) = LinkLaw::fit(&transfers).filter(|(_, off)| *off < USABLE) {
        let (rate, start) = (law.bytes_per_s * 1e-9, law.start_s * 1e6);
        let (rate, start) = (significant(rate), significant(start));
        answer.push(format!(
            "{start} us and {rate} GB/s a piece, off by {:.0}% at most.",
            off * 100.0
        ));
        next.push(Next {
            text: "Prefill and decode apart over one such card; put in your machine and model"
                .to_owned(),
            command: Some(format!("{PREDICT} --kv-link {rate}GB/s,{start}us")),
        });
    }
    let mut table = Table::under(["size", "us", "GB/s", "Gbit/s", "n"]);
    for row in &read.rows {
        table.row([
            bytes(row.bytes),
            significant(row.seconds * 1e6),
            significant(row.gb_per_s()),
            significant(row.gb_per_s() * 8.0),
            row.n.to_string(),
        ]);
    }
    let names = [read.test.as_deref(), read.device.as_deref()];
    let names: Vec<&str> = [Some(read.tool)]
        .into_iter()
        .chain(names)
        .flatten()
        .collect();
    Document {
        title: names.join(", "),
        answer,
        next,
        sections: vec![Section::new("Transfers", vec![Block::Table(table)])],
        made_by: format!("tplens kv {}", env!("CARGO_PKG_VERSION")),
        ..Document::default()
    }
}

/// `16 KiB`, `2 B`.
fn bytes(bytes: f64) -> String {
    record::unit::ByteCount(bytes as u64).to_string()
}
