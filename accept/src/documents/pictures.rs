//! The pictures of a page: figures with their limits, pairs as a matrix, values and link states over time.

use std::collections::BTreeMap;

use view::Block;
use view::page::{
    Axis, DISTINCT_SERIES, LimitBar, LimitBars, Plot, PlotPoint, PlotSeries, Shape, Tone,
};

use super::words::{main_evidence, number, title};
use crate::report::{Check, Evidence, Report, Series, Verdict};

/// Bars in one picture, devices of a matrix, and changes of state that are drawn.
const MOST: usize = 16;

/// The pictures of a group's checks: a matrix where they are about pairs, else bars with their limits.
pub(super) fn of_checks(report: &Report, checks: &[&Check]) -> Vec<Block> {
    let mut kinds: BTreeMap<&str, Vec<&Check>> = BTreeMap::new();
    for check in checks {
        if matches!(main_evidence(check), Some(Evidence::Measured { .. })) {
            kinds.entry(&check.kind).or_default().push(check);
        }
    }
    let all = kinds.iter();
    all.filter_map(|(kind, checks)| bars(report, kind, checks))
        .collect()
}

/// A value, its interval and its unit.
type Figure<'a> = (f64, Option<(f64, f64)>, &'a str);

fn measured(check: &Check) -> Option<Figure<'_>> {
    match main_evidence(check)? {
        Evidence::Measured {
            value,
            unit,
            low,
            high,
            ..
        } => Some((*value, low.zip(*high), unit)),
        _ => None,
    }
}

fn bars(report: &Report, kind: &str, checks: &[&Check]) -> Option<Block> {
    let limited = checks.iter().filter(|check| check.limit.is_some());
    let mut limited: Vec<&&Check> = limited.collect();
    limited.sort_by_key(|check| check.verdict == Verdict::Pass);
    let bar = |check: &&&Check| {
        let (value, interval, _) = measured(check)?;
        let limit = check.limit.as_ref()?;
        Some(LimitBar {
            label: check.about.join(" "),
            value,
            interval,
            fail: limit.fail,
            warn: limit.warn,
            tone: match check.verdict {
                Verdict::Pass => Tone::Good,
                Verdict::Warn => Tone::Warning,
                Verdict::Fail => Tone::Bad,
                Verdict::Inconclusive | Verdict::Skip => Tone::Open,
            },
            words: format!("{} {}", number(value), check.verdict.word()),
        })
    };
    let rows: Vec<LimitBar> = limited.iter().filter_map(bar).take(MOST).collect();
    let unit = unit(measured(checks.first()?)?.2).to_owned();
    (!rows.is_empty()).then(|| {
        Block::LimitBars(LimitBars {
            title: format!("{}, {unit}, median with its 95% interval", title(kind)),
            unit,
            simulated: report.simulated.is_some(),
            rows,
        })
    })
}

fn unit(unit: &str) -> &str {
    match unit {
        "" | "1" => "ratio",
        _ => unit,
    }
}

/// What was read again and again: a picture for each key, link states as bands.
pub(super) fn over_time(report: &Report) -> Vec<Block> {
    let mut keys: BTreeMap<&str, Vec<&Series>> = BTreeMap::new();
    for series in &report.series {
        keys.entry(&series.key).or_default().push(series);
    }
    let mut blocks = Vec::new();
    for (key, all) in keys {
        let curves: Vec<&Series> = all
            .iter()
            .copied()
            .filter(|one| !one.points.is_empty())
            .collect();
        blocks.extend(
            curves
                .chunks(DISTINCT_SERIES)
                .map(|some| plot(report, key, some)),
        );
    }
    blocks
}

fn plot(report: &Report, key: &str, series: &[&Series]) -> Block {
    let unit = series.first().map_or("", |series| &series.unit);
    let axis = |label: String| Axis {
        label,
        ..Axis::default()
    };
    let one = |series: &&Series| PlotSeries {
        name: series.device.clone(),
        shape: Shape::Line,
        points: series
            .points
            .iter()
            .map(|(x, y)| PlotPoint {
                x: *x,
                y: *y,
                ..PlotPoint::default()
            })
            .collect(),
    };
    Block::Plot(Plot {
        title: format!("{key} over time"),
        across: axis("seconds since the start".to_owned()),
        up: axis(format!("{key}, {unit}")),
        series: series.iter().map(one).collect(),
        simulated: report.simulated.is_some(),
        ..Plot::default()
    })
}
