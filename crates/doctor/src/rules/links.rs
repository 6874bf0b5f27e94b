//! The links above a GPU, lanes and rate, slot, errors, and the repairs of its memory.

use topology::{Fact, PciFunction};

use super::{of_fact, of_gpus};
use crate::{Facts, Finding, Verdict};

/// Lanes stay when a link idles, rates do not: a low rate without load is no finding.
pub(super) fn link(facts: &Facts) -> Vec<Finding> {
    of_gpus(facts, |gpu| {
        of_fact(&gpu.link, |link| {
            let (at, current) = (link.ends.lower.to_string(), link.current);
            let verdict = match link.maximum {
                Some(best) if current.width() < best.width() => Verdict::Bad,
                Some(best) if current.generation() >= best.generation() => Verdict::Ok,
                _ => Verdict::Unknown,
            };
            let finding = Finding::of(verdict).with("link", current.to_string());
            let finding = match link.maximum {
                Some(best) => finding.with("both ends can do", best.to_string()),
                None => finding,
            };
            let idle = match verdict {
                Verdict::Unknown => finding.with("under load", false),
                _ => finding,
            };
            idle.with("at", at)
        })
    })
}

pub(super) fn slot(facts: &Facts) -> Vec<Finding> {
    of_gpus(facts, |gpu| {
        of_fact(&gpu.slot, |[port, card]| {
            match (port.maximum, card.maximum) {
                (Some(of_slot), Some(of_card)) => {
                    Finding::warn_if(of_slot.cmp_rate(of_card).is_lt())
                        .with("slot", of_slot.to_string())
                        .with("card", of_card.to_string())
                        .with("at", port.pci.address.to_string())
                }
                _ => Finding::unknown("the best of one end of the link is not shown")
                    .with("at", card.pci.address.to_string()),
            }
        })
    })
}

/// Of the GPU and all ports above it: a port may count what the device below it caused.
pub(super) fn errors(facts: &Facts) -> Vec<Finding> {
    of_gpus(facts, |gpu| {
        let counters: Vec<_> = gpu.ports.iter().filter_map(|port| port.aer).collect();
        let sum = |count: fn(&topology::AerCounters) -> Option<u64>| -> u64 {
            counters.iter().filter_map(count).sum()
        };
        let corrected = sum(|counters| counters.correctable);
        let nonfatal = sum(|counters| counters.nonfatal);
        let fatal = sum(|counters| counters.fatal);
        let unread = gpu.ports.iter().find(|port| port.aer.is_none());
        // A few that are not fatal come of devices that are looked for at the start.
        let verdict = match (fatal, corrected + nonfatal) {
            (1.., _) => Verdict::Bad,
            (0, 1..) => Verdict::Warn,
            _ if gpu.ports.is_empty() => return not_shown(),
            _ => match unread {
                None => Verdict::Ok,
                Some(port) => {
                    let at = port.pci.address.to_string();
                    return Finding::unknown("no error counters are shown").with("at", at);
                }
            },
        };
        let has_some = |port: &&PciFunction| port.aer.is_some_and(|counters| counters.sum() > 0);
        let at = gpu.ports.iter().filter(has_some);
        let at: Vec<String> = at.map(|port| port.pci.address.to_string()).collect();
        Finding::of(verdict)
            .with("corrected", corrected)
            .with("not fatal", nonfatal)
            .with("fatal", fatal)
            .with("at", at)
    })
}

fn not_shown() -> Finding {
    Finding::unknown("the kernel does not show this GPU")
}

pub(super) fn repairs(facts: &Facts) -> Vec<Finding> {
    of_gpus(facts, |gpu| of_fact(&gpu.repairs, repairs_of))
}

fn repairs_of(repairs: &topology::Repairs) -> Finding {
    let (rows, pages) = match (&repairs.rows, &repairs.pages) {
        (Fact::Unknown(rows), Fact::Unknown(pages)) => {
            let finding = Finding::unknown(rows);
            return match rows == pages {
                true => finding,
                false => finding.with("detail", pages.as_str()),
            };
        }
        (rows, pages) => (rows.known(), pages.known()),
    };
    let failed = rows.is_some_and(|rows| rows.failed)
        || pages.is_some_and(|pages| pages.failed.is_some_and(|failed| failed > 0));
    let waits = rows.is_some_and(|rows| rows.pending) || pages.is_some_and(|pages| pages.pending);
    let is_repaired = rows.is_some_and(|rows| rows.uncorrected > 0)
        || pages.is_some_and(|pages| pages.retired > 0);
    let mut finding = match failed {
        true => Finding::of(Verdict::Bad),
        false => Finding::warn_if(waits || is_repaired),
    };
    if let Some(rows) = rows {
        finding = finding
            .with("rows remapped, uncorrectable", rows.uncorrected)
            .with("rows remapped, correctable", rows.corrected);
    }
    if let Some(pages) = pages {
        finding = finding.with("pages retired", pages.retired);
        if let Some(lost) = pages.after_lost_data {
            finding = finding.with("after double bit errors", lost);
        }
    }
    if failed {
        finding = finding.with("repair failed", true);
    }
    let by_itself = pages.is_some_and(|pages| pages.pending && pages.by_itself);
    match (waits, by_itself) {
        (true, true) => finding.with("pending, driver retires it", true),
        (true, false) => finding.with("pending until reset", true),
        (false, _) => finding,
    }
}
