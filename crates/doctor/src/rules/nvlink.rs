//! NVLinks: those that are down, their errors, and the fabric of NVSwitches that joins them.

use topology::vendor::NVIDIA;
use topology::{FabricState, NvLinks};

use super::of_fact;
use super::transport::may_have_nvlink;
use crate::{Facts, Finding, Verdict};

/// A finding of each GPU with NVLinks, and of each that has some by its name and of which nothing is known.
fn of_linked(facts: &Facts, judge: fn(&NvLinks) -> Option<Finding>) -> Vec<Finding> {
    let gpus = facts.gpus.iter().filter(|gpu| gpu.mig != Some(true));
    let judged = gpus.filter_map(|gpu| {
        let finding = match gpu.nvlinks.known() {
            Some(links) if links.links.is_empty() => None,
            Some(links) => judge(links),
            None => (gpu.vendor == Some(NVIDIA) && may_have_nvlink(gpu).is_none())
                .then(|| of_fact(&gpu.nvlinks, |_| Finding::ok())),
        };
        finding.map(|finding| finding.about(&gpu.label))
    });
    judged.collect()
}

/// None that is up is a card without a bridge: no finding of one.
pub(super) fn inactive(facts: &Facts) -> Vec<Finding> {
    of_linked(facts, |links| {
        let (active, all) = (links.active(), links.links.len());
        let down = links.links.iter().enumerate();
        let down = down.filter(|(_, link)| !link.is_active);
        let down: Vec<String> = down.map(|(number, _)| number.to_string()).collect();
        (active > 0).then(|| {
            let verdict = if active < all {
                Verdict::Bad
            } else {
                Verdict::Ok
            };
            Finding::of(verdict)
                .with("active", active as u64)
                .with("links", all as u64)
                .with("down", down)
        })
    })
}

pub(super) fn errors(facts: &Facts) -> Vec<Finding> {
    of_linked(facts, |links| {
        let errors = links.errors();
        Some(Finding::warn_if(errors > 0).with("errors", errors))
    })
}

pub(super) fn fabric(facts: &Facts) -> Vec<Finding> {
    of_linked(facts, |links| {
        let (verdict, state) = match links.fabric? {
            FabricState::NotStarted => (Verdict::Bad, "not started"),
            FabricState::Failed => (Verdict::Bad, "failed"),
            FabricState::InProgress => (Verdict::Warn, "in progress"),
            FabricState::Completed => (Verdict::Ok, "completed"),
        };
        Some(Finding::of(verdict).with("fabric", state))
    })
}
