//! Several copies at once: what all together reach over the sum of what each has alone.

use measure::record::Endpoint;

use super::copies::{host_figure, pair_figure};
use super::held::{Ceiling, Held};
use super::judging::Judging;
use super::three_way::Figure;
use crate::report::{Check, ReasonCode};

const KIND: &str = "concurrent";

/// Name of a pattern in profiles, and its case.
const PATTERNS: &[(&str, &str)] = &[
    ("host_to_all", "host_to_all_ce"),
    ("all_to_host", "all_to_host_ce"),
    ("ring", "ring_ce"),
    ("all_pairs", "all_pairs_ce"),
];

/// One check for each pattern that was measured.
pub(super) fn concurrent(judging: &Judging<'_>) -> Vec<Check> {
    PATTERNS
        .iter()
        .filter_map(|(name, case)| of_pattern(judging, name, case))
        .collect()
}

fn of_pattern(judging: &Judging<'_>, name: &str, case: &str) -> Option<Check> {
    let about = vec![name.to_owned()];
    let (from, to) = match name {
        "host_to_all" => (Endpoint::Host, Endpoint::All),
        "all_to_host" => (Endpoint::All, Endpoint::Host),
        _ => (Endpoint::All, Endpoint::All),
    };
    let word = |end: Endpoint| if end == Endpoint::Host { "host" } else { "all" };
    let (_, pooled) = judging.pool.point(case, word(from), word(to))?;
    let source = pooled.source();
    if let Some(trouble) = &pooled.trouble {
        return Some(judging.troubled(KIND, about, trouble, &source));
    }
    let labels = judging.pool.labels();
    let singles: Option<Vec<Figure>> = match name {
        "host_to_all" => labels
            .iter()
            .map(|label| Some(host_figure(judging, "h2d_pinned", label)?.0))
            .collect(),
        "all_to_host" => labels
            .iter()
            .map(|label| Some(host_figure(judging, "d2h_pinned", label)?.0))
            .collect(),
        "ring" => {
            let next = labels.iter().cycle().skip(1).cloned();
            let ring: Vec<(String, String)> = labels.iter().cloned().zip(next).collect();
            ring.iter()
                .map(|pair| Some(pair_figure(judging, pair)?.0))
                .collect()
        }
        // Every device sends to all others over one link of its own, so that one pair's rate for each device is what there is.
        _ => labels
            .iter()
            .map(|label| {
                let pairs = judging.pool.pairs();
                let own = pairs.iter().filter(|(from, _)| from == label);
                let figures = own.filter_map(|pair| Some(pair_figure(judging, pair)?.0));
                figures.min_by(|a, b| a.value.total_cmp(&b.value))
            })
            .collect(),
    };
    let Some((total, alone)) = pooled
        .figure("total")
        .zip(singles.and_then(|singles| sum(&singles)))
    else {
        return Some(judging.lacking(KIND, about));
    };
    let ratio = total.over(&alone)?;
    Some(judging.hold(Held {
        kind: KIND,
        about,
        devices: labels,
        figure: ratio,
        what: "all at once over the sum of each alone".to_owned(),
        unit: "1",
        row: judging.row(KIND, Some(name)),
        ceiling: Ceiling::NoLink,
        bad: ReasonCode::BelowFloor,
        more: vec![
            total.evidence("all at once", "GB/s", &source),
            alone.evidence("sum of each alone", "GB/s", &source),
        ],
        source,
        remark: String::new(),
    }))
}

/// The sum of several figures, with the sums of the ends of their intervals.
fn sum(figures: &[Figure]) -> Option<Figure> {
    let lows: Option<Vec<f64>> = figures.iter().map(|figure| Some(figure.ends?.0)).collect();
    let highs: Option<Vec<f64>> = figures.iter().map(|figure| Some(figure.ends?.1)).collect();
    let ends = lows
        .zip(highs)
        .map(|(lows, highs)| (lows.iter().sum(), highs.iter().sum()));
    Some(Figure {
        value: figures.iter().map(|figure| figure.value).sum(),
        ends,
        n: figures.iter().map(|figure| figure.n).min()?,
        samples: Vec::new(),
    })
}
