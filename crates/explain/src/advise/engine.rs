//! What the engine does otherwise than it could: its own all-reduce off, no graphs, padded batches.

use tp_plan::{CustomAllReduce, Engine, EngineFacts, Execution, Vendor};

use super::advice::{Advice, Effect, Rule, STEP_RATE};
use super::found::Found;
use crate::attribute::Attribution;
use crate::inputs::PeerState;
use crate::range::Range;
use crate::what_if::{By, is_by_flag};

/// Messages that grow by less than this through padding are not worth a word.
const GROWN: f64 = 1.1;

/// Numbers of GPUs that vLLM's all-reduce over PCIe for small messages is for.
const PCIE_IPC: [u32; 3] = [2, 4, 8];

/// Whether peer access can be had, for all that is known.
fn may_have_peers(found: &Found) -> bool {
    let state = found.inputs.peer_state();
    !matches!(state, PeerState::Denied | PeerState::Staged) && !found.inputs.is_mig()
}

fn off<'a>(found: &'a Found) -> Option<(&'a EngineFacts, &'a str)> {
    let engine = found.inputs.engine(found.attribution.tp)?;
    match &engine.custom_all_reduce {
        CustomAllReduce::Off { reason } => Some((engine, reason)),
        CustomAllReduce::Active => None,
    }
}

/// Why the engine's own rules leave it off here, whatever a flag says; `None` where they do not.
fn off_by_rule(found: &Found) -> Option<String> {
    let (engine, reason) = off(found)?;
    if !is_by_flag(reason) {
        return Some(reason.to_owned());
    }
    let around = &found.inputs.around;
    let unflagged = match engine.engine {
        Engine::Vllm => EngineFacts::vllm(engine.tp, around),
        Engine::Sglang => EngineFacts::sglang(engine.tp, around),
    };
    match unflagged.custom_all_reduce {
        CustomAllReduce::Off { reason } => Some(reason),
        CustomAllReduce::Active => None,
    }
}

/// Off for more than two GPUs on PCIe.
pub(super) fn gated(found: &Found) -> Vec<Advice> {
    let tp = found.attribution.tp;
    let on_pcie = !found.inputs.around.full_nvlink;
    let gated = |engine: &EngineFacts| tp > 2 && on_pcie && engine.vendor == Vendor::Nvidia;
    let engine = off(found)
        .map(|(engine, _)| engine)
        .filter(|engine| gated(engine));
    let (Some(engine), Some(reason)) = (engine, off_by_rule(found)) else {
        return Vec::new();
    };
    if !may_have_peers(found) {
        return Vec::new();
    }
    let name = engine.engine.name();
    let mut advice = vec![Advice {
        rule: Rule::CustomAllReduceGated,
        what: format!(
            "serve {} replicas of TP2 where the model fits two GPUs",
            tp / 2
        ),
        why: match found.inputs.seen.off_by_us {
            // What was run at every size did without it.
            true => format!(
                "{name}'s own all-reduce is for two GPUs on PCIe and not for {tp}; these runs are without it at any size, so that they do not show what it brings"
            ),
            false => {
                format!("{name}'s own all-reduce is off ({reason}), and two GPUs on PCIe have it")
            }
        },
        effect: None,
        based_on: "the engine's rule, vLLM custom_all_reduce.py".to_owned(),
        prove: Some(format!(
            "{}; beside {}",
            found
                .commands()
                .served_with(2, (found.attribution.batch * 2 / tp).max(1), ""),
            found.served_with("")
        )),
    }];
    if engine.engine == Engine::Vllm && PCIE_IPC.contains(&tp) && found.is_claimed() {
        advice.push(Advice {
            rule: Rule::CustomAllReduceGated,
            what: "try VLLM_ALLREDUCE_USE_FLASHINFER_PCIE_IPC=1, from vLLM 0.32 on".to_owned(),
            why: found.in_reality(&format!("it is an all-reduce for small messages between {tp} GPUs on PCIe, in bf16 and f16, and off by default")),
            effect: found.bound(),
            based_on: "vLLM 0.32 as read, not run; the gain is this attribution's".to_owned(),
            prove: found.prove_in_reality(format!(
                "{}; with the variable and without it, five starts each",
                found.served_with("")
            )),
        });
    }
    advice
}

