//! From the records of a launch to what an ablation keeps of it.

use std::path::Path;

use explain::Range;
use import::{CurvePoint, ServeRun, Spread, collectives, serve};
use record::{CallMode, CollectiveKind, Payload, PlannedStep, Serve, load};

/// From half a 95% interval to the distance of the 5% and 95% quantiles, of a normal distribution: 1.645 over 1.960.
const TO_QUANTILE: f64 = 1.644_85 / 1.959_96;

/// Fewer gaps than this do not stand for the decode step.
const LEAST_GAPS: u64 = 100;

/// Time of all collectives of a step over the number of its all-reduces, us, from the record of tplens allreduce in a folder.
///
/// # Errors
/// A collective of the step has no time there, or none with an interval.
pub(super) fn collective_us(
    folder: &Path,
    step: &PlannedStep,
    mode: CallMode,
) -> Result<Range, String> {
    let points = collectives::read(folder).map_err(|error| error.to_string())?;
    each(&points, step, mode)
}

/// The errors of the sizes add up: what a launch does to one size it does to the others.
fn each(points: &[CurvePoint], step: &PlannedStep, mode: CallMode) -> Result<Range, String> {
    let (mut low, mut mid, mut high, mut count) = (0.0, 0.0, 0.0, 0);
    for planned in &step.collectives {
        let point = points.iter().find(|point| {
            (point.kind, point.bytes_per_rank, point.ranks, point.mode)
                == (planned.kind, planned.bytes_per_rank, step.tp, Some(mode))
                && point.engine.is_none()
        });
        let what = format!("the {} of {} B", planned.role, planned.bytes_per_rank);
        let point = point.ok_or_else(|| {
            let mode = mode.to_string().replace('_', "-");
            format!("{what} was not timed by the library in mode {mode}")
        })?;
        let (Some(from), Some(to)) = (point.low, point.high) else {
            return Err(format!("{what} has no interval: raise --budget"));
        };
        let times = f64::from(planned.count);
        low += times * (point.us - (point.us - from) * TO_QUANTILE);
        mid += times * point.us;
        high += times * (point.us + (to - point.us) * TO_QUANTILE);
        if planned.kind == CollectiveKind::AllReduce {
            count += planned.count;
        }
    }
    if count == 0 {
        return Err("the step has no all-reduce".to_owned());
    }
    let over = f64::from(count);
    Ok(Range {
        low: low / over,
        mid: mid / over,
        high: high / over,
    })
}

/// The mean gap between tokens while every slot decodes, ms, by the record of `tplens serve run` in a folder, and how many gaps there are.
///
/// # Errors
/// Requests failed, nothing shows a step with an interval, or a simulated server answered where none was asked for.
pub(super) fn step(folder: &Path, is_soft: bool) -> Result<(Range, u64), String> {
    let run = serve::read(folder).map_err(|error| error.to_string())?;
    match run.simulated.as_ref().filter(|_| !is_soft) {
        Some(name) => Err(format!(
            "the server plays the simulated machine {name}, whose step is no measurement: give --sim {name} instead of its command"
        )),
        None => decode_step(&run),
    }
}

/// What this machine made of a load's times.
#[derive(Default)]
pub(super) struct MachineLimit {
    /// Why they are the load generator's own; `None` where they are the server's.
    pub(super) limited: Option<String>,
    /// By how much the embedded engine played a mean step longer than it is, ms; `None` for any other server.
    pub(super) late_ms: Option<f64>,
}

/// What this machine made of the times of the load in a folder.
///
/// # Errors
/// The record cannot be read.
pub(super) fn machine(folder: &Path) -> Result<MachineLimit, String> {
    let record = load(folder).map_err(|error| error.to_string())?;
    Ok(match &record.payload {
        Payload::Serve(serve) => limits(serve),
        _ => MachineLimit::default(),
    })
}

