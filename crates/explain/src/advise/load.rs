//! The load, the host and the kernels: what is not the link, and whether this many GPUs are worth it.

use record::{LinkDevice, MonitorLine, ServerMachine};
use tp_plan::{Execution, Vendor};

use super::advice::{Advice, Effect, Found, Rule, advice};
use super::communication::is_mig_without_peers;
use crate::attribute::{Attribution, Cause};
use crate::priors::Prior;
use crate::range::{Range, count};

/// Threads of a server are elsewhere if more than this part of their time is.
const ELSEWHERE: f64 = 0.5;

/// A server that used fewer CPUs than this over a load shows no placement.
const LEAST_CPUS: f64 = 0.05;

/// A bound this near to what is measured leaves nothing to gain.
const NEAR: f64 = 1.05;

/// The model fits one GPU, and one GPU each gives more at the same batch each, or cannot reach the others anyway.
pub(super) fn replicas(found: &Found) -> Option<Advice> {
    let is_more = found.attribution.replicas.low > 1.0 && !found.inputs.is_mig();
    if !is_more && !is_mig_without_peers(found) {
        return None;
    }
    let Attribution {
        tp,
        batch,
        replicas,
        ..
    } = *found.attribution;
    let rule = Rule::Replicas {
        replicas: tp,
        times: replicas,
        in_flight: tp * batch,
    };
    advice(rule, None, None)
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
    let half = found.commands.half_model(attribution.batch).ok();
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
    let effect = host.and_then(|host| without_host(found.attribution, host));
    advice(Rule::Eager { largest_graph }, effect, None)
}

/// Speed-up over one GPU of a step without what the host takes.
fn without_host(of: &Attribution, host: &Prior) -> Option<Effect> {
    let (one, several) = (of.step_of_one.mid, of.step_of_several.mid);
    let times = |at: f64| (several > host.at(at)).then(|| one / (several - host.at(at)));
    Some(Effect::bound(Range {
        low: times(0.05)?,
        mid: times(0.5)?,
        high: times(0.95)?,
    }))
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
    advice(rule, None, Some(bind))
}

/// The part of the placed CPU time that was on none of these nodes; `None` where there was too little to tell.
fn elsewhere(machine: &ServerMachine, nodes: &[u32]) -> Option<f64> {
    let (mut away, mut all, mut span) = (0.0, 0.0, 0.0f64);
    for line in &machine.lines {
        let MonitorLine::Cpu(cpu) = line else {
            continue;
        };
        span = span.max(count(cpu.at_ns));
        for of in &cpu.by_node {
            let seconds = of.cpus * count(cpu.over_ns);
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
    is_near.then(|| advice(Rule::NothingToGain, found.bound(), None))?
}
