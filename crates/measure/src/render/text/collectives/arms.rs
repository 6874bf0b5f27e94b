//! Arms beside the first arm, size by size.

use super::super::cell::ABSENT;
use super::super::header::{indented, numbers_right, table};
use crate::calls::{ArmRow, Row, arm_rows};
use crate::record::Collectives;
use crate::stats::{Interval, MIN_FOR_INTERVAL};
use crate::unit::ByteCount;

/// A table for each series that has several arms; empty where none has.
pub(super) fn section(collectives: &Collectives, rows: &[Row<'_>]) -> String {
    let mut compared = arm_rows(collectives, rows);
    compared.sort_by_cached_key(|row| {
        rows.iter()
            .position(|known| known.series.across_arms() == row.series)
    });
    compared
        .chunk_by(|a, b| a.series == b.series)
        .map(of_series)
        .collect()
}

fn of_series(rows: &[ArmRow]) -> String {
    let first = &rows[0];
    let mut table = table();
    table.set_header(vec![
        "size a rank",
        "arm",
        "time ratio",
        "95% interval",
        "n",
        "says",
    ]);
    for row in rows {
        let interval = row.ratio.and_then(|ratio| ratio.interval);
        let cell = |text: Option<String>| text.unwrap_or_else(|| ABSENT.to_owned());
        table.add_row(vec![
            ByteCount(row.bytes_per_rank).to_string(),
            row.arm.clone(),
            cell(row.ratio.map(|ratio| format!("{:.3}", ratio.value))),
            cell(interval.map(|i| format!("{:.3} .. {:.3}", i.low, i.high))),
            cell(row.ratio.map(|ratio| ratio.n.to_string())),
            says(row.ratio.is_some(), interval).to_owned(),
        ]);
    }
    numbers_right(&mut table);
    for column in [1, 5] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(comfy_table::CellAlignment::Left);
        }
    }
    let mode = first.series.to_string();
    let mut text = format!(
        "\nArms, {mode}: time over that of arm {}, ratio within each launch, its median over launches; n is launches that have both\n{}",
        first.base,
        indented(&table)
    );
    let few = |row: &ArmRow| row.ratio.is_some_and(|ratio| ratio.n < MIN_FOR_INTERVAL);
    if rows.iter().any(few) {
        text.push_str(&format!(
            "  fewer than {MIN_FOR_INTERVAL} launches have no interval, and such a ratio is no claim: raise --launches\n"
        ));
    }
    text
}

/// What an interval of a ratio of times says.
fn says(has_ratio: bool, interval: Option<Interval>) -> &'static str {
    match interval {
        Some(interval) if interval.high < 1.0 => "faster",
        Some(interval) if interval.low > 1.0 => "slower",
        Some(_) => "not told apart",
        None if has_ratio => "no claim",
        None => ABSENT,
    }
}
