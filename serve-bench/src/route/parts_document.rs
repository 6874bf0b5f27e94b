//! `tplens serve parts`: a router's journal as text, page and JSON.

use std::io;
use std::path::{Path, PathBuf};

use program::outputs;
use program::say;
use program::show::Show;
use record::exit;
use view::serve::significant;
use view::{Block, Document, Item, Section, Table, Tone};

use super::counters::Counters;
use super::journal::Row;
use super::parts::{Part, Parts};

/// What each part is.
const WORDS: [(&str, &str); 9] = [
    ("router", "router, until the first engine's request is sent"),
    ("prefill-queue", "queue of the prefill engine"),
    ("prefill", "prefill"),
    (
        "prefill-reply",
        "the prefill engine's reply, and what it did not count",
    ),
    (
        "dispatch",
        "router, from the reply to the decode engine's request",
    ),
    ("kv-transfer", "keys and values on the link"),
    ("decode-queue", "queue of the decode engine"),
    ("first-step", "first step of the decode engine"),
    ("unexplained", "unexplained"),
];

/// The time to first token in parts, from a router's journal.
///
/// Parts are means over the requests that were served to their end. What engines counted has no interval: they tell sums only.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct PartsArgs {
    /// The file that `tplens serve route --journal` wrote.
    #[arg(value_name = "JOURNAL")]
    journal: PathBuf,
    /// Write the figures to this file as JSON, too; `-` for standard output instead of the table.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a page to this file, too.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// The parts of a journal, or of its last so many requests; `None` where none was served.
///
/// # Errors
/// It cannot be read.
pub(crate) fn read(journal: &Path, last: Option<usize>) -> io::Result<Option<Parts>> {
    Ok(of(&bounded::text(journal, bounded::RECORD)?, last))
}

fn of(text: &str, last: Option<usize>) -> Option<Parts> {
    // Counters with the requests before them.
    let (mut rows, mut counters) = (Vec::new(), Vec::<(usize, Counters)>::new());
    for line in text.lines() {
        // The last line of a router that was killed may be half.
        if let Ok(row) = serde_json::from_str::<Row>(line) {
            rows.push(row);
        } else if let Ok(line) = serde_json::from_str::<Counters>(line) {
            counters.push((rows.len(), line));
        }
    }
    let first = last.map_or(0, |last| rows.len().saturating_sub(last));
    let counters: Vec<Counters> = counters
        .into_iter()
        .map(|(before, line)| Counters {
            is_end: line.is_end && before > first,
            ..line
        })
        .collect();
    Parts::of(&rows[first..], &counters)
}

/// Prints the parts, and gives the exit code.
pub(crate) fn parts(args: &PartsArgs, show: Show) -> u8 {
    let parts = match read(&args.journal, None) {
        Ok(Some(parts)) => parts,
        Ok(None) => {
            say!(
                "error: {} holds no request that was served",
                args.journal.display()
            );
            return exit::INCONCLUSIVE;
        }
        Err(error) => {
            say!("error: cannot read {}: {error}", args.journal.display());
            return exit::USAGE;
        }
    };
    let document = document(&parts);
    exit::fold([
        outputs::with_json(show, &document, &parts, args.json.as_deref()),
        crate::show::page(args.html.as_deref(), &document),
    ])
}

fn words(part: &Part) -> &'static str {
    let found = WORDS.iter().find(|(code, _)| *code == part.code);
    found.map_or("", |(_, words)| words)
}

/// The document of the parts.
pub(crate) fn document(parts: &Parts) -> Document {
    let largest = parts.parts.iter().max_by(|a, b| {
        a.mean_ms
            .unwrap_or(0.0)
            .total_cmp(&b.mean_ms.unwrap_or(0.0))
    });
    let mut answer = vec![format!(
        "TTFT at the router {} ms (n {}).",
        significant(parts.ttft_ms),
        parts.n
    )];
    if let Some((part, ms)) = largest.and_then(|part| Some((part, part.mean_ms?))) {
        let share = ms / parts.ttft_ms * 100.0;
        answer.push(format!(
            "Most of it: {}, {} ms ({share:.0}%).",
            words(part),
            significant(ms)
        ));
    }
    let mut findings = Vec::new();
    if parts.failed > 0 {
        findings.push(Item::of(
            Tone::Warning,
            format!("{} requests were not served to their end", parts.failed),
        ));
    }
    if parts.stranded > 0 {
        let text = format!(
            "{} requests left keys and values to a lease",
            parts.stranded
        );
        findings.push(Item::of(Tone::Warning, text).coded("kv-left-to-lease"));
    }
    let mut table = Table::under(["part", "mean ms", "95% interval", "% of TTFT", "n", "by"]);
    for part in &parts.parts {
        let dash = || "—".to_owned();
        let interval = part.interval_ms.as_ref();
        table.row([
            words(part).to_owned(),
            part.mean_ms.map_or_else(dash, significant),
            interval.map_or_else(dash, |interval| {
                format!(
                    "{}-{}",
                    significant(interval.low),
                    significant(interval.high)
                )
            }),
            part.mean_ms
                .map_or_else(dash, |ms| format!("{:.1}", ms / parts.ttft_ms * 100.0)),
            part.n.to_string(),
            if part.is_counted { "engine" } else { "router" }.to_owned(),
        ]);
    }
    let note = match parts.is_concurrent {
        true => {
            "Both engines are asked at once: the prefill engine's parts lie within the wait for the decode engine's first token."
        }
        false => "Without an engine's counters its parts are in the part that follows.",
    };
    Document {
        title: format!("Time to first token in parts, {}", parts.dialect),
        simulated: parts.simulated.clone(),
        answer,
        findings,
        sections: vec![Section::new(
            "Parts",
            vec![Block::Table(table), Block::Paragraph(note.to_owned())],
        )],
        made_by: format!("tplens serve parts {}", env!("CARGO_PKG_VERSION")),
        ..Document::default()
    }
}
