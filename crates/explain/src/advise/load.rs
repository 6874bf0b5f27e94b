//! The load, the host and the kernels: what is not the link, and whether this many GPUs are worth it.

use measure::record::{MonitorLine, ServerMachine};

use super::advice::{Advice, Effect, FREE_LINKS, Rule, STEP_RATE};
use super::found::Found;
use crate::attribute::{Attribution, Cause};
use crate::inputs::{Inputs, PeerState};
use crate::range::Range;

/// Threads of a server are elsewhere if more than this part of their time is.
const ELSEWHERE: f64 = 0.5;

/// A server that used fewer CPUs than this over a load shows no placement.
const LEAST_CPUS: f64 = 0.05;

/// A bound this near to what is measured leaves nothing to gain.
const NEAR: f64 = 1.05;

/// The share of a GPU that each one beyond the first must be able to bring.
const WORTH: f64 = 0.5;

/// Replicas share the requests, so that the two measured steps, both at the same batch, do not yet compare them.
pub(super) fn compare_replicas(found: &Found, rule: Rule, why: &str, based_on: &str) -> Advice {
    let Attribution {
        tp,
        batch,
        replicas,
        ..
    } = found.attribution;
    let (all, each) = (tp * batch, (batch / tp).max(1));
    Advice {
        rule,
        what: format!("compare {tp} replicas of TP1 with TP{tp} at equal load"),
        why: format!(
            "{why}; with {batch} requests in flight each they decode {}x as many tokens/s as TP{tp} with {batch} (by the steps alone), \
             but that is {all} in all: measure TP{tp} with {all} in flight, and TP1 with {each}, before choosing",
            replicas.with_decimals(2),
        ),
        effect: None,
        based_on: format!(
            "{based_on}; arithmetic on the two steps, if replicas do not slow each other"
        ),
        prove: Some(format!(
            "{}; then, that server ended, {}",
            found.commands().served_with(*tp, all, ""),
            found.commands().served_with(1, each, "")
        )),
    }
}

/// Several GPUs are slower than one, and no file says which of both it is of.
pub(super) fn mixed_up(found: &Found) -> Vec<Advice> {
    let attribution = found.attribution;
    if attribution.speed_up.mid >= 1.0 {
        return Vec::new();
    }
    let several = (attribution.tp, attribution.step_of_several.mid);
    files_mixed_up(found.inputs, (1, attribution.step_of_one.mid), several)
        .into_iter()
        .collect()
}

/// More GPUs are slower than fewer, each with its step in ms; `None` where a file says which of both it is of.
pub(crate) fn files_mixed_up(
    inputs: &Inputs,
    (fewer, step_of_fewer): (u32, f64),
    (more, step_of_more): (u32, f64),
) -> Option<Advice> {
    let mut runs = inputs.runs(fewer).chain(inputs.runs(more));
    if runs.any(|run| run.tp.is_some()) {
        return None;
    }
    let files = |tp: u32| {
        let names = inputs.runs(tp).map(|run| run.origin.as_str());
        names.collect::<Vec<_>>().join(" and ")
    };
    let (of_fewer, of_more) = (files(fewer), files(more));
    let on_fewer = match fewer {
        1 => "one".to_owned(),
        several => several.to_string(),
    };
    Some(Advice {
        rule: Rule::FilesMixedUp,
        what: format!(
            "check that the files are not mixed up: {of_fewer} was given as TP{fewer} and {of_more} as TP{more}"
        ),
        why: format!(
            "a step takes {step_of_more:.1} ms on {more} GPUs and {step_of_fewer:.1} ms on {on_fewer}, and no file states its tensor parallel size"
        ),
        effect: None,
        based_on: "both runs, which say nothing of their size".to_owned(),
        prove: Some(format!(
            "the command lines or logs of both servers; were they mixed up, serve-bench explain with {of_more} as --tp{fewer} and {of_fewer} as --tp{more}"
        )),
    })
}

/// The model fits one GPU, and one GPU each gives more at the same batch each.
pub(super) fn replicas(found: &Found) -> Vec<Advice> {
    if found.inputs.is_mig() || found.attribution.replicas.low <= 1.0 {
        return Vec::new();
    }
    vec![compare_replicas(
        found,
        Rule::Replicas,
        "the model fits one GPU, and replicas exchange nothing",
        "both runs",
    )]
}

