//! What stands below a series' table: reasons, reservations, and larger messages that are faster.

use super::super::cell::significant;
use super::super::notes::{is_counted, sums};
use super::rows::is_over_launches;
use crate::calls::{Row, faster_though_larger};
use crate::caveat::Caveat;
use crate::record::{CollectiveOutcome, CollectivePoint, Verification};
use crate::stats::MIN_FOR_INTERVAL;
use crate::unit::ByteCount;

/// Reasons and reservations of a table's points, each once with the sizes that it concerns, and what its times show.
///
/// `is_soft` where the times are those of a described box.
pub(super) fn notes(rows: &[Row<'_>], is_soft: bool) -> Vec<String> {
    let mut notes: Vec<(String, Vec<String>)> = Vec::new();
    for row in rows {
        for point in &row.points {
            for note in of_point(point, row.by_launch) {
                let size = ByteCount(row.bytes_per_rank).to_string();
                match notes.iter_mut().find(|(known, _)| *known == note) {
                    Some((_, sizes)) if sizes.contains(&size) => {}
                    Some((_, sizes)) => sizes.push(size),
                    None => notes.push((note, vec![size])),
                }
            }
        }
    }
    let everywhere = rows.len();
    let points = || rows.iter().flat_map(|row| &row.points);
    let caveats: Vec<&Caveat> = points().flat_map(|point| &point.caveats).collect();
    let quantities = rows
        .iter()
        .flat_map(|row| row.times().into_iter().map(|(_, time)| time));
    let is_played = |caveat: &&&Caveat| matches!(caveat, Caveat::InRealTime { .. });
    let played = caveats.iter().find(is_played).map(|_| {
        "a soft box's host-synced call is played in real time: the box's time and what this machine needs to issue a call and to wait \
         for it"
            .to_owned()
    });
    played
        .into_iter()
        .chain(notes.into_iter().map(|(note, sizes)| match sizes.len() {
            n if n == everywhere && n > 1 => note,
            _ => format!("{}: {note}", sizes.join(", ")),
        }))
        .chain(sums(&caveats, quantities))
        .chain(few_launches(rows))
        .chain(hidden(rows))
        .chain(not_monotonic(rows, is_soft))
        .collect()
}

/// What a point has to say; one of several launches says which it is where it has no time.
fn of_point(point: &CollectivePoint, is_one_of_several: bool) -> Vec<String> {
    let reason = match &point.outcome {
        CollectiveOutcome::Measured {
            verification: Verification::WrongData { seen },
            ..
        } => Some(format!("WRONG DATA: {seen}; the number stands for nothing")),
        CollectiveOutcome::Measured { .. } => None,
        CollectiveOutcome::NotApplicable { reason } => Some(format!("not applicable, {reason}")),
        CollectiveOutcome::Skipped { reason } => Some(format!("skipped, {reason}")),
        CollectiveOutcome::Failed { reason } => Some(format!("FAILED: {reason}")),
        CollectiveOutcome::Hang { doing } => Some(format!("HANG while {doing}")),
    };
    let is_everywhere = matches!(point.outcome, CollectiveOutcome::NotApplicable { .. });
    let reason = reason.map(|reason| {
        if is_one_of_several && !is_everywhere {
            format!("launch {}: {reason}", point.launch)
        } else {
            reason
        }
    });
    let caveats = point.caveats.iter();
    reason
        .into_iter()
        .chain(
            caveats
                .filter(|caveat| !is_counted(caveat))
                .map(Caveat::to_string),
        )
        .collect()
}

/// That there are too few launches for an interval over them.
fn few_launches(rows: &[Row<'_>]) -> Option<String> {
    let is_few = |row: &Row<'_>| {
        is_over_launches(row) && row.time().is_some_and(|time| time.n < MIN_FOR_INTERVAL)
    };
    rows.iter().any(is_few).then(|| {
        format!(
            "fewer than {MIN_FOR_INTERVAL} launches, so no interval over launches: raise --launches"
        )
    })
}

/// That the work between the calls hides some of them.
fn hidden(rows: &[Row<'_>]) -> Option<String> {
    let is_hidden = |row: &&Row<'_>| row.time().is_some_and(|time| !time.is_above_zero());
    let sizes: Vec<String> = rows
        .iter()
        .filter(is_hidden)
        .map(|row| ByteCount(row.bytes_per_rank).to_string())
        .collect();
    (!sizes.is_empty()).then(|| {
        format!(
            "{}: HIDDEN BY THE GAP: the interval reaches 0, so that the call is not told from the scatter of the work around it and has \
             no bandwidth; choose a smaller --gap or more --samples",
            sizes.join(", ")
        )
    })
}

/// Larger messages that take less time than smaller ones.
fn not_monotonic(rows: &[Row<'_>], is_soft: bool) -> Vec<String> {
    // Transport and protocol of a soft box are played.
    let whose = if is_soft { " by the box file" } else { "" };
    let time = |row: &Row<'_>| {
        let words = row.time().and_then(|time| time.interval).map(|interval| {
            format!(
                "{} .. {}",
                significant(interval.low),
                significant(interval.high)
            )
        });
        words.unwrap_or_default()
    };
    faster_though_larger(rows)
        .into_iter()
        .map(|(smaller, larger)| {
            format!(
                "NOT MONOTONIC{whose}: {} takes {} us, less than {} with {} us, the intervals apart",
                ByteCount(larger.bytes_per_rank),
                time(larger),
                ByteCount(smaller.bytes_per_rank),
                time(smaller)
            )
        })
        .collect()
}