/// Off because somebody said so.
pub(super) fn by_flag(found: &Found) -> Vec<Advice> {
    let tp = found.attribution.tp;
    let Some((engine, reason)) = off(found).filter(|(_, reason)| is_by_flag(reason)) else {
        return Vec::new();
    };
    // Who switched it off for a demonstration knows that, and why.
    let can = (tp == 2 || found.inputs.around.full_nvlink) && !found.inputs.seen.off_by_us;
    if !can || !may_have_peers(found) || !found.is_claimed() {
        return Vec::new();
    }
    let mut with = engine.clone();
    with.custom_all_reduce = CustomAllReduce::Active;
    vec![Advice {
        rule: Rule::CustomAllReduceByFlag,
        what: "leave --disable-custom-all-reduce away".to_owned(),
        why: format!(
            "{}'s own all-reduce is off ({reason}), and nothing known of this box stands against it",
            engine.engine.name()
        ),
        effect: found.by(By::Engine(Box::new(with))).or_else(|| found.bound()),
        based_on: "the engine's rules, vLLM custom_all_reduce.py; the effect is by the library's curve and custom_over_library".to_owned(),
        prove: Some(format!(
            "{}; and again without --disable-custom-all-reduce, five starts each",
            found.served_with("")
        )),
    }]
}

/// Steps without graphs: what the host takes is hidden by nothing.
pub(super) fn eager(found: &Found) -> Vec<Advice> {
    let Attribution { tp, batch, .. } = found.attribution;
    let Some(engine) = found.inputs.engine(*tp) else {
        return Vec::new();
    };
    if engine.vendor == Vendor::Host || !found.inputs.is_eager(*batch) {
        return Vec::new();
    }
    let (what, why) = match &engine.execution {
        Execution::Eager => (
            "start the servers with graphs, without --enforce-eager or --disable-cuda-graph",
            "without graphs the host launches every kernel of a step, and the GPUs may wait for it"
                .to_owned(),
        ),
        Execution::Graph { capture_sizes } => (
            "capture graphs up to this batch",
            format!(
                "{batch} sequences are more than the largest captured graph holds ({}), so that these steps run without one",
                capture_sizes.last().copied().unwrap_or(0)
            ),
        ),
    };
    vec![Advice {
        rule: Rule::Eager,
        what: what.to_owned(),
        why,
        effect: host_bound(found.attribution),
        based_on: "the range host_eager_ms, which is assumed".to_owned(),
        prove: Some(format!(
            "{}, and one GPU likewise; then explain again",
            match &engine.execution {
                Execution::Eager => found.commands().served_with_graphs(*tp, *batch),
                Execution::Graph { .. } =>
                    found.served_with("") + ", with graphs captured up to this batch",
            }
        )),
    }]
}

/// What the step would gain if the host's time went away altogether, by the range that stands for it.
fn host_bound(attribution: &Attribution) -> Option<Effect> {
    let prior = attribution
        .priors
        .iter()
        .find(|prior| prior.name == "host_eager_ms")?;
    let (one, several) = (attribution.step_of_one.mid, attribution.step_of_several.mid);
    let without = |ms: f64| (several > ms).then(|| one / (several - ms));
    Some(Effect::bound(
        STEP_RATE,
        Range {
            low: without(prior.at(0.05))?,
            mid: without(prior.at(0.5))?,
            high: without(prior.at(0.95))?,
        },
        "if all of the host's time went away",
    ))
}

/// A batch between two captured sizes, whose messages are those of the larger one.
pub(super) fn padded(found: &Found) -> Vec<Advice> {
    let Attribution {
        tp,
        batch,
        padded_batch,
        ..
    } = *found.attribution;
    let Some(engine) = found.inputs.engine(tp).filter(|_| found.is_claimed()) else {
        return Vec::new();
    };
    let grown = f64::from(padded_batch) / f64::from(batch.max(1));
    let Execution::Graph { capture_sizes } = &engine.execution else {
        return Vec::new();
    };
    if grown < GROWN {
        return Vec::new();
    }
    let mut sizes = capture_sizes.clone();
    sizes.push(batch);
    sizes.sort_unstable();
    sizes.dedup();
    let mut with = engine.clone();
    with.execution = Execution::Graph {
        capture_sizes: sizes,
    };
    let flag = match engine.engine {
        Engine::Vllm => "cudagraph_capture_sizes of --compilation-config",
        Engine::Sglang => "--cuda-graph-bs",
    };
    vec![Advice {
        rule: Rule::Padded,
        what: format!(
            "add {batch} to the captured sizes ({flag}), or run {padded_batch} in flight"
        ),
        why: format!(
            "{batch} sequences run in the graph of {padded_batch}, and every all-reduce carries {grown:.2} times the bytes"
        ),
        effect: found.by(By::Engine(Box::new(with))),
        based_on: "the engine's captured sizes; the effect is of messages alone, by the same curve"
            .to_owned(),
        prove: Some(format!(
            "{}, then the server with that size captured",
            found
                .commands()
                .collectives(&format!("{batch},{padded_batch}"))
        )),
    }]
}
