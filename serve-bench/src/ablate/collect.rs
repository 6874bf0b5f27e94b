//! From the records of a launch to what an ablation keeps of it, and from the log of the delay library whether every rank was delayed.
//!
//! A replayed graph calls nothing: an engine with graphs is delayed only where calls came while it captured.

use std::collections::BTreeMap;
use std::path::Path;

use explain::{Launch, Range};
use import::{CurvePoint, collectives, serve};
use record::{CallMode, Payload, PlannedStep, Serve, exit, load};
use serde::Deserialize;

use super::plan::{Launched, Plan, SHIM_LOG, all_reduces};

/// From half a 95% interval to the distance of the 5% and 95% quantiles, of a normal distribution: 1.645 over 1.960.
const TO_QUANTILE: f64 = 1.644_85 / 1.959_96;

/// Fewer gaps than this do not stand for the decode step.
const LEAST_GAPS: u64 = 100;

/// Time of all collectives of a step over the number of its all-reduces, us.
///
/// The errors of the sizes add up: what a launch does to one size it does to the others.
fn each(points: &[CurvePoint], step: &PlannedStep, mode: CallMode) -> Result<Range, String> {
    let over = f64::from(all_reduces(step));
    if over == 0.0 {
        return Err("the step has no all-reduce".to_owned());
    }
    let mut sum = [0.0; 3];
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
        let Some((from, to)) = point.low.zip(point.high) else {
            return Err(format!("{what} has no interval: raise --budget"));
        };
        let one = quantiles(point.us, from, to);
        for (sum, us) in sum.iter_mut().zip([one.low, one.mid, one.high]) {
            *sum += f64::from(planned.count) * us;
        }
    }
    let [low, mid, high] = sum.map(|us| us / over);
    Ok(Range { low, mid, high })
}

/// A value with its 95% interval as quantiles.
fn quantiles(mid: f64, low: f64, high: f64) -> Range {
    Range {
        low: mid - (mid - low) * TO_QUANTILE,
        mid,
        high: mid + (high - mid) * TO_QUANTILE,
    }
}

/// What a launch in a folder measured.
///
/// # Errors
/// In words, why it says nothing.
pub(super) fn launch(plan: &Plan<'_>, launch: &Launched, folder: &Path) -> Result<Launch, String> {
    let at = folder.join(&launch.name);
    let timed = load(&at.join("allreduce")).map_err(|error| error.to_string())?;
    if timed.exit_code == exit::WRONG_DATA {
        let at = at.display();
        return Err(format!(
            "tplens allreduce found wrong data; see {at}/allreduce.log"
        ));
    }
    let points = collectives::read(&at.join("allreduce")).map_err(|error| error.to_string())?;
    let collective_us = each(&points, &plan.step, plan.mode())?;
    let is_simulated = plan.subject.simulated.is_some();
    if plan.arms[launch.arm].delay_us.is_some() && !is_simulated {
        check_delays(
            &at.join(SHIM_LOG),
            plan.args.tp,
            plan.mode() == CallMode::Graph,
        )?;
    }
    let served = load(&at.join("serve")).map_err(|error| error.to_string())?;
    let (limited, late_ms) = match &served.payload {
        Payload::Serve(serve) => of_machine(serve),
        _ => (None, None),
    };
    // No step of a simulated machine is a measurement: a launch that a busy machine played is kept, marked, and left out.
    if let Some(reason) = limited.as_ref().filter(|_| !is_simulated) {
        return Err(reason.clone());
    }
    let run = serve::read(&at.join("serve")).map_err(|error| error.to_string())?;
    if let Some(name) = run.simulated.as_ref().filter(|_| !is_simulated) {
        return Err(format!(
            "the server plays the simulated machine {name}, whose step is no measurement: give --sim {name} instead of its command"
        ));
    }
    let failed = run.failed.ok_or("how many requests failed is not known")?;
    if failed > 0 {
        let all = failed + run.completed;
        return Err(format!(
            "{failed} of {all} requests failed, so the batch was another one"
        ));
    }
    let gap = run.decode_gap_ms.as_ref().and_then(|gap| {
        let steps = gap.n.filter(|n| *n >= LEAST_GAPS)?;
        let of = gap.mean_interval?;
        Some((quantiles(gap.mean, of.low, of.high), steps))
    });
    let Some((step_ms, steps)) = gap else {
        return Err(format!(
            "fewer than {LEAST_GAPS} gaps while every slot decodes: raise --requests or --output-tokens"
        ));
    };
    Ok(Launch {
        order: launch.order,
        collective_us: Some(collective_us),
        step_ms,
        steps,
        folder: Some(launch.name.clone()),
        late_ms,
        limited,
    })
}

