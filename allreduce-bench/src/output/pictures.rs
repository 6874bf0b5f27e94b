//! Pictures of a record of collectives: for each operation and type the time of a call over its size.
//!
//! What is drawn how is the `report` crate's; here the numbers are picked from the record.

use std::collections::{BTreeMap, BTreeSet};

use measure::calls::{Row, rows};
use measure::record::{CollectiveKind, Collectives, ElementType, Payload, PlannedStep, Record};
use report::{DISTINCT_CURVES, SizeMark, Sweep, SweepPoint, SweepSeries};

/// Marked sizes that a picture has room for; of more the largest uses are marked.
const MARKS: usize = 6;

/// A picture with the name of its file.
#[derive(Debug)]
pub(super) struct Picture {
    pub(super) file: String,
    pub(super) svg: String,
}

/// The pictures of a record.
pub(super) fn of(record: &Record) -> Vec<Picture> {
    let Payload::Collectives(collectives) = &record.payload else {
        return Vec::new();
    };
    let all = rows(collectives);
    let kinds: BTreeSet<(CollectiveKind, Option<ElementType>, u32)> = all
        .iter()
        .map(|row| (row.series.kind, row.series.element, row.series.ranks))
        .collect();
    kinds
        .into_iter()
        .filter_map(|kind| {
            let of_kind: Vec<&Row<'_>> = all
                .iter()
                .filter(|row| (row.series.kind, row.series.element, row.series.ranks) == kind)
                .collect();
            let sweep = sweep(&of_kind, collectives, record.soft_box())?;
            let element = kind
                .1
                .map_or_else(String::new, |element| format!("-{element}"));
            Some(Picture {
                file: format!("time-{}{element}-{}-ranks.svg", kind.0, kind.2),
                svg: sweep.svg_file(),
            })
        })
        .collect()
}

/// The times of an operation over its sizes; `None` where it has one size.
fn sweep(rows: &[&Row<'_>], collectives: &Collectives, simulated: Option<String>) -> Option<Sweep> {
    let first = &rows.first()?.series;
    let mut series: Vec<SweepSeries> = Vec::new();
    let mut is_over_launches = false;
    for of_series in rows.chunk_by(|a, b| a.series == b.series) {
        let points: Vec<SweepPoint> = of_series
            .iter()
            .filter_map(|row| {
                let time = row.time().filter(|_| row.not_judged().is_none())?;
                is_over_launches |= row.by_launch;
                Some(SweepPoint {
                    bytes: row.bytes_per_rank,
                    value: time.value,
                    interval: time.interval.map(|i| (i.low, i.high)),
                })
            })
            .collect();
        if points.is_empty() {
            continue;
        }
        let of = &of_series[0].series;
        let mode = of.mode.map(|mode| mode.to_string());
        let words: Vec<String> = mode.into_iter().chain(of.qualities()).collect();
        series.push(SweepSeries {
            // More than can be told apart are drawn thin, the first ones having names.
            name: (series.len() < DISTINCT_CURVES).then(|| words.join(", ")),
            points,
        });
    }
    let sizes: BTreeSet<u64> = series
        .iter()
        .flat_map(|series| series.points.iter().map(|point| point.bytes))
        .collect();
    if sizes.len() < 2 {
        return None;
    }
    let mut notes = vec![if is_over_launches {
        "medians of the launches' medians, bars are 95% intervals over launches".to_owned()
    } else {
        "medians, bars are 95% intervals".to_owned()
    }];
    if series.len() > DISTINCT_CURVES {
        notes.push(format!(
            "{} thin lines have no name: see the tables",
            series.len() - DISTINCT_CURVES
        ));
    }
    Some(Sweep {
        title: format!("{}: time of a call over its size", first.operation()),
        notes,
        unit: "us".to_owned(),
        axis: "bytes of a rank".to_owned(),
        simulated,
        series,
        marks: marks(first.kind, first.ranks, &collectives.steps),
    })
}

/// The sizes that the steps send, with how often a step does.
fn marks(kind: CollectiveKind, ranks: u32, steps: &[PlannedStep]) -> Vec<SizeMark> {
    let mut counts: BTreeMap<u64, (u32, u32)> = BTreeMap::new();
    for step in steps.iter().filter(|step| step.tp == ranks) {
        let mut of_step: BTreeMap<u64, u32> = BTreeMap::new();
        for planned in step.collectives.iter().filter(|of| of.kind == kind) {
            *of_step.entry(planned.bytes_per_rank).or_default() += planned.count;
        }
        for (bytes, count) in of_step {
            let known = counts.entry(bytes).or_insert((0, step.batch));
            if count > known.0 {
                *known = (count, step.batch);
            }
        }
    }
    let mut all: Vec<(u64, (u32, u32))> = counts.into_iter().collect();
    all.sort_by_key(|(bytes, (count, _))| (std::cmp::Reverse(*count), *bytes));
    all.truncate(MARKS);
    all.sort_unstable();
    all.into_iter()
        .map(|(bytes, (count, batch))| SizeMark {
            bytes,
            label: format!("{count} a step at batch {batch}"),
        })
        .collect()
}
