//! The load, the host and the kernels: what is not the link, and whether this many GPUs are worth it.

use record::{MonitorLine, ServerMachine};

use super::advice::{Advice, Effect, Rule};
use super::found::Found;
use crate::attribute::{Attribution, Cause};
use crate::commands::printed;
use crate::inputs::PeerState;
use crate::range::Range;

/// Threads of a server are elsewhere if more than this part of their time is.
const ELSEWHERE: f64 = 0.5;

/// A server that used fewer CPUs than this over a load shows no placement.
const LEAST_CPUS: f64 = 0.05;

/// A bound this near to what is measured leaves nothing to gain.
const NEAR: f64 = 1.05;

/// Replicas of one GPU against several at equal load.
pub(super) fn compare_replicas(found: &Found) -> Advice {
    let Attribution {
        tp,
        batch,
        replicas,
        ..
    } = *found.attribution;
    let (all, each) = (tp * batch, (batch / tp).max(1));
    let commands = found.commands();
    let replica = commands.served_with(1, each);
    let together = commands.served_with(tp, all);
    Advice {
        rule: Rule::Replicas {
            replicas: tp,
            times: replicas,
            in_flight: all,
        },
        effect: None,
        commands: printed(replica.into_iter().chain(together)),
    }
}

/// The model fits one GPU, and one GPU each gives more at the same batch each.
pub(super) fn replicas(found: &Found) -> Vec<Advice> {
    if found.inputs.is_mig() || found.attribution.replicas.low <= 1.0 {
        return Vec::new();
    }
    vec![compare_replicas(found)]
}

/// Narrow GEMMs take more of the time above the ideal than anything else, and than collectives do by their curve.
pub(super) fn kernels(found: &Found) -> Vec<Advice> {
    let attribution = found.attribution;
    // Kernels that lose next to nothing are not to be looked at either.
    let gain = attribution.halved_gemms.high / attribution.speed_up.mid;
    if gain < NEAR {
        return Vec::new();
    }
    let Some(gemm) = attribution
        .leading()
        .filter(|bar| bar.cause == Cause::NarrowGemm)
    else {
        return Vec::new();
    };
    // Where nothing is claimed of collectives, what their curve gives them is in no bar.
    let sent = attribution.collectives_ms();
    if sent >= gemm.ms.mid {
        return Vec::new();
    }
    vec![Advice {
        rule: Rule::KernelsFirst { gemm_ms: gemm.ms },
        effect: Some(Effect::bound(attribution.halved_gemms)),
        commands: printed(found.commands().half_model(attribution.batch)),
    }]
}

/// Threads of the server on a NUMA node that none of its GPUs hangs on.
pub(super) fn threads_elsewhere(found: &Found) -> Vec<Advice> {
    let tp = found.attribution.tp;
    let seen = &found.inputs.seen;
    let machines = seen.machines.iter().filter(|(of, _)| *of == tp);
    let advice = |machine: &ServerMachine| {
        let mut nodes: Vec<u32> = match seen.used(tp) {
            [] => {
                let ranks = (tp as usize).min(machine.header.devices.len());
                let used = machine.header.devices[..ranks].iter();
                used.map(|device| device.node).collect::<Option<_>>()?
            }
            used => used
                .iter()
                .map(|device| device.node)
                .collect::<Option<_>>()?,
        };
        nodes.sort_unstable();
        nodes.dedup();
        let share = elsewhere(machine, &nodes)?;
        (share > ELSEWHERE).then(|| Advice {
            rule: Rule::ThreadsElsewhere { nodes, share },
            effect: placement_bound(found),
            commands: printed([found
                .commands()
                .ablate(found.attribution.batch, "--arms numa")]),
        })
    };
    machines
        .filter_map(|(_, machine)| advice(machine))
        .take(1)
        .collect()
}

/// What binding would bring: all of the host's part, and all that is left of communication where it goes through host
/// memory, or may.
fn placement_bound(found: &Found) -> Option<Effect> {
    let attribution = found.attribution;
    let host = attribution.bar(Cause::Host)?.ms;
    let is_direct = found.inputs.peer_state() == PeerState::Direct;
    let (one, several) = (attribution.step_of_one.mid, attribution.step_of_several.mid);
    let without = |host: f64, staged: f64| {
        let staged = if is_direct { 0.0 } else { staged.max(0.0) };
        let left = several - host.max(0.0) - staged;
        (left > 0.0).then(|| one / left)
    };
    let remainder = attribution.remainder;
    let times = Range {
        low: without(host.low, remainder.low)?,
        mid: without(host.mid, remainder.mid)?,
        high: without(host.high, remainder.high)?,
    };
    Some(Effect::bound(times))
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
pub(super) fn nothing_to_gain(found: &Found) -> Vec<Advice> {
    let attribution = found.attribution;
    let most = attribution.free_links.high / attribution.speed_up.mid;
    if most >= NEAR {
        return Vec::new();
    }
    vec![Advice {
        rule: Rule::NothingToGain,
        effect: found.bound(),
        commands: Vec::new(),
    }]
}
