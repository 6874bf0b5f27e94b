//! What the engine does otherwise than it could: its own all-reduce off, no graphs, padded batches.

use tp_plan::{CustomAllReduce, EngineFacts, Execution, OffCause, Vendor};

use super::advice::{Advice, Effect, Rule};
use super::found::Found;
use crate::attribute::Attribution;
use crate::commands::printed;
use crate::inputs::PeerState;
use crate::range::Range;

/// Whether peer access can be had, for all that is known.
fn may_have_peers(found: &Found) -> bool {
    let state = found.inputs.peer_state();
    !matches!(state, PeerState::Denied | PeerState::Staged) && !found.inputs.is_mig()
}

fn off<'a>(found: &'a Found) -> Option<&'a EngineFacts> {
    let engine = found.inputs.engine(found.attribution.tp)?;
    (engine.custom_all_reduce != CustomAllReduce::Active).then_some(engine)
}

/// Off for more than two GPUs on PCIe.
pub(super) fn gated(found: &Found) -> Vec<Advice> {
    let tp = found.attribution.tp;
    let on_pcie = !found.inputs.around.full_nvlink;
    let gated = |engine: &EngineFacts| tp > 2 && on_pcie && engine.vendor == Vendor::Nvidia;
    if !off(found).is_some_and(gated) || !may_have_peers(found) {
        return Vec::new();
    }
    let batch = (found.attribution.batch * 2 / tp).max(1);
    vec![Advice {
        rule: Rule::CustomAllReduceGated { replicas: tp / 2 },
        effect: None,
        commands: printed(found.commands().served_with(2, batch)),
    }]
}

/// Off because somebody said so.
pub(super) fn by_flag(found: &Found) -> Vec<Advice> {
    let tp = found.attribution.tp;
    let is_by_flag = |engine: &&EngineFacts| engine.custom_all_reduce.is_off_by(OffCause::Flag);
    // Who switched it off for a demonstration knows that, and why.
    let can = (tp == 2 || found.inputs.around.full_nvlink) && !found.inputs.seen.off_by_us;
    if off(found).filter(is_by_flag).is_none()
        || !can
        || !may_have_peers(found)
        || !found.is_claimed()
    {
        return Vec::new();
    }
    vec![Advice {
        rule: Rule::CustomAllReduceByFlag,
        effect: found.bound(),
        commands: printed(found.commands().served_with(tp, found.attribution.batch)),
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
    let (largest_graph, commands) = match &engine.execution {
        Execution::Eager => (None, found.commands().served_with_graphs(*tp, *batch)),
        Execution::Graph { capture_sizes } => (
            Some(capture_sizes.last().copied().unwrap_or(0)),
            found.commands().served_with(*tp, *batch),
        ),
    };
    vec![Advice {
        rule: Rule::Eager { largest_graph },
        effect: host_bound(found.attribution),
        commands: printed(commands),
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
    Some(Effect::bound(Range {
        low: without(prior.at(0.05))?,
        mid: without(prior.at(0.5))?,
        high: without(prior.at(0.95))?,
    }))
}
