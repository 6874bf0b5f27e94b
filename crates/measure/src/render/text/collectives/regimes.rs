//! Latency and bandwidth of ranges of sizes, told as a description.

use super::super::cell::{ABSENT, significant};
use super::super::header::{indented, numbers_right, table};
use crate::calls::{LARGE_MESSAGE, Row, SMALL_MESSAGE, SizeTime, chosen, regimes};
use crate::record::{CallMode, Collectives};
use crate::unit::ByteCount;

/// A row for each regime of each series, under a title; empty where no range has two sizes.
pub(super) fn section(collectives: &Collectives, rows: &[Row<'_>], simulated: bool) -> String {
    let mut table = table();
    table.set_header(vec![
        "calls",
        "regime",
        "sizes a rank",
        "n sizes",
        "alpha us",
        "B GB/s",
    ]);
    let mut is_empty = true;
    // What this machine needs to play a box in real time describes neither.
    let is_played = |row: &Row<'_>| simulated && row.series.mode == Some(CallMode::HostSynced);
    for series in rows.chunk_by(|a, b| a.series == b.series) {
        if is_played(&series[0]) {
            continue;
        }
        let sizes: Vec<SizeTime> = series
            .iter()
            .filter_map(|row| size_time(collectives, row))
            .collect();
        for regime in regimes(&sizes) {
            is_empty = false;
            let number = |value: Option<f64>| value.map_or_else(|| ABSENT.to_owned(), significant);
            let name = match (&regime.chosen, regime.alpha_us) {
                (Some(chosen), _) => chosen.clone(),
                (None, Some(_)) => format!("up to {}", ByteCount(SMALL_MESSAGE)),
                (None, None) => format!("from {} on", ByteCount(LARGE_MESSAGE)),
            };
            table.add_row(vec![
                series[0].series.to_string(),
                name,
                format!(
                    "{} .. {}",
                    ByteCount(regime.smallest),
                    ByteCount(regime.largest)
                ),
                regime.n.to_string(),
                number(regime.alpha_us),
                number(regime.gb_per_s),
            ]);
        }
    }
    if is_empty {
        return String::new();
    }
    numbers_right(&mut table);
    for column in [1, 2] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(comfy_table::CellAlignment::Left);
        }
    }
    format!(
        "\nWhat these sizes show, as a description and no model: alpha is the least median, B the median slope of time over algbw's bytes\n{}  \
         holds for the sizes listed only; nothing is predicted from it\n",
        indented(&table)
    )
}

fn size_time(collectives: &Collectives, row: &Row<'_>) -> Option<SizeTime> {
    Some(SizeTime {
        bytes_per_rank: row.bytes_per_rank,
        algorithm_bytes: row.first().algorithm_bytes(),
        us: row
            .time()
            .filter(|time| time.is_above_zero() && row.not_judged().is_none())?
            .value,
        chosen: chosen(collectives, row),
    })
}
