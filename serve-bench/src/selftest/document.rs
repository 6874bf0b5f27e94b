//! The document of a selftest.

use view::serve::significant;
use view::{Block, Document, Item, Next, Section, Table, Tone};

use super::line::{Beyond, Line, Offered};

/// The document.
pub(super) fn document(lines: &[Line]) -> Document {
    let beyond = lines.iter().filter(|line| !line.beyond.is_empty()).count();
    let all = lines.len();
    let worst = |of: fn(&Line) -> Option<f64>| {
        let values = lines.iter().filter_map(of).map(f64::abs);
        significant(values.fold(0.0, f64::max))
    };
    let first = match beyond {
        0 => format!("This client's times are right: all {all} loads within their bounds."),
        some => {
            format!("{some} of {all} loads beyond their bounds: the client lags on this machine.")
        }
    };
    let next = Next::by(
        "give it a CPU that nothing else uses.",
        "taskset -c N tplens serve selftest",
    );
    Document {
        title: "Selftest of the load generator".to_owned(),
        tone: match beyond {
            0 => Tone::Good,
            _ => Tone::Bad,
        },
        answer: vec![
            first,
            format!(
                "Largest mean errors: TTFT {} ms, time between tokens {}%.",
                worst(|line| line.ttft_off_ms),
                worst(|line| line.itl_off.map(|off| off * 100.0))
            ),
        ],
        findings: lines.iter().filter_map(finding).collect(),
        next: (beyond > 0).then_some(next).into_iter().collect(),
        sections: vec![Section::new(
            "Client against the embedded engine's own counts",
            vec![Block::Table(table(lines))],
        )],
        made_by: format!("tplens serve selftest {}", env!("CARGO_PKG_VERSION")),
        ..Document::default()
    }
}

fn name(offered: Offered) -> String {
    match offered {
        Offered::Streams(streams) => format!("{streams} streams"),
        Offered::Rate(rate) => format!("{rate} req/s"),
    }
}

fn finding(line: &Line) -> Option<Item> {
    let words = |beyond: &Beyond| match beyond {
        Beyond::Tokens => "tokens".to_owned(),
        Beyond::Ttft { limit_ms } => format!("mean TTFT (limit {limit_ms} ms)"),
        Beyond::Itl { limit } => format!("time between tokens (limit {:.0}%)", limit * 100.0),
        Beyond::Rate { limit_ms } => format!("requests left late (limit {limit_ms} ms)"),
    };
    let what: Vec<String> = line.beyond.iter().map(words).collect();
    let text = format!("{}: {}", name(line.offered), what.join(", "));
    (!what.is_empty()).then(|| Item::of(Tone::Bad, text).coded("client-late"))
}

fn table(lines: &[Line]) -> Table {
    let mut table = Table::under([
        "load",
        "n",
        "TTFT ms",
        "off ms",
        "ITL ms",
        "off %",
        "req/s left",
        "lag ms",
        "within",
    ]);
    let number = |value: Option<f64>| value.map_or_else(|| "—".to_owned(), significant);
    for line in lines {
        table.row([
            name(line.offered),
            line.requests.to_string(),
            number(line.ttft_true_ms),
            number(line.ttft_off_ms),
            number(line.itl_true_ms),
            number(line.itl_off.map(|off| off * 100.0)),
            number(line.achieved),
            number(line.send_lag_ms),
            if line.beyond.is_empty() { "yes" } else { "no" }.to_owned(),
        ]);
    }
    table
}