/// What this machine made of a load's times: why they are the load generator's own, and by how much the embedded engine played a mean
/// step longer than it is, ms.
fn of_machine(serve: &Serve) -> (Option<String>, Option<f64>) {
    let client = serve.client.as_ref();
    let client = client.filter(|client| !client.invalid.is_empty());
    let limited = client.map(|client| {
        let why = client.invalid.join("; ");
        format!("the load generator was the limit: {why}")
    });
    let counters = serve.server.as_ref().and_then(|of| of.counters.as_ref());
    let lost = counters.and_then(|counters| counters.change.as_ref()?.lost);
    (limited, lost.map(|lost| lost.mean_ms))
}

/// A line of the log; the last one of a process counts.
#[derive(Debug, Deserialize)]
struct Line {
    pid: u32,
    #[serde(default)]
    calls: u64,
    #[serde(default)]
    calls_captured: u64,
    #[serde(default)]
    calls_refused: u64,
}

/// Checks that so many processes were delayed, in their graphs where the engine has any.
///
/// # Errors
/// What the log shows instead, in words.
fn check_delays(log: &Path, ranks: u32, has_graphs: bool) -> Result<(), String> {
    let file = log.display();
    let text = bounded::text(log, bounded::TEXT)
        .map_err(|error| format!("no log of the delay library: {file}: {error}"))?;
    let lines = text.lines();
    let parsed = lines.filter_map(|line| serde_json::from_str(line).ok());
    let last: BTreeMap<u32, Line> = parsed.map(|line: Line| (line.pid, line)).collect();
    let count = |of: fn(&Line) -> u64| last.values().filter(|line| of(line) > 0).count();
    if count(|line| line.calls_refused) > 0 {
        return Err(format!(
            "the delay library could not delay some calls: {file} tells of calls_refused"
        ));
    }
    let delayed = match has_graphs {
        true => count(|line| line.calls_captured),
        false => count(|line| line.calls),
    };
    let what = match has_graphs {
        true => "all-reduces in a graph (calls_captured)",
        false => "all-reduces (calls)",
    };
    // As many processes as ranks: one that is not delayed waits for one that is, and a warm-up alone delays no replay.
    if delayed < ranks as usize {
        return Err(format!(
            "{delayed} of {ranks} ranks were delayed in {what}, by {file}: the step does not hold the delay of this arm"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use record::{CollectiveKind, PlannedCollective};

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

    #[test]
    fn only_ranks_whose_graphs_hold_the_delay_count() {
        let log = std::env::temp_dir().join(format!("tplens-shim-log-{}", std::process::id()));
        let of = |text: &str, has_graphs| {
            std::fs::write(&log, text).unwrap();
            check_delays(&log, 2, has_graphs)
                .map_err(|why| why.split(',').next().unwrap_or_default().to_owned())
        };
        let line = |pid: u32, calls: u32, captured: u32| {
            format!(
                "{{\"pid\":{pid},\"calls\":{calls},\"calls_captured\":{captured},\"calls_refused\":0}}\n"
            )
        };
        assert!(of("", true).is_err());
        assert!(of(&line(1, 0, 0), false).unwrap_err().starts_with("0 of 2"));
        // Warm-up calls of both ranks, and none while capturing: replays hold no delay.
        let warm = line(1, 12, 0) + &line(2, 12, 0);
        assert!(of(&warm, true).unwrap_err().starts_with("0 of 2 ranks"));
        assert_eq!(of(&warm, false), Ok(()));
        // One rank of two.
        let one = line(1, 161, 161) + &line(2, 12, 0);
        assert!(of(&one, true).unwrap_err().starts_with("1 of 2 ranks"));
        // Two lines of one process are one rank, and its last line counts.
        let twice = line(1, 1, 0) + &line(1, 161, 161);
        assert!(of(&twice, true).unwrap_err().starts_with("1 of 2 ranks"));
        let both = line(1, 161, 161) + "half a li" + "\n" + &line(2, 161, 161);
        assert_eq!(of(&both, true), Ok(()));
        let refused = both + "{\"pid\":3,\"calls\":1,\"calls_refused\":1}\n";
        assert!(of(&refused, true).unwrap_err().contains("calls_refused"));
        std::fs::remove_file(&log).unwrap();
        assert!(check_delays(&log, 2, true).is_err());
    }
}
