//! The table of a series.

use std::collections::BTreeSet;

use record::calls::{Row, chosen};
use record::unit::ByteCount;
use record::{CollectiveOutcome, Collectives, Unmeasured, Verification};

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
    let points = rows.iter().flat_map(|row| &row.points);
    let reasons = distinct(points.filter_map(|point| point.outcome.unmeasured().map(because)));
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
    let point = row.first();
    let told = time.filter(|time| time.is_above_zero());
    let codes = row.points.iter().flat_map(|point| &point.caveats);
    let codes: BTreeSet<&str> = codes.map(|caveat| caveat.code()).collect();
    [
        ByteCount(row.bytes_per_rank).to_string(),
        match time {
            Some(time) => significant(time.value),
            None => word(unmeasured(row)).to_owned(),
        },
        range(time.and_then(|time| time.interval)),
        shown(time.map(|time| time.n)),
        maybe(row.percentile(0.9)),
        maybe(row.percentile(0.99)),
        maybe(row.gap()),
        maybe(told.map(|time| point.bus_gb_per_s(time.value))),
        maybe(told.map(|time| point.algorithm_gb_per_s(time.value))),
        data(row).to_owned(),
        or_absent(chosen(collectives, row)),
        codes.into_iter().collect::<Vec<_>>().join(" "),
    ]
}

/// Why a point has no number, that of wrong data first.
fn unmeasured<'a>(row: &Row<'a>) -> Option<(Unmeasured, &'a str)> {
    let reasons = row.points.iter().map(|point| point.outcome.unmeasured());
    let is_wrong = |(why, _): &(Unmeasured, &str)| *why == Unmeasured::WrongData;
    let wrong = reasons.flatten().find(is_wrong);
    wrong.or_else(|| row.first().outcome.unmeasured())
}

/// Whether the results were compared: `exact` where those of every launch with a time were.
fn data(row: &Row<'_>) -> &'static str {
    let verdicts = row.points.iter().filter_map(|point| match &point.outcome {
        CollectiveOutcome::Measured { verification, .. } => Some(verification),
        _ => None,
    });
    let verdicts: Vec<&Verification> = verdicts.collect();
    let is_wrong = |it: &&Verification| matches!(it, Verification::WrongData { .. });
    match verdicts.as_slice() {
        [] => ABSENT,
        all if all.iter().any(is_wrong) => "WRONG",
        all if all.contains(&&Verification::NotAsked) => "not compared",
        _ => "exact",
    }
}