/// Narrow GEMMs take more of the time above the ideal than anything else, and than collectives do by their curve.
pub(super) fn kernels(found: &Found) -> Vec<Advice> {
    let attribution = found.attribution;
    let share = attribution.remainder_share_of_excess;
    // Kernels that lose next to nothing are not to be looked at either.
    let gain = attribution.halved_gemms.high / attribution.speed_up.mid;
    if gain < NEAR {
        return Vec::new();
    }
    let leads = attribution.leading().map(|of| of.bar);
    let Some(gemm) = leads.filter(|bar| bar.cause == Cause::NarrowGemm) else {
        return Vec::new();
    };
    // Where nothing is claimed of collectives, what their curve gives them is in no bar.
    let sent = attribution.collectives_ms();
    if sent >= gemm.ms.mid {
        return Vec::new();
    }
    vec![Advice {
        rule: Rule::KernelsFirst,
        what: "look at kernels before links: another engine version, another quantisation"
            .to_owned(),
        why: format!(
            "narrow GEMMs take {} ms of the time above the ideal, more than any other cause; communication and all that is unexplained take {:.0}% \
             [{:.0}, {:.0}] of it",
            gemm.ms.with_decimals(1),
            share.mid * 100.0,
            share.low * 100.0,
            share.high * 100.0
        ),
        effect: Some(Effect::bound(
            STEP_RATE,
            attribution.halved_gemms,
            "if narrow GEMMs took no more than their share",
        )),
        based_on: gemm.source.clone(),
        prove: match found.commands().half_model(attribution.batch) {
            Ok(command) => Some(format!("{command}; with both versions of the engine")),
            Err(_) => Some(format!(
                "{}; with both versions of the engine",
                found.served_with("")
            )),
        },
    }]
}

/// Even free links would not make this many GPUs worth it.
pub(super) fn bound_too_low(found: &Found) -> Vec<Advice> {
    let Attribution {
        tp,
        batch,
        free_links,
        ..
    } = *found.attribution;
    let worth = 1.0 + WORTH * f64::from(tp.saturating_sub(1));
    if free_links.high >= worth {
        return Vec::new();
    }
    vec![Advice {
        rule: Rule::BoundTooLow,
        what: format!("use fewer GPUs a replica, or more than {batch} requests in flight"),
        why: format!(
            "with {batch} in flight TP{tp} would give {}x the step rate of one GPU even {FREE_LINKS}: too little work is left for each GPU",
            free_links.with_decimals(2)
        ),
        effect: None,
        based_on: "the step less all that is not communication, of this attribution".to_owned(),
        prove: Some(format!(
            "{}; and {}; then explain again",
            found.commands().served_with(1, batch.saturating_mul(4), ""),
            found
                .commands()
                .served_with(tp, batch.saturating_mul(4), "")
        )),
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
        let near: Vec<String> = nodes.iter().map(u32::to_string).collect();
        let near = near.join(",");
        (share > ELSEWHERE).then(|| Advice {
            rule: Rule::ThreadsElsewhere,
            what: format!("bind the server to NUMA node {near}, where its GPUs hang: numactl --cpunodebind={near} --membind={near}"),
            why: format!(
                "{:.0}% of its CPU time was on nodes that none of its GPUs hangs on; what goes through host memory and every launch cross the sockets",
                share * 100.0
            ),
            effect: placement_bound(found),
            based_on: "CPU time by node of the server's processes during the load; the gain is of the host's part of this attribution, and what goes through host memory".to_owned(),
            prove: Some(found.commands().ablate(found.attribution.batch, " --arms numa")),
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
    let condition = match is_direct {
        true => "if all of the host's time went away",
        false => "if all of the host's time and of what goes through host memory went away",
    };
    Some(Effect::bound(STEP_RATE, times, condition))
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
    let measured = attribution.speed_up.with_decimals(2);
    vec![Advice {
        rule: Rule::NothingToGain,
        what: "leave the links as they are".to_owned(),
        why: match found.is_claimed() {
            true => format!(
                "free links would give {}x where {measured}x is measured",
                attribution.free_links.with_decimals(2)
            ),
            false => format!(
                "communication is not told from nothing, and free links would give {:.2}x at most (the upper end of a 90% interval) where {measured}x is measured",
                attribution.free_links.high
            ),
        },
        effect: found.bound(),
        based_on: "this attribution".to_owned(),
        prove: Some("serve-bench explain on the same files with --what-if comm=x0".to_owned()),
    }]
}
