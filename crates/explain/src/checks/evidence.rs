//! What stands beside the runs: clocks, the way of the collectives, the engine's rules, and the shard run.

use import::ServeRun;
use import::serve::Throttle;
use tp_plan::Engine;

use super::run::{FEW, TOLERANCE, compared, share};
use crate::finding::{Finding, apart};
use crate::inputs::{Inputs, PeerState};
use crate::run_shape::RunShape;

/// Parts of the time with held clocks that are further apart are not alike.
const UNLIKE: f64 = 0.25;

/// What collectives go over, as libraries write it.
const WAYS: [&str; 5] = ["P2P", "SHM", "NET", "NVLS", "COLLNET"];

/// A shard's step is at least this part of its share of the whole.
pub(crate) const LEAST_SHARE: f64 = 0.95;

/// What two runs of the same differ by.
const NOISE: f64 = 0.02;

/// What our own server calls itself; it acts as other engines do.
const OURS: &str = "tplens";

pub(super) fn clocks_differ(inputs: &Inputs) -> Option<Finding> {
    let of_run = |run: &ServeRun| {
        let mut all = inputs.evidence.throttle.iter();
        all.find(|seen| seen.origin == run.origin)
    };
    let all: Option<Vec<&Throttle>> = compared(inputs).map(of_run).collect();
    let all = all.filter(|all| all.iter().any(|of| share(of) > FEW))?;
    let clocks: Option<Vec<f64>> = all.iter().map(|of| of.clock_mhz).collect();
    let mhz = clocks.unwrap_or_default();
    let shares: Vec<f64> = all.iter().map(|of| share(of)).collect();
    let most = shares.iter().copied().fold(0.0, f64::max);
    let least = shares.into_iter().fold(1.0, f64::min);
    let differ = match mhz.is_empty() {
        false => apart(&mhz) > 1.0 + TOLERANCE,
        true => most - least > UNLIKE,
    };
    differ.then_some(Finding::ClocksDiffer { mhz })
}

pub(super) fn transport(inputs: &Inputs) -> Option<Finding> {
    let log = inputs.log(inputs.tp);
    let by_log = log.and_then(|log| log.transport.as_deref());
    let by_bench = inputs.evidence.transport.as_deref();
    let reduces_itself = log.is_some_and(|log| log.reduces_itself);
    if by_log.is_none() && by_bench.is_none() && !reduces_itself {
        return Some(Finding::TransportUnknown);
    }
    let (of_log, of_bench) = (ways(by_log), ways(by_bench));
    let direct = reduces_itself || of_bench.contains(&"P2P") || of_log.contains(&"P2P");
    let impossible = direct && inputs.peer_state() == PeerState::Denied;
    let is_apart = !of_log.is_empty()
        && !of_bench.is_empty()
        && of_bench.iter().all(|way| !of_log.contains(way));
    (impossible || is_apart).then(|| Finding::TransportDisagrees {
        bench: by_bench.map(str::to_owned),
        log: by_log.map(str::to_owned),
    })
}

/// As NCCL writes them, `P2P/CUMEM`; the name of an arm may hold the word too.
fn ways(via: Option<&str>) -> Vec<&str> {
    let words = via.unwrap_or_default().split([' ', ',']);
    let ways = words.map(|word| word.split('/').next().unwrap_or(word));
    ways.filter(|way| WAYS.contains(way)).collect()
}

pub(super) fn shard(inputs: &Inputs) -> Option<Finding> {
    let step = |run: &ServeRun| RunShape::new(run).rough_step_ms();
    let shard_ms = inputs.evidence.half.iter().filter_map(step);
    let shard_ms = shard_ms.reduce(f64::min)?;
    let one = inputs.runs(1).filter_map(step).reduce(f64::min)?;
    let several = inputs.runs(inputs.tp).filter_map(step);
    let several_ms = several.reduce(f64::max)?;
    let part_ms = one / f64::from(inputs.tp);
    let holds = shard_ms >= part_ms * LEAST_SHARE && shard_ms <= several_ms * (1.0 + NOISE);
    (!holds).then_some(Finding::ShardOutOfBounds {
        shard_ms,
        part_ms,
        several_ms,
    })
}

fn has_rules(served: &str) -> bool {
    let all = [Engine::Vllm, Engine::Sglang, Engine::Trtllm];
    all.into_iter().any(|one| is_named(one, served))
}

fn is_named(engine: Engine, served: &str) -> bool {
    engine.name().to_lowercase() == served
}

/// The one engine that the files name, and whether only a client's way of asking says so.
fn served(inputs: &Inputs) -> Option<(&String, bool)> {
    let named = compared(inputs).filter_map(|run| Some((run, run.conditions.engine.as_ref()?)));
    let mut named: Vec<(&ServeRun, &String)> = named.filter(|(_, of)| *of != OURS).collect();
    if named
        .iter()
        .any(|(run, _)| !run.conditions.engine_by_client)
    {
        named.retain(|(run, _)| !run.conditions.engine_by_client);
    }
    let (first, served) = *named.first()?;
    let is_one = named.iter().all(|(_, other)| *other == served);
    is_one.then_some((served, first.conditions.engine_by_client))
}

/// The engine that served, where nobody here knows what it sends.
pub(crate) fn without_rules(inputs: &Inputs) -> Option<&str> {
    let (served, _) = served(inputs)?;
    (!has_rules(served)).then_some(served.as_str())
}

pub(super) fn engine_differs(inputs: &Inputs) -> Option<Finding> {
    let used = inputs.engines.first()?.engine;
    let (served, by_client) = served(inputs)?;
    (!is_named(used, served)).then(|| Finding::EngineDiffers {
        used: used.name().to_owned(),
        served: served.clone(),
        has_rules: has_rules(served),
        by_client,
    })
}

/// Times of the curves that were given which count for nothing here.
pub(crate) fn unused(inputs: &Inputs) -> Option<Finding> {
    let (of, points) = (inputs.curve.len(), inputs.usable_curve());
    let used = match points.iter().any(|point| point.ranks == inputs.tp) {
        true => points.len(),
        false => 0,
    };
    let points = of - used;
    (points > 0).then_some(Finding::CurveLeftOut { points, of })
}
