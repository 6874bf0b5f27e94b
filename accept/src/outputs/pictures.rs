//! The pictures of a report's page: bars with their limits, pairs as a matrix, values and link states over time.
//!
//! Which figure a check is read by is said in `words`; the pictures themselves are drawn by the crate `report`.

use std::collections::BTreeMap;

use ::report::{
    Axis, Block, DISTINCT_SERIES, HeatCell, HeatMap, LimitBar, LimitBars, Plot, PlotPoint,
    PlotSeries, Shape, States, StatesRow, Tone,
};

use super::words;
use crate::report::{Check, Evidence, Report, Series, Verdict};

/// Bars in one picture; of more, only those that are not good are drawn.
const BARS: usize = 16;

/// Devices of a matrix; more cannot be read.
const MATRIX: usize = 16;

/// Points of a curve; of more, the least and the largest of each part are drawn.
const POINTS: usize = 600;

/// Changes of state that are drawn.
const STATES: usize = 500;

/// Devices whose bands stand in one picture.
const BANDS: usize = 32;

/// A figure that can be drawn.
struct Figure<'a> {
    check: &'a Check,
    value: f64,
    interval: Option<(f64, f64)>,
    unit: &'a str,
    what: &'a str,
}

/// The pictures of a group's checks.
pub(super) fn of_checks(report: &Report, checks: &[&Check]) -> Vec<Block> {
    let mut kinds: Vec<(&str, &str, Vec<Figure<'_>>)> = Vec::new();
    for check in checks {
        let Some(Evidence::Measured {
            what,
            value,
            unit,
            low,
            high,
            ..
        }) = words::main_evidence(check)
        else {
            continue;
        };
        let figure = Figure {
            check,
            value: *value,
            interval: low.zip(*high),
            unit,
            what,
        };
        match kinds
            .iter_mut()
            .find(|row| row.0 == check.kind && row.1 == unit)
        {
            Some((_, _, figures)) => figures.push(figure),
            None => kinds.push((&check.kind, unit, vec![figure])),
        }
    }
    let blocks = kinds.iter().flat_map(|(kind, _, figures)| {
        let map = matrix(report, kind, figures).map(Block::HeatMap);
        let bars = bars(report, kind, figures).map(Block::LimitBars);
        map.into_iter().chain(bars)
    });
    blocks.collect()
}

/// The figures of a kind as bars; `None` where none of them has a limit.
fn bars(report: &Report, kind: &str, figures: &[Figure<'_>]) -> Option<LimitBars> {
    let limited = |figure: &&Figure<'_>| {
        let limit = figure.check.limit.as_ref();
        limit.is_some_and(|limit| {
            limit.unit == figure.unit && (limit.fail.is_some() || limit.warn.is_some())
        })
    };
    let all: Vec<&Figure<'_>> = figures.iter().filter(limited).collect();
    let is_much = all.len() > BARS;
    let drawn = all
        .iter()
        .filter(|figure| !is_much || figure.check.verdict != Verdict::Pass);
    let rows: Vec<LimitBar> = drawn.take(BARS).map(|figure| bar(figure)).collect();
    if rows.is_empty() {
        return None;
    }
    let first = all.first()?;
    let count = match is_much {
        true => format!(
            " ({} of {}, those that are not good first)",
            rows.len(),
            all.len()
        ),
        false => String::new(),
    };
    Some(LimitBars {
        title: format!(
            "{kind}: {}, {}, median with its 95% interval{count}",
            first.what,
            unit(first.unit)
        ),
        unit: unit(first.unit).to_owned(),
        simulated: report.simulated.is_some(),
        rows,
    })
}

fn bar(figure: &Figure<'_>) -> LimitBar {
    let limit = figure.check.limit.as_ref();
    LimitBar {
        label: figure.check.about.join(" "),
        value: figure.value,
        interval: figure.interval,
        fail: limit.and_then(|limit| limit.fail),
        warn: limit.and_then(|limit| limit.warn),
        tone: match figure.check.verdict {
            Verdict::Pass => Tone::Good,
            Verdict::Warn => Tone::Warning,
            Verdict::Fail => Tone::Bad,
            Verdict::Inconclusive | Verdict::Skip => Tone::Open,
        },
        words: format!(
            "{} {}",
            words::number(figure.value),
            figure.check.verdict.word()
        ),
    }
}

fn unit(unit: &str) -> &str {
    match unit {
        "" | "1" => "ratio",
        _ => unit,
    }
}

/// The figures of a kind as a matrix, where each is about an ordered pair such as `GPU0->GPU1`.
fn matrix(report: &Report, kind: &str, figures: &[Figure<'_>]) -> Option<HeatMap> {
    let mut cells: BTreeMap<(&str, &str), HeatCell> = BTreeMap::new();
    for check in report.checks.iter().filter(|check| check.kind == kind) {
        if let Some(pair) = pair(check) {
            let word = match check.verdict {
                Verdict::Fail => "FAILED",
                Verdict::Inconclusive => "OPEN",
                Verdict::Pass | Verdict::Warn | Verdict::Skip => continue,
            };
            cells.insert(pair, HeatCell::Word(word.to_owned()));
        }
    }
    let mut drawn = 0;
    for figure in figures {
        if let Some(pair) = pair(figure.check) {
            cells.insert(pair, HeatCell::Value(figure.value));
            drawn += 1;
        }
    }
    let mut devices: Vec<&str> = report
        .devices
        .iter()
        .map(|device| device.label.as_str())
        .collect();
    devices.retain(|label| cells.keys().any(|(from, to)| from == label || to == label));
    let first = figures.first()?;
    if drawn == 0 || !(2..=MATRIX).contains(&devices.len()) {
        return None;
    }
    let row = |from: &&str| {
        let cell = |to: &&str| cells.get(&(*from, *to)).cloned().unwrap_or_default();
        devices.iter().map(cell).collect()
    };
    Some(HeatMap {
        title: format!("{kind}: {} of each pair, {}", first.what, unit(first.unit)),
        notes: Vec::new(),
        unit: unit(first.unit).to_owned(),
        simulated: report.simulated.as_ref().map(|soft| soft.box_name.clone()),
        row_axis: "from".to_owned(),
        column_axis: "to".to_owned(),
        rows: devices.iter().map(|label| (*label).to_owned()).collect(),
        columns: devices.iter().map(|label| (*label).to_owned()).collect(),
        cells: devices.iter().map(row).collect(),
    })
}

/// The two ends of what a check is about.
fn pair(check: &Check) -> Option<(&str, &str)> {
    match check.about.as_slice() {
        [one] => one.split_once("->"),
        _ => None,
    }
}

/// What was seen over time: a picture for each key, link states as bands.
pub(super) fn over_time(report: &Report) -> Vec<Block> {
    let mut keys: Vec<(&str, Vec<&Series>)> = Vec::new();
    for series in &report.series {
        match keys.iter_mut().find(|(key, _)| *key == series.key) {
            Some((_, all)) => all.push(series),
            None => keys.push((&series.key, vec![series])),
        }
    }
    let blocks = keys.iter().flat_map(|(key, all)| {
        let curves: Vec<&Series> = all
            .iter()
            .copied()
            .filter(|series| !series.points.is_empty())
            .collect();
        let bands: Vec<&Series> = all
            .iter()
            .copied()
            .filter(|series| !series.states.is_empty())
            .collect();
        let plots: Vec<Block> = curves
            .chunks(DISTINCT_SERIES)
            .map(|some| plot(report, key, some))
            .collect();
        let states = (!bands.is_empty()).then(|| states(report, key, &bands));
        plots.into_iter().chain(states)
    });
    blocks.collect()
}

fn plot(report: &Report, key: &str, series: &[&Series]) -> Block {
    let (named, unit) = in_words(key, series.first().map_or("", |series| &series.unit));
    let thinned = series.iter().any(|series| series.points.len() > POINTS);
    let note = if thinned {
        "; the least and the largest of each part"
    } else {
        ""
    };
    Block::Plot(Plot {
        title: format!("{named} over time{note}"),
        across: Axis {
            label: "seconds since the start".to_owned(),
            ..Axis::default()
        },
        up: Axis {
            label: format!("{named}, {unit}"),
            ..Axis::default()
        },
        series: series
            .iter()
            .map(|series| PlotSeries {
                name: series.device.clone(),
                shape: Shape::Line,
                points: thin(&series.points),
            })
            .collect(),
        simulated: report.simulated.is_some(),
    })
}

/// A key of the monitor in words, and its unit.
fn in_words<'a>(key: &'a str, unit: &'a str) -> (&'a str, &'a str) {
    match key {
        "temperature_c" => ("temperature", "°C"),
        "power_w" => ("power", "W"),
        "sm_clock_mhz" => ("clock", "MHz"),
        "memory_clock_mhz" => ("memory clock", "MHz"),
        "slot_link" => ("link at the slot", unit),
        "device_link" => ("link at the device", unit),
        _ => (key, unit),
    }
}

/// At most [`POINTS`] points: of each part the least and the largest, so that no spike is lost.
fn thin(points: &[(f64, f64)]) -> Vec<PlotPoint> {
    let point = |(x, y): &(f64, f64)| PlotPoint {
        x: *x,
        y: *y,
        ..PlotPoint::default()
    };
    if points.len() <= POINTS {
        return points.iter().map(point).collect();
    }
    let parts = points.chunks(points.len().div_ceil(POINTS / 2));
    let ends = parts.flat_map(|part| {
        let by_value = |one: &&(f64, f64), other: &&(f64, f64)| one.1.total_cmp(&other.1);
        let mut ends: Vec<&(f64, f64)> = part
            .iter()
            .min_by(by_value)
            .into_iter()
            .chain(part.iter().max_by(by_value))
            .collect();
        ends.sort_by(|one, other| one.0.total_cmp(&other.0));
        ends
    });
    ends.map(point).collect()
}

fn states(report: &Report, key: &str, series: &[&Series]) -> Block {
    let (named, _) = in_words(key, "");
    let most = series
        .iter()
        .map(|series| series.states.len())
        .max()
        .unwrap_or(0);
    let cut = match most > STATES {
        true => format!("; the first {STATES} of {most} changes"),
        false => String::new(),
    };
    let last = report.series.iter().flat_map(|series| {
        let points = series.points.last().map(|point| point.0);
        points
            .into_iter()
            .chain(series.states.last().map(|state| state.0))
    });
    Block::States(States {
        title: format!("{named} over time{cut}"),
        // The run goes on after the last change; where nothing says how long, to the end of it.
        until: last
            .chain([report.took_s])
            .filter(|at| at.is_finite())
            .fold(0.0, f64::max),
        simulated: report.simulated.is_some(),
        rows: series
            .iter()
            .take(BANDS)
            .map(|series| StatesRow {
                label: series.device.clone(),
                states: series.states.iter().take(STATES).cloned().collect(),
            })
            .collect(),
    })
}
