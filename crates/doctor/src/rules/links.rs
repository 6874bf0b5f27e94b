//! The links above a GPU: lanes and rate, slot, errors, power saving.

use topology::{Aspm, Fact, PciFunction};

use super::{MACHINE, root_sees_more};
use crate::{Facts, Finding, Gpu};

/// How a link is read while it is used.
const UNDER_LOAD: &str =
    "run `p2p-bw monitor` beside a measurement or the engine: it reads the link under load";

pub(super) fn link(facts: &Facts) -> Vec<Finding> {
    facts.gpus.iter().map(link_of).collect()
}

/// Lanes stay when a link idles, rates do not: a low rate without load is no finding.
fn link_of(gpu: &Gpu) -> Finding {
    let link = match &gpu.link {
        Fact::Known(link) => link,
        Fact::Unknown(why) => return Finding::cannot_tell(&gpu.label, why),
    };
    let (at, current) = (link.ends.lower, link.current);
    let Some(best) = link.maximum else {
        let seen = format!("the link at {at} is {current}, and neither end says its best");
        return Finding::cannot_tell(&gpu.label, seen).with_todo(UNDER_LOAD);
    };
    let seen = format!("the link at {at} is {current}, and both its ends can do {best}");
    if current.width() < best.width() {
        let todo = format!(
            "see in the board's manual whether slots share lanes, look at the firmware's bifurcation, seat card and riser again; \
             to be sure, {UNDER_LOAD}"
        );
        return Finding::bad(&gpu.label, seen, todo);
    }
    if current.generation() < best.generation() {
        let seen = format!("{seen}; it was read without load, and idle links train down");
        return Finding::cannot_tell(&gpu.label, seen).with_todo(UNDER_LOAD);
    }
    Finding::ok(
        &gpu.label,
        format!("the link at {at} is {current}, the best of its ends"),
    )
}

pub(super) fn slot(facts: &Facts) -> Vec<Finding> {
    let advice = root_sees_more(facts).then_some("lspci -vv as root: LnkCap of both");
    let gpus = facts.gpus.iter();
    gpus.map(|gpu| slot_of(gpu, advice)).collect()
}

fn slot_of(gpu: &Gpu, advice: Option<&str>) -> Finding {
    let [port, card] = match &gpu.slot {
        Fact::Known(ends) => ends,
        Fact::Unknown(why) => return Finding::cannot_tell(&gpu.label, why),
    };
    let (Some(of_slot), Some(of_card)) = (port.maximum, card.maximum) else {
        return Finding::cannot_tell(
            &gpu.label,
            format!(
                "the best of {} or {} is not shown",
                port.address, card.address
            ),
        )
        .with_advice(advice);
    };
    let seen = format!(
        "the slot at {} can do {of_slot}, the card at {} {of_card}",
        port.address, card.address
    );
    if of_slot.cmp_rate(of_card).is_lt() {
        return Finding::warn(
            &gpu.label,
            seen,
            "put the card into a slot that can do more; where there is none, expect what the slot gives",
        );
    }
    Finding::ok(&gpu.label, seen)
}

pub(super) fn errors(facts: &Facts) -> Vec<Finding> {
    facts.gpus.iter().map(errors_of).collect()
}

/// The GPU and all ports above it: a port may count what the device below it caused.
fn errors_of(gpu: &Gpu) -> Finding {
    let counters: Vec<_> = gpu.ports.iter().filter_map(|port| port.aer).collect();
    let sum = |count: fn(&topology::AerCounters) -> Option<u64>| -> u64 {
        counters.iter().filter_map(count).sum()
    };
    let mended = sum(|counters| counters.correctable);
    let lost = sum(|counters| counters.nonfatal);
    let fatal = sum(|counters| counters.fatal);
    let has_some = |port: &&PciFunction| port.aer.is_some_and(|counters| counters.sum() > 0);
    let at = gpu.ports.iter().filter(has_some);
    let at: Vec<String> = at.map(|port| port.pci.address.to_string()).collect();
    let mut seen = format!(
        "{mended} mended, {lost} not mended, {fatal} fatal errors since the machine or the device started, its start included"
    );
    if !at.is_empty() {
        seen = format!("{seen}, at {}", at.join(", "));
    }
    let todo =
        "count again under load; where they grow, seat card and riser again, or try another slot";
    if fatal > 0 {
        return Finding::bad(&gpu.label, seen, todo);
    }
    // A few that were not mended come of devices that are looked for at the start.
    if mended + lost > 0 {
        return Finding::warn(&gpu.label, seen, todo);
    }
    match gpu.ports.iter().find(|port| port.aer.is_none()) {
        None if gpu.ports.is_empty() => {
            Finding::cannot_tell(&gpu.label, "the kernel does not show this GPU")
        }
        None => Finding::ok(&gpu.label, seen),
        Some(port) => Finding::cannot_tell(
            &gpu.label,
            format!("the kernel shows no error counters of {}", port.pci.address),
        )
        .with_todo(
            "use a kernel with CONFIG_PCIEAER whose firmware leaves errors to it, and no pci=noaer",
        ),
    }
}

