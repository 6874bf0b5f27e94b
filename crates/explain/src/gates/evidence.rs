//! Gates on what stands beside the runs: clocks, the way of the collectives, and the half-width model.

use measure::import::ServeRun;
use measure::import::serve::Throttle;

use super::compared::compared;
use super::gate::Gate;
use super::names::{Kin, kin_of_facts, names_share};
use super::open::{Open, TOLERANCE};
use super::shape::RunShape;
use crate::inputs::{Inputs, PeerState};

/// So many readings may show clocks held down, as a part of all.
const FEW: f64 = 0.05;

/// What an operator or a card's limit sets for good: the clocks are lower in all runs alike, or not, which nobody checked.
const STEADY: [&str; 4] = [
    "software power cap",
    "applications clocks setting",
    "display clocks setting",
    "sync boost",
];

/// Parts of the time in which a limit held clocks down that differ by more are not alike.
const UNLIKE: f64 = 0.25;

/// What NCCL, RCCL and MCCL call their ways between ranks (`transport/*.cc`, `TRANSPORT`).
const WAYS: [&str; 5] = ["P2P", "SHM", "NET", "NVLS", "COLLNET"];

/// A half-width model is no faster than this part of its share: narrow GEMMs gain no more than their width.
pub(crate) const LEAST_SHARE: f64 = 0.95;

/// A step at half width may lie this far above the one on several GPUs, as two measurements of one thing do.
const NOISE: f64 = 0.02;

/// Whether the clocks were free during a run.
pub(super) fn unthrottled(inputs: &Inputs, run: &ServeRun) -> Gate {
    let gate = Open::new(
        "no throttling",
        "heat and brakes hold no clock down during the load, or the step is that of the cooling",
        "run serve-bench run --monitor beside the load; cool the GPUs or lower their power limit, and run again",
    );
    let seen = inputs.evidence.throttle.iter();
    let Some(seen) = seen.into_iter().find(|seen| seen.origin == run.origin) else {
        return gate.is(None, "no monitor ran beside the load");
    };
    let share = share(seen);
    let words = format!(
        "{} of {} readings show clocks held down ({})",
        seen.slowed,
        seen.readings,
        seen.reasons.join(", ")
    );
    if share <= FEW {
        let words = if seen.slowed == 0 {
            format!("none of {} readings shows clocks held down", seen.readings)
        } else {
            words
        };
        return gate.is(Some(true), words);
    }
    gate.is((!is_steady(seen)).then_some(false), words)
}

/// The part of the readings that show clocks held down.
#[expect(clippy::cast_precision_loss, reason = "readings of one run")]
fn share(of: &Throttle) -> f64 {
    of.slowed as f64 / of.readings.max(1) as f64
}

/// Whether nothing but what somebody set for good held clocks down.
fn is_steady(of: &Throttle) -> bool {
    let mut reasons = of.reasons.iter();
    reasons.all(|reason| STEADY.contains(&reason.as_str()))
}

/// Whether what a limit holds down, it holds down in all runs alike: else the clocks explain part of the difference.
pub(super) fn held_alike(inputs: &Inputs) -> Gate {
    let gate = Open::new(
        "clocks alike",
        format!(
            "a power or clock limit slows all runs alike: clocks within {:.0}%, or where none was read, as large a part of the time within {:.0}%",
            TOLERANCE * 100.0,
            UNLIKE * 100.0
        ),
        "raise the power limit, or lock the clocks of all runs to one that the limit allows (nvidia-smi -lgc), and run again",
    );
    let all: Vec<&Throttle> = compared(inputs)
        .filter_map(|run| {
            let mut clocks = inputs.evidence.throttle.iter();
            clocks.find(|seen| seen.origin == run.origin)
        })
        .collect();
    if all.len() < compared(inputs).count() || all.len() < 2 {
        return gate.not_judged("no monitor ran beside every load");
    }
    let words = |of: &Throttle| {
        let clock = of.clock_mhz;
        let clock = clock.map_or(String::new(), |clock| format!(" at {clock:.0} MHz"));
        format!("{:.0}%{clock}", share(of) * 100.0)
    };
    let each: Vec<String> = all.iter().map(|of| words(of)).collect();
    let seen = format!("held down in {} of the readings", each.join(" and "));
    if all.iter().all(|of| share(of) <= FEW) {
        return gate.is(Some(true), seen);
    }
    let ends = |values: Vec<f64>| {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        (least, most)
    };
    let clocks: Option<Vec<f64>> = all.iter().map(|of| of.clock_mhz).collect();
    match clocks.map(ends) {
        Some((least, most)) => gate.is(Some(most <= least * (1.0 + TOLERANCE)), seen),
        None => {
            let (least, most) = ends(all.iter().map(|of| share(of)).collect());
            gate.is((most - least > UNLIKE).then_some(false), seen)
        }
    }
}

