//! A selftest as text.

use measure::record::Stamps;

use super::bounds::Verdict;
use super::compare::Compared;
use super::report::{Line, Report};

/// What stands where there is no value.
const ABSENT: &str = "—";

/// The columns; all but the first and the last are numbers.
const COLUMNS: [&str; 12] = [
    "streams",
    "",
    "n",
    "TTFT true",
    "client",
    "off by",
    "tail",
    "TPOT true",
    "off by",
    "CPU-s/1e6",
    "stamped",
    "within bounds",
];

/// What may help a client that is late.
const REMEDY: &str = "The client is late by itself: give it a CPU that nothing else uses (taskset), stop what else runs, or use fewer streams; \
times of this size on this machine are partly the client's own.";

/// The whole selftest.
pub(super) fn report(report: &Report) -> String {
    let mut text = heading(report);
    let mut rows = vec![COLUMNS.map(str::to_owned)];
    rows.extend(report.lines.iter().map(row));
    text.push_str(&aligned(&rows));
    text.push_str(
        "TTFT, TPOT in ms; off by: the client's mean less the true one, in ms and in %; tail: 99th percentile of how far TTFT is \
         off, below 200 requests the largest; CPU-s/1e6: CPU time of the client for a million tokens; \
         stamped: instants of the client's reads, or the kernel's and for which part of the reads\n",
    );
    for line in &report.lines {
        text.push_str(&notes(line));
    }
    if let Some(late) = report
        .lines
        .iter()
        .filter_map(lateness)
        .max_by(f64::total_cmp)
    {
        text.push_str(&format!(
            "The server was late by {late:.2} ms in the mean at most; true times are of its actual writes\n"
        ));
    }
    if let Some(flood) = &report.flood {
        text.push_str(&format!(
            "Without a schedule: {} tokens/s with {} streams, 16 tokens a write (n={} tokens), {} CPU-s per million\n",
            value(flood.tokens_per_s, 0),
            flood.streams,
            flood.tokens,
            value(flood.cpu_s_per_million_tokens, 2)
        ));
    }
    let beyond = |line: &Line| matches!(line.judged, Verdict::Beyond(_));
    if report.lines.iter().any(beyond) {
        text.push_str(REMEDY);
        text.push('\n');
    }
    text.push_str(&format!("exit code {}\n", report.exit_code));
    text
}

fn heading(report: &Report) -> String {
    let schedule = match report.ttft_ms.zip(report.itl_ms) {
        Some((ttft, itl)) => format!("TTFT {ttft} ms, then a token every {itl} ms"),
        None => "a schedule of its own".to_owned(),
    };
    let place = match (report.server_cpu, report.client_cpu) {
        (Some(server), Some(client)) => format!("server on CPU {server}, client on CPU {client}"),
        (None, Some(client)) => format!("server started by somebody else, client on CPU {client}"),
        _ => "server and client share what CPUs there are, so times hold the one's wait for the other".to_owned(),
    };
    format!(
        "serve-bench {} against a server of known schedule: {schedule}, {} tokens a request\n{place}\n\n",
        report.version, report.tokens
    )
}

fn row(line: &Line) -> [String; 12] {
    let verdict = match &line.judged {
        Verdict::Within => "yes",
        Verdict::Beyond(_) => "NO",
        Verdict::NotJudged(_) => "not judged",
    };
    let of = |value: fn(&Compared) -> String| {
        line.compared
            .as_ref()
            .map_or_else(|| ABSENT.to_owned(), value)
    };
    [
        line.streams.to_string(),
        line.mode.clone(),
        line.requests.to_string(),
        of(|c| value(Some(c.true_ttft_ms), 2)),
        of(|c| value(Some(c.client_ttft_ms), 2)),
        of(|c| format!("{:+.3}", c.ttft_error_ms.mean)),
        of(|c| value(Some(c.ttft_tail_ms()), 2)),
        of(|c| value(c.true_tpot_ms, 3)),
        of(|c| {
            c.tpot_error_percent
                .map_or_else(|| ABSENT.to_owned(), |off| format!("{off:+.3}%"))
        }),
        value(line.cpu_s_per_million_tokens, 2),
        stamped(line),
        verdict.to_owned(),
    ]
}

/// What does not fit into a row.
fn notes(line: &Line) -> String {
    let name = format!("{} streams, {}", line.streams, line.mode);
    let mut notes: Vec<String> = match &line.judged {
        Verdict::Within => Vec::new(),
        Verdict::Beyond(why) => why.clone(),
        Verdict::NotJudged(why) => vec![format!("not judged: {why}")],
    };
    notes.extend(
        line.client_says
            .iter()
            .map(|why| format!("the client says of itself: {why}")),
    );
    notes
        .iter()
        .map(|note| format!("{name}: {note}\n"))
        .collect()
}

/// By whom the client's instants are.
fn stamped(line: &Line) -> String {
    match (line.stamps, line.kernel_stamped) {
        (Stamps::AtReceipt, Some(part)) => format!("kernel {:.1}%", part * 100.0),
        (Stamps::AtReceipt, None) => "kernel".to_owned(),
        (Stamps::AtRead, _) => "read".to_owned(),
    }
}

fn lateness(line: &Line) -> Option<f64> {
    Some(line.compared.as_ref()?.server_late_ms.as_ref()?.mean)
}

fn value(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| ABSENT.to_owned(), |value| format!("{value:.digits$}"))
}

/// Columns as wide as their widest cell, numbers to the right.
fn aligned(rows: &[[String; 12]]) -> String {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..COLUMNS.len()).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(column, (cell, width))| {
                if column == 1 || column == COLUMNS.len() - 1 {
                    format!("{cell:<width$}")
                } else {
                    format!("{cell:>width$}")
                }
            });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}
