//! The table of a series: a row for each size.

use super::super::cell::{ABSENT, significant, with_interval};
use super::super::header::{indented, numbers_right, table};
use super::steps::uses;
use crate::calls::{Over, Row, chosen};
use crate::record::{CallMode, CollectiveOutcome, CollectivePoint, Collectives, Verification};
use crate::unit::ByteCount;

/// What the times of a series are.
pub(super) fn title(rows: &[Row<'_>], soft: Option<&str>) -> String {
    let series = &rows[0].series;
    let how = match series.mode {
        Some(CallMode::HostSynced) => {
            "host_synced, wall clock of one call with its launch and wait"
        }
        Some(CallMode::BackToBack) => "back_to_back, mean of calls queued one after another",
        Some(CallMode::Graph) => "graph, mean of calls in one replayed graph",
        Some(CallMode::Interleaved) => {
            "interleaved, mean of calls with work between them, less that work's own time"
        }
        None => "how calls followed each other is not known",
    };
    let qualities: String = series
        .qualities()
        .iter()
        .map(|quality| format!(", {quality}"))
        .collect();
    let over = if rows.iter().any(|row| row.by_launch) {
        "median of the launches' medians ± wider side of its 95% interval over launches; n is launches"
    } else {
        "median ± wider side of its 95% interval"
    };
    format!(
        "{}{qualities}{}: us a call ({how}), {over}",
        series.operation(),
        if soft.is_some() { " [simulated]" } else { "" }
    )
}

/// Which columns a table has, beside those that all have.
struct Columns {
    percentiles: bool,
    gap: bool,
    algorithm: bool,
    chosen: bool,
    uses: bool,
}

/// The table.
pub(super) fn table_of(rows: &[Row<'_>], collectives: &Collectives) -> String {
    let uses: Vec<String> = rows
        .iter()
        .map(|row| uses(row, &collectives.steps))
        .collect();
    let told: Vec<Option<String>> = rows.iter().map(|row| chosen(collectives, row)).collect();
    let bus_factor = |row: &Row<'_>| CollectivePoint::bus_factor(row.series.kind, row.series.ranks);
    let columns = Columns {
        percentiles: rows[0].series.mode == Some(CallMode::HostSynced),
        gap: rows.iter().any(|row| row.gap().is_some()),
        // With two ranks an all-reduce has the same bus and algorithm bandwidth, which is shown once.
        algorithm: rows.iter().any(|row| (bus_factor(row) - 1.0).abs() > 1e-9),
        chosen: told.iter().any(Option::is_some),
        uses: uses.iter().any(|uses| !uses.is_empty()),
    };
    let mut titles = vec!["size a rank"];
    titles.push(if columns.percentiles { "p50 us" } else { "us" });
    titles.extend(["interval", "n"]);
    if columns.percentiles {
        titles.extend(["p90 us", "p99 us"]);
    }
    titles.extend(columns.gap.then_some("gap us"));
    titles.push("busbw GB/s");
    titles.extend(columns.algorithm.then_some("algbw GB/s"));
    let left = titles.len();
    titles.push("data");
    titles.extend(columns.chosen.then_some("chosen"));
    titles.extend(columns.uses.then_some("used by"));
    let count = titles.len();
    let mut table = table();
    table.set_header(titles);
    for ((row, uses), told) in rows.iter().zip(uses).zip(told) {
        let mut cells = vec![ByteCount(row.bytes_per_rank).to_string(), time(row)];
        cells.extend(numbers(row, &columns));
        cells.push(data(row).to_owned());
        if columns.chosen {
            cells.push(told.unwrap_or_else(|| ABSENT.to_owned()));
        }
        if columns.uses {
            cells.push(
                Some(uses)
                    .filter(|uses| !uses.is_empty())
                    .unwrap_or_else(|| ABSENT.to_owned()),
            );
        }
        table.add_row(cells);
    }
    numbers_right(&mut table);
    for column in left..count {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(comfy_table::CellAlignment::Left);
        }
    }
    indented(&table)
}

fn time(row: &Row<'_>) -> String {
    if let Some(time) = row.time() {
        let shown = with_interval(time.value, time.interval, time.n);
        return if row.not_judged().is_some() {
            format!("({shown}) not judged")
        } else {
            shown
        };
    }
    let wrong = row.points.iter().find(|point| is_wrong(point));
    match &wrong.unwrap_or(&row.first()).outcome {
        CollectiveOutcome::Measured { .. } => "WRONG DATA".to_owned(),
        CollectiveOutcome::NotApplicable { .. } => ABSENT.to_owned(),
        CollectiveOutcome::Skipped { .. } => "skipped".to_owned(),
        CollectiveOutcome::Failed { .. } => "FAILED".to_owned(),
        CollectiveOutcome::Hang { .. } => "HANG".to_owned(),
    }
}

fn is_wrong(point: &CollectivePoint) -> bool {
    matches!(
        &point.outcome,
        CollectiveOutcome::Measured {
            verification: Verification::WrongData { .. },
            ..
        }
    )
}

/// Interval, n, percentiles, gap, bus and algorithm bandwidth, as far as there are columns for them.
fn numbers(row: &Row<'_>, columns: &Columns) -> Vec<String> {
    let time = row.time();
    let cell = |text: Option<String>| text.unwrap_or_else(|| ABSENT.to_owned());
    let number = |value: Option<f64>| cell(value.map(significant));
    // Such numbers are this machine's and stand for nothing of the box.
    let is_judged = row.not_judged().is_none();
    let own = |text: String| {
        if is_judged { text } else { format!("({text})") }
    };
    let interval = time.and_then(|time| time.interval);
    let mut cells = vec![
        cell(interval.map(|i| own(format!("{} .. {}", significant(i.low), significant(i.high))))),
        cell(time.map(|time| time.n.to_string())),
    ];
    if columns.percentiles {
        let percentile = |fraction| row.percentile(fraction).map(significant).map(own);
        cells.extend([0.9, 0.99].map(|fraction| cell(percentile(fraction))));
    }
    if columns.gap {
        cells.push(number(row.gap()));
    }
    let point = row.first();
    let told = time.filter(|time| is_judged && time.is_above_zero());
    cells.push(number(told.map(|time| point.bus_gb_per_s(time.value))));
    if columns.algorithm {
        cells.push(number(
            told.map(|time| point.algorithm_gb_per_s(time.value)),
        ));
    }
    cells
}

/// Whether the results were compared: `exact` where those of every launch with a time were.
fn data(row: &Row<'_>) -> &'static str {
    let verdicts = || {
        row.points.iter().filter_map(|point| match &point.outcome {
            CollectiveOutcome::Measured { verification, .. } => Some(verification),
            _ => None,
        })
    };
    if verdicts().any(|verdict| matches!(verdict, Verification::WrongData { .. })) {
        "WRONG"
    } else if verdicts().any(|verdict| matches!(verdict, Verification::NotAsked)) {
        "not compared"
    } else if verdicts().next().is_some() {
        "exact"
    } else {
        ABSENT
    }
}

/// Whether a row stands for launches.
pub(super) fn is_over_launches(row: &Row<'_>) -> bool {
    row.time().is_some_and(|time| time.over == Over::Launches)
}