/// Whether the way of the collectives is known, and can be.
pub(super) fn transport(inputs: &Inputs) -> Gate {
    let gate = Open::new(
        "transport proven",
        "the collective library said what it goes over, the GPUs allow it, and the engine's log says the same",
        "run allreduce-bench in the server's environment, which reads it off a logged run, or give the server's log with NCCL_DEBUG=INFO (--engine-log)",
    );
    let log = inputs.log(inputs.tp);
    let by_log = log.and_then(|log| log.transport.as_deref());
    let by_bench = inputs.evidence.transport.as_deref();
    let mut seen: Vec<String> = by_bench.map(str::to_owned).into_iter().collect();
    if let (Some(log), Some(via)) = (log, by_log) {
        seen.push(format!("{via} by the engine's log ({})", log.origin));
    }
    let reduces_itself = log.is_some_and(|log| log.reduces_itself);
    if let (Some(log), true) = (log, reduces_itself) {
        let words = "the engine's own all-reduce, which needs peer access, by its log";
        seen.push(format!("{words} ({})", log.origin));
    }
    if seen.is_empty() {
        return gate.is(None, "no file says what the library goes over");
    }
    let seen = seen.join("; ");
    // As NCCL writes it, `P2P/CUMEM`; the name of an arm may hold the word too.
    let direct = |via: &str| ways(via).any(|way| way == "P2P");
    let direct = reduces_itself || [by_bench, by_log].into_iter().flatten().any(direct);
    if direct && inputs.peer_state() == PeerState::Denied {
        let words =
            format!("{seen}, while the GPUs cannot reach each other: the files are of two boxes");
        return gate.is(Some(false), words);
    }
    if let (Some(bench), Some(log)) = (by_bench, by_log)
        && ways(bench).next().is_some()
        && ways(log).next().is_some()
        && ways(bench).all(|way| ways(log).all(|other| other != way))
    {
        let words = format!("{seen}: what was timed is not the way that the engine went");
        return gate.is(Some(false), words);
    }
    let denied = log.is_some_and(|log| log.peers == Some(false));
    if denied && inputs.peer_state() == PeerState::Direct {
        let words = format!(
            "{seen}; the probes reach every GPU, and the engine's log says that its GPUs do not reach each other: another box, or the server's container or variables forbid it"
        );
        return gate.is(None, words);
    }
    gate.is(Some(true), seen)
}

/// The ways in a text such as `P2P/CUMEM and SHM/direct in arm no-p2p`, by their first words.
fn ways(via: &str) -> impl Iterator<Item = &str> {
    let words = via.split([' ', ',']);
    words.filter_map(|word| {
        let (first, _) = word.split_once('/').unwrap_or((word, ""));
        WAYS.contains(&first).then_some(first)
    })
}

/// Whether the half-width model, which was run, is what it should be.
pub(super) fn half_width(inputs: &Inputs) -> Gate {
    let tp = inputs.tp;
    let gate = Open::new(
        "half-width model",
        format!(
            "a step at 1/{tp} of the width on one GPU lies between 1/{tp} of TP1's and TP{tp}'s, within what two runs differ by"
        ),
        format!(
            "serve on one GPU a model with 1/{tp} of the heads, key-value heads, feed-forward width and vocabulary, at the same batch and lengths"
        ),
    );
    let steps = |runs: &mut dyn Iterator<Item = &ServeRun>| -> Vec<f64> {
        runs.filter_map(|run| RunShape::new(run).rough_step_ms())
            .collect()
    };
    let halves = steps(&mut inputs.evidence.half.iter());
    let least = |steps: Vec<f64>| steps.into_iter().reduce(f64::min);
    let most = |steps: Vec<f64>| steps.into_iter().reduce(f64::max);
    let (Some(half), Some(one), Some(several)) = (
        least(halves),
        least(steps(&mut inputs.runs(1))),
        most(steps(&mut inputs.runs(tp))),
    ) else {
        return gate.is(None, "a run shows no time of a step");
    };
    let share = one / f64::from(tp);
    let seen = format!("{half:.1} ms, 1/{tp} of TP1's {share:.1} ms, TP{tp}'s {several:.1} ms");
    gate.is(
        Some(half >= share * LEAST_SHARE && half <= several * (1.0 + NOISE)),
        seen,
    )
}

/// Whether the half-width model is known to be one: by a name of its own that says so.
pub(super) fn half_width_proven(inputs: &Inputs) -> Gate {
    let gate = Open::new(
        "half width proven",
        format!(
            "the result of the half-width model names a model at 1/{} of the width, and none of the other sides' results bears that name",
            inputs.tp
        ),
        format!(
            "serve it under a name that says so, such as --served-model-name MODEL-half-tp{}; serve-bench half-model prints and runs that server",
            inputs.tp
        ),
    );
    match half_not_proven(inputs) {
        Some(why) => gate.is(None, format!("half width not proven: {why}")),
        None => {
            let names = inputs.evidence.half.iter().map(named);
            gate.is(Some(true), names.collect::<Vec<_>>().join(" and "))
        }
    }
}

/// Why the half-width model is not known to be one; `None` where it is, or where none was run.
pub(crate) fn half_not_proven(inputs: &Inputs) -> Option<String> {
    inputs.evidence.half.iter().find_map(|run| {
        let Some(name) = run.model.as_deref() else {
            return Some(format!("{} does not name its model", run.origin));
        };
        let mut sides = inputs.runs(1).chain(inputs.runs(inputs.tp));
        let is_whole = kin_of_facts(&inputs.model, name) == Kin::Same;
        if sides.any(|side| side.model.as_deref() == Some(name)) {
            // An alias stands for whatever was served under it.
            Some(format!(
                "{} names {name}, as the result of the whole model does",
                run.origin
            ))
        } else if names_share(name, inputs.tp) {
            None
        } else if is_whole {
            Some(format!("{} names {name}, the whole model", run.origin))
        } else {
            Some(format!(
                "{} names {name}, which does not say that it is a part of {}",
                run.origin, inputs.model.name
            ))
        }
    })
}

fn named(run: &ServeRun) -> String {
    run.model.clone().unwrap_or_else(|| run.origin.clone())
}