pub(super) fn aspm(facts: &Facts) -> Vec<Finding> {
    let policy = &facts.host.aspm_policy;
    let is_off = facts
        .host
        .command_line
        .value
        .known()
        .is_some_and(|line| line.split_whitespace().any(|word| word == "pcie_aspm=off"));
    let mut findings = Vec::new();
    match policy.told() {
        _ if is_off => findings.push(Finding::ok(MACHINE, "/proc/cmdline: pcie_aspm=off")),
        Ok(word) if word == "performance" => {
            findings.push(Finding::ok(MACHINE, format!("{}: {word}", policy.source)));
        }
        Ok(word) if word.starts_with("powersave") || word == "powersupersave" => {
            findings.push(Finding::warn(
                MACHINE,
                format!("{}: {word}", policy.source),
                format!("echo performance > {} as root", policy.source),
            ));
        }
        // `default` leaves the links as the firmware set them, which is read below.
        Ok(_) if !facts.gpus.is_empty() => {}
        Ok(word) => findings.push(Finding::cannot_tell(
            MACHINE,
            format!(
                "{}: {word}, and there is no GPU whose links could be read",
                policy.source
            ),
        )),
        Err(why) => findings.push(Finding::cannot_tell(MACHINE, why)),
    }
    if findings.is_empty() {
        let advice = root_sees_more(facts).then_some("lspci -vv as root: LnkCtl");
        findings.extend(facts.gpus.iter().map(|gpu| aspm_of(gpu, advice)));
    }
    findings
}

fn aspm_of(gpu: &Gpu, advice: Option<&str>) -> Finding {
    let saving: Vec<String> = gpu
        .ports
        .iter()
        .filter_map(|port| match port.aspm.known() {
            None | Some(Aspm::Off) => None,
            Some(states) => Some(format!("{} ({states})", port.pci.address)),
        })
        .collect();
    if !saving.is_empty() {
        return Finding::warn(
            &gpu.label,
            format!("power saving is on at {}", saving.join(", ")),
            "switch ASPM off in the firmware, or echo performance > /sys/module/pcie_aspm/parameters/policy as root",
        );
    }
    if gpu.ports.is_empty() {
        return Finding::cannot_tell(&gpu.label, "the kernel does not show this GPU");
    }
    match unread_link(&gpu.ports) {
        None => Finding::ok(
            &gpu.label,
            format!(
                "no power saving is on at the links above it, {} functions on the way",
                gpu.ports.len()
            ),
        ),
        Some((port, why)) => Finding::cannot_tell(
            &gpu.label,
            format!(
                "the firmware decides, and of the link at {} neither end tells: {why}",
                port.pci.address
            ),
        )
        .with_advice(advice),
    }
}

/// The lower end of the first link of which neither end tells what is on, with its reason.
///
/// A chain goes from a root port by the two ports of each switch to the card, so that every two functions are the ends of one link, which
/// share what is on; the kernel's files stand at the lower one. Of a chain that is not whole each function has to tell.
fn unread_link(ports: &[PciFunction]) -> Option<(&PciFunction, &str)> {
    let ends = if ports.len().is_multiple_of(2) { 2 } else { 1 };
    ports.chunks(ends).find_map(|link| {
        let silent = |port: &PciFunction| port.aspm.known().is_none();
        let lower = link.last().filter(|_| link.iter().all(silent))?;
        match &lower.aspm {
            Fact::Unknown(why) => Some((lower, why.as_str())),
            Fact::Known(_) => None,
        }
    })
}
