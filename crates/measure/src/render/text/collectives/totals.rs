//! What the collectives of an engine's step take together: each call's time as often as the step issues it.

use super::super::cell::significant;
use super::steps::step_name;
use crate::calls::{Row, RowTime};
use crate::record::{BufferCache, BufferPlacement, CallMode, CollectivePath, PlannedStep};

/// One step's sum in one mode.
struct Total {
    /// Microseconds: the sum, and where every time has an interval the sums of their ends.
    us: f64,
    ends: Option<(f64, f64)>,
    /// The fewest observations behind a time.
    n: usize,
    calls: u64,
    /// Calls that the engine does itself and that stand in with the library's time.
    stand_in: u64,
}

/// A line for each step, mode and arm of which every size was measured, under a title; empty without any.
///
/// Of the host backend the title says first that no GPU did it.
pub(super) fn section(
    steps: &[PlannedStep],
    rows: &[Row<'_>],
    (is_host, soft): (bool, Option<&str>),
) -> String {
    let mut seen: Vec<(Option<CallMode>, Option<String>)> = Vec::new();
    for row in rows {
        let key = (row.series.mode, row.series.arm.clone());
        // Waits that the host makes are not a step's.
        if row.series.mode != Some(CallMode::HostSynced) && !seen.contains(&key) {
            seen.push(key);
        }
    }
    let mut lines = String::new();
    for step in steps {
        for (mode, arm) in &seen {
            let of_key = |row: &&Row<'_>| (&row.series.mode, &row.series.arm) == (mode, arm);
            let own: Vec<&Row<'_>> = rows.iter().filter(of_key).collect();
            if let Some(total) = total(step, &own) {
                lines.push_str(&format!(
                    "  {}\n",
                    words(step, *mode, arm.as_deref(), &total)
                ));
            }
        }
    }
    if lines.is_empty() {
        return lines;
    }
    let soft = if soft.is_some() { " [simulated]" } else { "" };
    let host = if is_host {
        "HOST MEMORY MOVED BY CPUS, NO GPU: "
    } else {
        ""
    };
    let is_predicted = seen
        .iter()
        .any(|(mode, _)| *mode == Some(CallMode::Interleaved));
    let predicts = if is_host {
        ""
    } else if is_predicted {
        "; of the modes, interleaved is the one that predicts serving"
    } else {
        "; none of these modes predicts serving as interleaved does: add --modes interleaved"
    };
    format!(
        "\n{host}Collectives of a step{soft}: each call's time as often as the step issues it, in ms; interval: the ends of the calls' 95% \
         intervals added up, n: the least behind a time{predicts}\n{lines}"
    )
}

fn total(step: &PlannedStep, rows: &[&Row<'_>]) -> Option<Total> {
    let mut total = Total {
        us: 0.0,
        ends: Some((0.0, 0.0)),
        n: usize::MAX,
        calls: 0,
        stand_in: 0,
    };
    for collective in &step.collectives {
        let find = |by_engine: bool| {
            let is_it = |row: &&&Row<'_>| {
                (row.series.kind, row.bytes_per_rank, row.series.ranks)
                    == (collective.kind, collective.bytes_per_rank, step.tp)
                    && row.series.engine.is_some() == by_engine
                    && row.series.placement == BufferPlacement::OutOfPlace
                    && row.series.cache == BufferCache::Hot
            };
            let row = rows.iter().find(is_it)?;
            let time = row.time().filter(|_| row.not_judged().is_none())?;
            time.is_above_zero().then_some(time)
        };
        let is_own = collective.path == CollectivePath::Custom;
        let engines: Option<RowTime> = if is_own { find(true) } else { None };
        let time = engines.or_else(|| find(false))?;
        let times = f64::from(collective.count);
        total.us += time.value * times;
        total.ends = total
            .ends
            .zip(time.interval)
            .map(|((low, high), interval)| {
                (low + interval.low * times, high + interval.high * times)
            });
        total.n = total.n.min(time.n);
        total.calls += u64::from(collective.count);
        if is_own && engines.is_none() {
            total.stand_in += u64::from(collective.count);
        }
    }
    (total.calls > 0).then_some(total)
}

fn words(step: &PlannedStep, mode: Option<CallMode>, arm: Option<&str>, total: &Total) -> String {
    let ms = |us: f64| significant(us / 1e3);
    let arm = arm.map_or_else(String::new, |arm| format!(", arm {arm}"));
    let mode = mode.map_or_else(String::new, |mode| format!(", {mode}"));
    let ends = total.ends.map_or_else(
        || "no interval".to_owned(),
        |(low, high)| format!("{} .. {}", ms(low), ms(high)),
    );
    let upper = if total.stand_in > 0 {
        format!(
            "; {} of them the engine does with a kernel of its own, for which the library's time stands in: an upper figure; \
             --engine-python PATH, where the GPUs are, times that kernel",
            total.stand_in
        )
    } else {
        String::new()
    };
    format!(
        "{}{mode}{arm}: {} [{ends}], n {}, {} calls{upper}",
        step_name(step),
        ms(total.us),
        total.n,
        total.calls
    )
}
