//! The document of a sweep report.

use program::compare::listed;
use view::serve::significant;
use view::{Block, Document, Item, Next, Section, Table, Tone};

use super::pairs::{Band, Kind, Pair, Says};
use super::report::{Configuration, Report};
use crate::compare::item;

/// Rows that a screen shows without details.
const ROWS: usize = 12;

/// The document.
pub(super) fn document(report: &Report) -> Document {
    let mut sections = Vec::new();
    let bands: Vec<(&Pair, &'static str, &Band)> = report.pairs.iter().flat_map(of).collect();
    if !bands.is_empty() {
        let mut rows: Vec<_> = report.pairs.iter().flat_map(farthest).collect();
        rows.sort_by(|one, other| distance(other.2).total_cmp(&distance(one.2)));
        let heading = match rows.len() > ROWS {
            true => format!("The {ROWS} largest of {} ratios of times", rows.len()),
            false => "Ratios of times, the band that lies farthest".to_owned(),
        };
        rows.truncate(ROWS);
        sections.push(Section::new(heading, vec![Block::Table(table(&rows))]));
        sections.push(Section::detail(
            "By numbers of prompts",
            vec![Block::Table(table(&bands)), legend()],
        ));
    }
    let all = Block::Table(configurations(&report.configurations));
    sections.push(Section::detail("Configurations", vec![all]));
    let simulated: Vec<String> = report.simulated.iter().cloned().collect();
    Document {
        title: "What a narrower link costs".to_owned(),
        simulated: (!simulated.is_empty()).then(|| simulated.join(", ")),
        tone: match () {
            () if bands.is_empty() => Tone::Bad,
            () if bands.iter().any(|(.., band)| band.says == Says::Slower) => Tone::Warning,
            () => Tone::Good,
        },
        answer: answer(report, &bands),
        findings: findings(report),
        next: next(report),
        sections,
        made_by: format!("tplens serve sweep-report {}", env!("CARGO_PKG_VERSION")),
    }
}

/// The bands of a pair.
fn of(pair: &Pair) -> impl Iterator<Item = (&Pair, &'static str, &Band)> {
    let ttft = pair.ttft.iter().map(move |band| (pair, "TTFT", band));
    ttft.chain(pair.tpot.iter().map(move |band| (pair, "TPOT", band)))
}

/// The band of a pair and metric that lies farthest.
fn farthest(pair: &Pair) -> impl Iterator<Item = (&Pair, &'static str, &Band)> {
    let both = [("TTFT", &pair.ttft), ("TPOT", &pair.tpot)];
    both.into_iter().filter_map(move |(metric, bands)| {
        let all = bands.iter();
        let farthest = all.max_by(|a, b| distance(a).total_cmp(&distance(b)))?;
        Some((pair, metric, farthest))
    })
}

fn distance(band: &Band) -> f64 {
    band.ratio.ln().abs()
}

fn answer(report: &Report, bands: &[(&Pair, &'static str, &Band)]) -> Vec<String> {
    let mut answer = vec![format!(
        "{} results of {} configurations.",
        report.results,
        report.configurations.len()
    )];
    for (kind, what) in [
        (Kind::Clean, "The narrower link, same machine"),
        (Kind::Confounded, "Other link and other machine"),
        (Kind::Machine, "Other machine, same link"),
    ] {
        let own: Vec<_> = bands
            .iter()
            .filter(|(pair, ..)| pair.kind == kind)
            .collect();
        let parts = ["TTFT", "TPOT"].into_iter().filter_map(|name| {
            let ratios = own.iter().filter(|(_, metric, _)| *metric == name);
            let ratios = ratios.map(|(.., band)| band.ratio);
            let (low, high) = ratios.fold((f64::INFINITY, 0.0_f64), |(low, high), ratio| {
                (low.min(ratio), high.max(ratio))
            });
            (high > 0.0).then(|| format!("{name} {low:.2}-{high:.2}x"))
        });
        let parts: Vec<String> = parts.collect();
        if !parts.is_empty() {
            answer.push(format!("{what}: {}.", parts.join(", ")));
        }
    }
    answer
}

fn findings(report: &Report) -> Vec<Item> {
    let mut findings = Vec::new();
    for pair in &report.pairs {
        if let Some((_, difference)) = pair.refused.first() {
            let numbers: Vec<String> = pair.refused.iter().map(|(n, _)| n.to_string()).collect();
            let why = difference.as_ref().map(item);
            let text = format!(
                "{} and {} not compared at {} prompts: {}",
                pair.base.config,
                pair.other.config,
                listed(&numbers, ", "),
                why.as_ref()
                    .map_or("no valid result", |item| item.text.as_str()),
            );
            let code = why.and_then(|item| item.code).unwrap_or("client-limited");
            findings.push(Item::of(Tone::Warning, text).coded(code));
        }
    }
    if !report.unknown.is_empty() {
        let unknown: Vec<String> = report.unknown.iter().cloned().collect();
        let text = format!("Link and machine unknown: {}", listed(&unknown, ", "));
        findings.push(Item::of(Tone::Warning, text).coded("setup-unknown"));
    }
    for one in report.invalid.iter().take(3) {
        let text = format!("{}: the load generator was the limit", one.file);
        findings.push(Item::of(Tone::Warning, text).coded("client-limited"));
    }
    for one in report.unplaced.iter().take(3) {
        let text = format!("{}: {}", one.file, one.reason);
        findings.push(Item::of(Tone::Warning, text).coded("result-left-out"));
    }
    findings
}

fn next(report: &Report) -> Vec<Next> {
    let has = |kind: Kind| report.pairs.iter().any(|pair| pair.kind == kind);
    if let Some(label) = report.unknown.first() {
        let flag = format!("--setup {label}=x16@MACHINE");
        vec![Next::by(
            "say which link and machine each configuration is.",
            flag,
        )]
    } else if has(Kind::Confounded) && !has(Kind::Clean) {
        vec![Next::plain(
            "run both links in one machine: only that isolates the link.",
        )]
    } else if !has(Kind::Control) {
        vec![Next::plain(
            "run one card over both links as a control: it shows the noise.",
        )]
    } else {
        Vec::new()
    }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Control => "control",
        Kind::Clean => "link",
        Kind::Machine => "machine",
        Kind::Confounded => "both",
    }
}

fn table(bands: &[(&Pair, &'static str, &Band)]) -> Table {
    let mut table = Table::under([
        "differs by",
        "pair",
        "model",
        "metric",
        "prompts",
        "ratio",
        "floor",
        "link alone",
        "verdict",
    ]);
    let dash = || "—".to_owned();
    for (pair, metric, band) in bands {
        table.row([
            kind(pair.kind).to_owned(),
            format!("{}/{}", pair.other.config, pair.base.config),
            format!("{} TP{} {}", pair.model, pair.tp, pair.input),
            (*metric).to_owned(),
            format!("{}-{}", band.from, band.to),
            format!("{:.3}", band.ratio),
            band.floor
                .map_or_else(dash, |floor| format!("{:.1}%", floor * 100.0)),
            band.beyond_machine
                .map_or_else(dash, |ratio| format!("{ratio:.3}")),
            match band.says {
                Says::Slower => "slower",
                Says::Faster => "faster",
                Says::WithinFloor => "no difference",
                Says::NoFloor => "no control",
            }
            .to_owned(),
        ]);
    }
    table
}

fn legend() -> Block {
    Block::list([
        "ratio: median over numbers of prompts of the mean time of the one over that of the other",
        "floor: the most by which one card over both links differs; a ratio within it is noise",
        "link alone: the ratio over that of one card on the two machines at the same link",
    ])
}

fn configurations(all: &[Configuration]) -> Table {
    let mut table = Table::under([
        "configuration",
        "model",
        "input",
        "link",
        "machine",
        "load",
        "results",
        "TTFT ms",
        "TPOT ms",
        "most tok/s",
    ]);
    let number = |value: Option<f64>| value.map_or_else(|| "—".to_owned(), significant);
    let word = |value: &Option<String>| value.clone().unwrap_or_else(|| "—".to_owned());
    for one in all {
        let first = one.cells.first();
        let rates = one.cells.iter().filter_map(|cell| cell.output_tokens_per_s);
        table.row([
            one.config.clone(),
            format!("{} TP{}", one.model, one.tp),
            one.input.to_string(),
            word(&one.link),
            word(&one.machine),
            if one.load.is_empty() {
                "at once"
            } else {
                &one.load
            }
            .to_owned(),
            one.cells.len().to_string(),
            number(first.and_then(|cell| cell.ttft_ms)),
            number(first.and_then(|cell| cell.tpot_ms)),
            number(rates.reduce(f64::max)),
        ]);
    }
    table
}
