//! The links of a GPU: lanes and rate, slot, errors; and its NVLinks with the fabric of NVSwitches that joins them.

use topology::vendor::NVIDIA;
use topology::{AerCounters, FabricState, NvLinks, PciFunction};

use super::{Silent, Told};
use crate::{Facts, Finding, Gpu, Verdict};

/// Lanes stay when a link idles, rates do not: a low rate without load is no finding.
pub(super) fn link(_: &Facts, gpu: &Gpu) -> Told {
    let link = gpu.link.told()?;
    let current = link.current;
    let verdict = match link.maximum {
        Some(best) if current.width() < best.width() => Verdict::Bad,
        Some(best) if current.generation() >= best.generation() => Verdict::Ok,
        _ => Verdict::Unknown,
    };
    Ok(Finding::of(verdict)
        .with("link", current.to_string())
        .with_some(
            "both ends can do",
            link.maximum.map(|best| best.to_string()),
        )
        .with_some("under load", (verdict == Verdict::Unknown).then_some(false))
        .with("at", link.ends.lower.to_string()))
}

pub(super) fn slot(_: &Facts, gpu: &Gpu) -> Told {
    let [port, card] = gpu.slot.told()?;
    let Some((of_slot, of_card)) = port.maximum.zip(card.maximum) else {
        let finding = Finding::unknown("the best of one end of the link is not shown");
        return Ok(finding.with("at", card.pci.address.to_string()));
    };
    Ok(Finding::warn_if(of_slot.cmp_rate(of_card).is_lt())
        .with("slot", of_slot.to_string())
        .with("card", of_card.to_string())
        .with("at", port.pci.address.to_string()))
}

/// Of the GPU and all ports above it: a port may count what the device below it caused.
pub(super) fn errors(_: &Facts, gpu: &Gpu) -> Told {
    let counters: Vec<AerCounters> = gpu.ports.iter().filter_map(|port| port.aer).collect();
    let sum =
        |count: fn(&AerCounters) -> Option<u64>| -> u64 { counters.iter().filter_map(count).sum() };
    let corrected = sum(|counters| counters.correctable);
    let nonfatal = sum(|counters| counters.nonfatal);
    let fatal = sum(|counters| counters.fatal);
    let unread = gpu.ports.iter().find(|port| port.aer.is_none());
    // A few that are not fatal come of devices that are looked for at the start.
    let verdict = match (fatal, corrected + nonfatal, unread) {
        (1.., ..) => Verdict::Bad,
        (0, 1.., _) => Verdict::Warn,
        (_, _, Some(port)) => {
            let finding = Finding::unknown("no error counters are shown");
            return Ok(finding.with("at", port.pci.address.to_string()));
        }
        _ if gpu.ports.is_empty() => return Err("the kernel does not show this GPU".into()),
        _ => Verdict::Ok,
    };
    let has_some = |port: &&PciFunction| port.aer.is_some_and(|counters| counters.sum() > 0);
    let at = gpu.ports.iter().filter(has_some);
    let at: Vec<String> = at.map(|port| port.pci.address.to_string()).collect();
    Ok(Finding::of(verdict)
        .with("corrected", corrected)
        .with("not fatal", nonfatal)
        .with("fatal", fatal)
        .with("at", at))
}

/// The NVLinks of a GPU that has some; of one that has some by its name and of which nothing is known, why.
fn nvlinks(gpu: &Gpu) -> Result<&NvLinks, Silent> {
    let may_have_some = gpu.vendor() == Some(NVIDIA) && gpu.may_have_nvlink().is_none();
    match gpu.device.nvlinks.told() {
        Ok(links) if !links.links.is_empty() && gpu.device.mig != Some(true) => Ok(links),
        Err(why) if may_have_some && gpu.device.mig != Some(true) => Err(why.into()),
        _ => Err(Silent::Elsewhere),
    }
}

/// None that is up is a card without a bridge: no finding of one.
pub(super) fn nvlink_inactive(_: &Facts, gpu: &Gpu) -> Told {
    let links = nvlinks(gpu)?;
    let (active, all) = (links.active(), links.links.len());
    let verdict = match active {
        0 => return Err(Silent::Elsewhere),
        some if some < all => Verdict::Bad,
        _ => Verdict::Ok,
    };
    let down = links.links.iter().enumerate();
    let down = down.filter(|(_, link)| !link.is_active);
    let down: Vec<String> = down.map(|(number, _)| number.to_string()).collect();
    Ok(Finding::of(verdict)
        .with("active", active)
        .with("links", all)
        .with("down", down))
}

pub(super) fn nvlink_errors(_: &Facts, gpu: &Gpu) -> Told {
    let Some(errors) = nvlinks(gpu)?.errors() else {
        return Ok(Finding::unknown("the driver counts no errors of NVLinks"));
    };
    Ok(Finding::warn_if(errors > 0).with("errors", errors))
}

pub(super) fn fabric(_: &Facts, gpu: &Gpu) -> Told {
    let (verdict, state) = match nvlinks(gpu)?.fabric {
        None => return Err(Silent::Elsewhere),
        Some(FabricState::NotStarted) => (Verdict::Bad, "not started"),
        Some(FabricState::Failed) => (Verdict::Bad, "failed"),
        Some(FabricState::InProgress) => (Verdict::Warn, "in progress"),
        Some(FabricState::Completed) => (Verdict::Ok, "completed"),
    };
    Ok(Finding::of(verdict).with("fabric", state))
}
