//! `tplens serve check`: a rate that was not kept up, requests that waited for a slot, and a limit that the mean alone keeps.

use std::path::PathBuf;

use disagg::{Claim, Finding};
use import::serve::{ServeResult, read_all};
use program::outputs;
use program::say;
use program::show::Show;
use record::exit;
use serde::Serialize;
use view::serve::significant;
use view::{Block, Document, Item, Section, Table, Tone};

/// Check what serving results claim against their own figures.
///
/// Exit code 1 where a finding is, 0 where none is.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct CheckArgs {
    /// Results of `tplens serve run` or of other clients.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Sequences that the engine runs at once.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_num_seqs: Option<u32>,
    /// Limit of the time to first token that was claimed.
    #[arg(long, value_name = "TIME", value_parser = program::command_line::time)]
    ttft: Option<std::time::Duration>,
    /// Write the findings to this file as JSON, too; `-` for standard output instead of the table.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// One result and what was found.
#[derive(Serialize)]
struct Checked {
    origin: String,
    requests: u64,
    served_per_s: f64,
    offered_per_s: Option<f64>,
    waited: Option<f64>,
    ttft_mean_ms: Option<f64>,
    ttft_p99_ms: Option<f64>,
    codes: Vec<&'static str>,
}

/// Prints what was found, and gives the exit code.
pub(crate) fn check(args: &CheckArgs, show: Show) -> u8 {
    let mut checked = Vec::new();
    for file in &args.files {
        match read_all(file) {
            Ok(results) => checked.extend(results.iter().map(|one| of(one, args))),
            Err(error) => {
                say!("error: {error}");
                return exit::USAGE;
            }
        }
    }
    let is_clean = checked.iter().all(|one| one.codes.is_empty());
    let json = serde_json::json!({"schema": 1, "results": checked});
    let shown = outputs::with_json(show, &document(&checked), &json, args.json.as_deref());
    let found = if is_clean { exit::DONE } else { exit::REJECTED };
    exit::fold([shown, found])
}

#[expect(clippy::cast_precision_loss, reason = "requests and tokens")]
fn of(result: &ServeResult, args: &CheckArgs) -> Checked {
    let run = &result.run;
    let requests = run.completed as f64;
    let offered = run.request_rate_asked.filter(|rate| rate.is_finite());
    let ttft = run.ttft_ms.as_ref();
    let claim = Claim {
        requests,
        duration_s: run.duration_s,
        offered_per_s: offered,
        in_flight: run.concurrency_asked,
        decode_s: run
            .tpot_ms
            .zip(run.output_tokens)
            .map(|(tpot, tokens)| tpot.mean * 1e-3 * (tokens as f64 / requests - 1.0)),
        slots: args.max_num_seqs.map(f64::from),
        ttft_mean_ms: ttft.map_or(0.0, |ttft| ttft.mean),
        ttft_tail_ms: ttft.and_then(|ttft| ttft.p99),
        limit_ms: args
            .ttft
            .filter(|_| ttft.is_some())
            .map(|limit| limit.as_secs_f64() * 1e3),
    };
    let findings = disagg::check(&claim);
    Checked {
        origin: run.origin.clone(),
        requests: run.completed,
        served_per_s: run.requests_per_s,
        offered_per_s: offered,
        waited: findings.iter().find_map(|finding| match finding {
            Finding::WaitedForSlots { waited, of } => Some(waited / of),
            _ => None,
        }),
        ttft_mean_ms: ttft.map(|ttft| ttft.mean),
        ttft_p99_ms: claim.ttft_tail_ms,
        codes: findings.iter().map(Finding::code).collect(),
    }
}

fn document(checked: &[Checked]) -> Document {
    const CODES: [&str; 3] = ["rate-not-sustained", "waited-for-slots", "slo-by-mean"];
    let having = |code| {
        checked
            .iter()
            .filter(|one| one.codes.contains(&code))
            .count()
    };
    let all = checked.len();
    let findings: Vec<Item> = CODES
        .into_iter()
        .filter(|code| having(code) > 0)
        .map(|code| {
            let text = format!("{} of {all}: {}", having(code), view::codes::line(code));
            Item::of(Tone::Bad, text).coded(code)
        })
        .collect();
    let mut table = Table::under([
        "result",
        "n",
        "offered req/s",
        "served req/s",
        "waited %",
        "TTFT ms",
        "p99 ms",
    ]);
    let cell = |value: Option<f64>| value.map_or_else(|| "—".to_owned(), significant);
    for one in checked {
        table.row([
            one.origin.clone(),
            one.requests.to_string(),
            cell(one.offered_per_s),
            significant(one.served_per_s),
            cell(one.waited.map(|share| share * 100.0)),
            cell(one.ttft_mean_ms),
            cell(one.ttft_p99_ms),
        ]);
    }
    Document {
        title: "Serving results against their own figures".to_owned(),
        tone: if findings.is_empty() {
            Tone::Good
        } else {
            Tone::Bad
        },
        answer: vec![
            match checked.iter().filter(|one| !one.codes.is_empty()).count() {
                0 => format!("Nothing in {all} results contradicts their figures."),
                some => format!("{some} of {all} results do not show what they claim."),
            },
        ],
        findings,
        sections: vec![Section::new("Results", vec![Block::Table(table)])],
        made_by: format!("tplens serve check {}", env!("CARGO_PKG_VERSION")),
        ..Document::default()
    }
}
