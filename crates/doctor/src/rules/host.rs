//! Settings of the machine: processors, memory, the kernel's log.

use super::{of_fact, of_file};
use crate::{Facts, Finding, Frequency, Verdict, event};

pub(super) fn guest(facts: &Facts) -> Vec<Finding> {
    vec![match facts.machine.hypervisor {
        Some(is_guest) => Finding::warn_if(is_guest).with("hypervisor", is_guest),
        None => Finding::unknown("this processor does not say whether there is a hypervisor"),
    }]
}

pub(super) fn governor(facts: &Facts) -> Vec<Finding> {
    vec![of_file(&facts.host.frequency, |all| {
        let mut finding = Finding::warn_if(!all.iter().all(Frequency::is_fast));
        for one in all {
            finding = finding.with("governor", one.governor.as_str());
            if let Some(driver) = &one.driver {
                finding = finding.with("driver", driver.as_str());
            }
            if let Some(preference) = &one.preference {
                finding = finding.with("preference", preference.as_str());
            }
            finding = finding.with("policies", one.policies);
        }
        finding
    })]
}

impl Frequency {
    /// Drivers that choose by a preference have only two governors, and the slower one is no power saving by itself.
    fn is_fast(&self) -> bool {
        self.governor == "performance" || self.preference.as_deref() == Some("performance")
    }
}

pub(super) fn boost(facts: &Facts) -> Vec<Finding> {
    vec![of_file(&facts.host.boost, |allowed| {
        Finding::warn_if(!allowed).with("allowed", *allowed)
    })]
}

pub(super) fn balancing(facts: &Facts) -> Vec<Finding> {
    let nodes = facts.machine.nodes.len();
    vec![of_file(&facts.host.numa_balancing, |mode| {
        Finding::warn_if(*mode != 0 && nodes > 1)
            .with("mode", *mode)
            .with("nodes", nodes)
    })]
}

/// Each kind of event once, in the order in which it was first seen.
pub(super) fn kernel_log(facts: &Facts) -> Vec<Finding> {
    let mut kinds: Vec<(Verdict, String, u64, &str)> = Vec::new();
    let lines = facts.given.kernel_log.known();
    for line in lines.into_iter().flatten() {
        let Some((verdict, meaning)) = event(line) else {
            continue;
        };
        match kinds.iter_mut().find(|kind| kind.1 == meaning) {
            Some((_, _, count, last)) => (*count, *last) = (*count + 1, line),
            None => kinds.push((verdict, meaning, 1, line)),
        }
    }
    if kinds.is_empty() {
        return vec![of_fact(&facts.given.kernel_log, |lines| {
            Finding::ok()
                .with("lines", lines.len())
                .with("faults", 0_u64)
        })];
    }
    let finding = |(verdict, meaning, count, last): (Verdict, String, u64, &str)| {
        Finding::of(verdict)
            .with("event", meaning)
            .with("lines", count)
            .with("last", last)
    };
    kinds.into_iter().map(finding).collect()
}
