//! The load, the host and the kernels: what is not the link, and whether this many GPUs are worth it.

use record::{LinkDevice, MonitorLine, ServerMachine};
use tp_plan::{Execution, Vendor};

use super::advice::{Advice, Effect, Found, Rule, advice};
use crate::attribute::{Attribution, Cause};
use crate::inputs::PeerState;

/// Threads of a server are elsewhere if more than this part of their time is.
const ELSEWHERE: f64 = 0.5;

/// A server that used fewer CPUs than this over a load shows no placement.
const LEAST_CPUS: f64 = 0.05;

/// A bound this near to what is measured leaves nothing to gain.
const NEAR: f64 = 1.05;

/// Replicas of one GPU against several at equal load.
pub(super) fn compare_replicas(found: &Found) -> Option<Advice> {
    let Attribution {
        tp,
        batch,
        replicas,
        ..
    } = *found.attribution;
    let all = tp * batch;
    let rule = Rule::Replicas {
        replicas: tp,
        times: replicas,
        in_flight: all,
    };
    let each = found.commands.served_with(1, (batch / tp).max(1), true);
    let together = found.commands.served_with(tp, all, true);
    advice(rule, None, each.into_iter().chain(together))
}

/// The model fits one GPU, and one GPU each gives more at the same batch each.
pub(super) fn replicas(found: &Found) -> Option<Advice> {
    let is_more = found.attribution.replicas.low > 1.0;
    (is_more && !found.inputs.is_mig()).then(|| compare_replicas(found))?
}

/// Narrow GEMMs take more of the time above the ideal than anything else, and than collectives do by their curve.
pub(super) fn kernels(found: &Found) -> Option<Advice> {
    let attribution = found.attribution;
    let leading = attribution.leading()?;
    // Kernels that lose next to nothing are not to be looked at either.
    let gain = attribution.halved_gemms.high / attribution.speed_up.mid;
    // Where nothing is claimed of collectives, what their curve gives them is in no bar.
    let is_most = attribution.collectives_ms() < leading.ms.mid;
    if leading.cause != Cause::NarrowGemm || gain < NEAR || !is_most {
        return None;
    }
    let rule = Rule::KernelsFirst {
        gemm_ms: leading.ms,
    };
    let effect = Effect::bound(attribution.halved_gemms);
    let half = found.commands.half_model(attribution.batch);
    advice(rule, Some(effect), half)
}

/// Steps without graphs: what the host takes is hidden by nothing.
pub(super) fn eager(found: &Found) -> Option<Advice> {
    let Attribution { tp, batch, .. } = *found.attribution;
    let engine = found.inputs.engine(tp)?;
    if engine.vendor == Vendor::Host || !found.inputs.is_eager(batch) {
        return None;
    }
    let largest_graph = match &engine.execution {
        Execution::Eager => None,
        Execution::Graph { capture_sizes } => Some(capture_sizes.last().copied().unwrap_or(0)),
    };
    // If the host's time went away altogether, by the range that stands for it.
    let mut priors = found.attribution.priors.iter();
    let host = priors.find(|prior| prior.name == "host_eager_ms");
    let effect = host.and_then(|host| found.without([0.05, 0.5, 0.95].map(|at| host.at(at))));
    let shown = found
        .commands
        .served_with(tp, batch, largest_graph.is_some());
    advice(Rule::Eager { largest_graph }, effect, shown)
}

/// Threads of the server on a NUMA node that none of its GPUs hangs on.
pub(super) fn threads_elsewhere(found: &Found) -> Option<Advice> {
    let tp = found.attribution.tp;
    let seen = &found.inputs.seen;
    let machines = seen.machines.iter().filter(|(of, _)| *of == tp);
    let of_machine = |(_, machine): &(u32, ServerMachine)| {
        let node = |device: &LinkDevice| device.node;
        let mut nodes: Vec<u32> = match seen.used(tp) {
            [] => {
                let devices = machine.header.devices.iter().take(tp as usize);
                devices.map(|device| device.node).collect::<Option<_>>()?
            }
            used => used.iter().map(node).collect::<Option<_>>()?,
        };
        nodes.sort_unstable();
        nodes.dedup();
        let share = elsewhere(machine, &nodes)?;
        (share > ELSEWHERE).then_some(Rule::ThreadsElsewhere { nodes, share })
    };
    let rule = machines.filter_map(of_machine).next()?;
    let bind = found
        .commands
        .ablate(found.attribution.batch, "--arms numa");
    advice(rule, placement_bound(found), [bind])
}

/// What binding would bring: all of the host's part, and all that is left of communication where it goes through host
/// memory, or may.
fn placement_bound(found: &Found) -> Option<Effect> {
    let host = found.attribution.bar(Cause::Host)?.ms;
    let left = found.attribution.remainder;
    let is_direct = found.inputs.peer_state() == PeerState::Direct;
    let pairs = [
        (host.low, left.low),
        (host.mid, left.mid),
        (host.high, left.high),
    ];
    found.without(pairs.map(|(host, staged)| {
        let staged = if is_direct { 0.0 } else { staged.max(0.0) };
        host.max(0.0) + staged
    }))
}

/// The part of the placed CPU time that was on none of these nodes; `None` where there was too little to tell.
#[expect(clippy::cast_precision_loss, reason = "nanoseconds of a run")]
fn elsewhere(machine: &ServerMachine, nodes: &[u32]) -> Option<f64> {
    let (mut away, mut all, mut span) = (0.0, 0.0, 0.0f64);
    for line in &machine.lines {
        let MonitorLine::Cpu(cpu) = line else {
            continue;
        };
        span = span.max(cpu.at_ns as f64);
        for of in &cpu.by_node {
            let seconds = of.cpus * cpu.over_ns as f64;
            all += seconds;
            if !nodes.contains(&of.node) {
                away += seconds;
            }
        }
    }
    (span > 0.0 && all / span >= LEAST_CPUS).then(|| away / all)
}

/// Free links would bring next to nothing.
pub(super) fn nothing_to_gain(found: &Found) -> Option<Advice> {
    let most = found.attribution.free_links.high / found.attribution.speed_up.mid;
    let is_near = most < NEAR;
    is_near.then(|| advice(Rule::NothingToGain, found.bound(), []))?
}
