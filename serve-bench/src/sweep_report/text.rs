//! The report as text.

use program::compare::{columns, listed, section, significant};

use super::bands::Band;
use super::pairs::{By, Kind};
use super::report::{Compared, Configuration, Report};

/// The whole text.
pub(super) fn of(report: &Report) -> String {
    let mut lines = vec![format!(
        "{} results of {} configurations",
        report.results,
        report.configurations.len()
    )];
    if let Some(soft) = &report.simulated {
        let names: Vec<&str> = soft.iter().map(String::as_str).collect();
        lines.push(format!(
            "SIMULATED on soft boxes {}; these ratios are of arithmetic, not of measurements",
            names.join(", ")
        ));
    }
    lines.push(String::new());
    lines.extend(configurations(&report.configurations));
    for compared in &report.pairs {
        if !compared.ttft.is_empty() || !compared.tpot.is_empty() {
            lines.push(String::new());
            lines.extend(pair(compared));
        }
    }
    if report.has_ratios() {
        lines.push(String::new());
        let has = |kind: Kind| report.pairs.iter().any(|one| one.pair.kind == kind);
        if has(Kind::Confounded) && !has(Kind::Clean) {
            lines.push(
                "no pair of several cards differs by its link alone: run both links in one machine to know what the link costs"
                    .to_owned(),
            );
        }
        lines.extend(LEGEND.map(str::to_owned));
        lines.push(intervals(report));
    }
    section(&mut lines, "Not compared", &refused(report));
    let unknown: Vec<String> = report.unknown.iter().cloned().collect();
    if !unknown.is_empty() {
        lines.push(String::new());
        lines.push(format!(
            "nobody said what {} are; add them under [setups] of the plan, or --setup {}=x16@MACHINE",
            unknown.join(", "),
            unknown[0]
        ));
    }
    for (title, left) in [
        ("In no ratio", &report.invalid),
        ("Not placed", &report.unplaced),
    ] {
        let left: Vec<String> = left
            .iter()
            .map(|one| format!("{}: {}", one.file, one.reason))
            .collect();
        section(&mut lines, title, &left);
    }
    lines
        .iter()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

const LEGEND: [&str; 3] = [
    "ratio: mean time of the one over that of the other, the median over numbers of prompts; least and most of them beside it",
    "floor: the most by which the control differs in the same band (in any, where it has fewer than 8 numbers of prompts there); a ratio within it is not told",
    "beyond the machine: the ratio over that of one card on both machines at one link; it holds where a machine slows one card as it slows several",
];

fn configurations(all: &[Configuration]) -> Vec<String> {
    let told = |value: Option<f64>| value.map_or_else(|| "—".to_owned(), significant);
    let word = |value: &Option<String>| value.clone().unwrap_or_else(|| "—".to_owned());
    let heads = [
        "configuration",
        "model",
        "TP",
        "input",
        "link",
        "machine",
        "load",
        "results",
        "prompts",
        "with failures",
        "TTFT ms at fewest",
        "TPOT ms at fewest",
        "most tok/s",
        "at prompts",
    ];
    let mut cells = vec![heads.map(str::to_owned).to_vec()];
    cells.extend(all.iter().map(|one| {
        let (first, last) = (one.cells.first(), one.cells.last());
        let best = one
            .cells
            .iter()
            .filter_map(|cell| Some((cell.output_tokens_per_s?, cell.num_prompts)))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        let range = first.zip(last).map_or_else(String::new, |(first, last)| {
            format!("{}..{}", first.num_prompts, last.num_prompts)
        });
        vec![
            one.config.clone(),
            one.model.clone(),
            one.tp.to_string(),
            one.input.to_string(),
            word(&one.link),
            word(&one.machine),
            if one.load.is_empty() {
                "at once"
            } else {
                &one.load
            }
            .to_owned(),
            one.results.to_string(),
            range,
            one.with_failures.to_string(),
            told(first.and_then(|cell| cell.ttft_ms)),
            told(first.and_then(|cell| cell.tpot_ms)),
            told(best.map(|(rate, _)| rate)),
            best.map_or_else(|| "—".to_owned(), |(_, at)| at.to_string()),
        ]
    }));
    columns(&cells, &[2, 3, 7, 8, 9, 10, 11, 12, 13])
}

/// What the kind of a pair means, before its name.
fn kind_words(kind: Kind) -> &'static str {
    match kind {
        Kind::Control => "CONTROL (one card, one machine; nothing goes from card to card)",
        Kind::Clean => "LINK (several cards, one machine)",
        Kind::Machine => "MACHINE (one link, two machines)",
        Kind::Confounded => "CONFOUNDED (two links, and two machines: either may be the reason)",
    }
}

