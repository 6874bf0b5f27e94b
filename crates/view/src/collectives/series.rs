//! The table of a series.

use std::collections::BTreeSet;

use record::calls::{Row, chosen};
use record::unit::ByteCount;
use record::{CollectiveOutcome, CollectivePoint, Collectives, Verification};

use super::found::{mode, words};
use crate::cell::{ABSENT, because, maybe, or_absent, range, shown, significant, word};
use crate::document::{Block, Section, Table};
use crate::lines::distinct;

/// A row for each size of a series, as a detail.
pub(super) fn section(rows: &[Row<'_>], collectives: &Collectives) -> Section {
    let series = &rows[0].series;
    let mut table = Table::under([
        "size a rank",
        "us",
        "95% interval",
        "n",
        "p90",
        "p99",
        "gap us",
        "busbw GB/s",
        "algbw GB/s",
        "data",
        "chosen",
        "notes",
    ]);
    for row in rows {
        table.row(cells(row, collectives));
    }
    let unmeasured = rows.iter().filter_map(|row| row.point.outcome.unmeasured());
    let reasons = distinct(unmeasured.map(because));
    let qualities: String = series.qualities().map(|one| format!(", {one}")).collect();
    let heading = format!(
        "{} on {} ranks{qualities} ({})",
        words(series.kind),
        series.ranks,
        mode(series.mode)
    );
    let mut blocks = vec![Block::Table(table)];
    blocks.extend(reasons.into_iter().map(Block::Paragraph));
    Section::detail(heading, blocks)
}

fn cells(row: &Row<'_>, collectives: &Collectives) -> [String; 12] {
    let time = row.time();
    let point = row.point;
    let told = time.filter(|time| time.is_above_zero());
    let codes: BTreeSet<&str> = point.caveats.iter().map(|caveat| caveat.code()).collect();
    [
        ByteCount(row.bytes_per_rank).to_string(),
        match time {
            Some(time) => significant(time.value),
            None => word(point.outcome.unmeasured()).to_owned(),
        },
        range(time.and_then(|time| time.interval)),
        shown(time.map(|time| time.n)),
        maybe(row.percentile(0.9)),
        maybe(row.percentile(0.99)),
        maybe(row.gap()),
        maybe(told.map(|time| point.bus_gb_per_s(time.value))),
        maybe(told.map(|time| point.algorithm_gb_per_s(time.value))),
        data(point).to_owned(),
        or_absent(chosen(collectives, row)),
        codes.into_iter().collect::<Vec<_>>().join(" "),
    ]
}

/// Whether the results were compared.
fn data(point: &CollectivePoint) -> &'static str {
    let CollectiveOutcome::Measured { verification, .. } = &point.outcome else {
        return ABSENT;
    };
    match verification {
        Verification::WrongData { .. } => "WRONG",
        Verification::NotAsked => "not compared",
        Verification::Passed => "exact",
    }
}