fn limits(serve: &Serve) -> MachineLimit {
    let client = serve.client.as_ref();
    let limited = client.filter(|client| !client.invalid.is_empty());
    let counters = serve
        .server
        .as_ref()
        .and_then(|server| server.counters.as_ref());
    let change = counters.and_then(|counters| counters.change.as_ref());
    MachineLimit {
        limited: limited.map(|client| {
            format!(
                "the load generator was the limit: {}",
                client.invalid.join("; ")
            )
        }),
        late_ms: change.and_then(|change| Some(change.lost?.mean_ms)),
    }
}

fn decode_step(run: &ServeRun) -> Result<(Range, u64), String> {
    match run.failed {
        Some(0) => {}
        Some(failed) => {
            let all = failed + run.completed;
            return Err(format!(
                "{failed} of {all} requests failed, so the batch was another one"
            ));
        }
        None => return Err("how many requests failed is not known".to_owned()),
    }
    let enough = |gap: &Spread| Some((range(gap)?, gap.n.filter(|n| *n >= LEAST_GAPS)?));
    run.decode_gap_ms.as_ref().and_then(enough).ok_or_else(|| {
        format!("fewer than {LEAST_GAPS} gaps while every slot decodes: raise --requests or --output-tokens")
    })
}

/// A mean with its 95% interval as quantiles.
fn range(of: &Spread) -> Option<Range> {
    let interval = of.mean_interval?;
    Some(Range {
        low: of.mean - (of.mean - interval.low) * TO_QUANTILE,
        mid: of.mean,
        high: of.mean + (interval.high - of.mean) * TO_QUANTILE,
    })
}

#[cfg(test)]
mod tests {
    use record::PlannedCollective;

    use super::*;

    fn planned(kind: CollectiveKind, count: u32, bytes: u64) -> PlannedCollective {
        PlannedCollective {
            kind,
            role: "attention output".to_owned(),
            count,
            bytes_per_rank: bytes,
            path: record::CollectivePath::Library,
            rule: String::new(),
        }
    }

    fn point(kind: CollectiveKind, bytes: u64, us: f64, half: f64) -> CurvePoint {
        CurvePoint {
            kind,
            ranks: 2,
            bytes_per_rank: bytes,
            us,
            low: Some(us - half),
            high: Some(us + half),
            n: Some(20),
            mode: Some(CallMode::Graph),
            library: Some("nccl".to_owned()),
            engine: None,
            origin: "test".to_owned(),
            simulated: None,
        }
    }

    fn step() -> PlannedStep {
        PlannedStep {
            model: "m".to_owned(),
            engine: "e".to_owned(),
            tp: 2,
            batch: 16,
            padded_batch: 16,
            prefill_tokens: None,
            collectives: vec![
                planned(CollectiveKind::AllReduce, 9, 1024),
                planned(CollectiveKind::AllReduce, 1, 2048),
                planned(CollectiveKind::AllGather, 1, 4096),
            ],
        }
    }

    #[test]
    fn the_time_of_an_all_reduce_carries_the_gather_of_the_step() {
        let points = [
            point(CollectiveKind::AllReduce, 1024, 10.0, 1.96),
            point(CollectiveKind::AllReduce, 2048, 20.0, 1.96),
            point(CollectiveKind::AllGather, 4096, 30.0, 0.0),
        ];
        // (9 x 10 + 20 + 30) / 10 all-reduces is 14. Deviations of 1 in the ten all-reduces and of none in the gather add to 10
        // of 10: the 5% quantile lies 1.645 below.
        let range = each(&points, &step(), CallMode::Graph).unwrap();
        assert!((range.mid - 14.0).abs() < 1e-9, "{range:?}");
        assert!((range.low - 12.355).abs() < 1e-3 && (range.high - 15.645).abs() < 1e-3);
    }

    #[test]
    fn a_step_with_a_call_that_was_not_timed_has_no_time() {
        let points = [point(CollectiveKind::AllReduce, 1024, 10.0, 1.0)];
        let reason = each(&points, &step(), CallMode::Graph).unwrap_err();
        assert!(
            reason.contains("2048 B was not timed by the library in mode graph"),
            "{reason}"
        );
        assert!(each(&points, &step(), CallMode::BackToBack).is_err());
    }
}