fn pair(compared: &Compared) -> Vec<String> {
    let pair = &compared.pair;
    let mut lines = vec![format!(
        "{}: {} {} on machine {} over {} {} on machine {}; {} TP{}, {} tokens in{}",
        kind_words(pair.kind),
        pair.other.config,
        pair.other.link,
        pair.other.machine,
        pair.base.config,
        pair.base.link,
        pair.base.machine,
        pair.model,
        pair.tp,
        pair.input,
        if pair.load.is_empty() {
            String::new()
        } else {
            format!(", {}", pair.load)
        }
    )];
    let is_beyond = [&compared.ttft, &compared.tpot]
        .iter()
        .any(|bands| bands.iter().any(|band| band.beyond_machine.is_some()));
    let mut heads: Vec<String> = ["", "prompts", "n", "ratio", "least .. most", "floor"]
        .map(str::to_owned)
        .to_vec();
    if is_beyond {
        heads.push("beyond the machine".to_owned());
    }
    heads.push("says".to_owned());
    let mut cells = vec![heads];
    for (name, bands) in [("TTFT", &compared.ttft), ("TPOT", &compared.tpot)] {
        cells.extend(bands.iter().map(|band| row(name, band, is_beyond)));
    }
    let numbers: Vec<usize> = (2..if is_beyond { 7 } else { 6 }).collect();
    lines.extend(columns(&cells, &numbers));
    lines
}

fn row(name: &str, band: &Band, is_beyond: bool) -> Vec<String> {
    let range = if band.from == band.to {
        band.from.to_string()
    } else {
        format!("{}..{}", band.from, band.to)
    };
    let mut cells = vec![
        name.to_owned(),
        range,
        band.points.to_string(),
        format!("{:.3}", band.ratio),
        format!("{:.3} .. {:.3}", band.least, band.most),
        band.floor
            .map_or_else(|| "—".to_owned(), |floor| format!("±{:.1}%", floor * 100.0)),
    ];
    if is_beyond {
        cells.push(
            band.beyond_machine
                .map_or_else(|| "—".to_owned(), |ratio| format!("{ratio:.3}")),
        );
    }
    cells.push(band.says.words().to_owned());
    cells
}

/// What intervals there are.
fn intervals(report: &Report) -> String {
    let ratios = || {
        let points = report.pairs.iter().flat_map(|one| &one.pair.points);
        points.flat_map(|point| [point.ttft, point.tpot]).flatten()
    };
    let all = ratios().count();
    let of = |by: By| {
        let with = ratios().filter_map(|ratio| ratio.within);
        with.filter(|(_, _, own)| *own == by).count()
    };
    let (requests, repeats) = (of(By::Requests), of(By::Repeats));
    if requests + repeats == 0 {
        return "intervals: none; the files hold no request's own figures (--save-detailed) and each cell was run once, so that only \
                neighbours and the control show what is noise"
            .to_owned();
    }
    format!(
        "intervals (in the JSON, by number of prompts): {requests} of {all} ratios over the requests of both runs, which is not what varies \
         from run to run; {repeats} over repeats; {} have none",
        all - requests - repeats
    )
}

fn refused(report: &Report) -> Vec<String> {
    report
        .pairs
        .iter()
        .filter_map(|one| {
            let pair = &one.pair;
            let (_, reason) = pair.refused.first()?;
            let numbers: Vec<String> = pair.refused.iter().map(|(n, _)| n.to_string()).collect();
            Some(format!(
                "{} and {} at {} prompts: {reason}",
                pair.base.config,
                pair.other.config,
                listed(&numbers, ", ")
            ))
        })
        .collect()
}
