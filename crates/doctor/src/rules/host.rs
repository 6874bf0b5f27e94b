//! Settings of the machine: processors, memory, boot options, the kernel's log.

use super::{of_fact, of_file};
use crate::{Facts, Finding, Frequency, Verdict, event};

/// Words of the kernel's command line that cost something; the rule's page says what each does.
const COSTLY_OPTIONS: [&str; 14] = [
    "pci=noaer",
    "pci=nomsi",
    "nomsi",
    "amd_iommu=on",
    "intel_iommu=on",
    "iommu=nopt",
    "iommu.passthrough=0",
    "iommu.strict=1",
    "pcie_aspm=force",
    "pcie_aspm.policy=powersave",
    "pcie_aspm.policy=powersupersave",
    "numa=off",
    "transparent_hugepage=never",
    "cpufreq.default_governor=powersave",
];

/// With this the IOMMU passes addresses through.
const PASS_THROUGH: [&str; 2] = ["iommu=pt", "iommu.passthrough=1"];

pub(super) fn guest(facts: &Facts) -> Vec<Finding> {
    vec![match facts.machine.hypervisor {
        Some(is_guest) => Finding::warn_if(is_guest).with("hypervisor", is_guest),
        None => Finding::unknown("this processor does not say whether there is a hypervisor"),
    }]
}

pub(super) fn boot_options(facts: &Facts) -> Vec<Finding> {
    vec![of_file(&facts.host.command_line, |line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let passes = words.iter().any(|word| PASS_THROUGH.contains(word));
        let costs = |word: &&str| words.contains(word) && !(passes && word.ends_with("_iommu=on"));
        let costly = COSTLY_OPTIONS.into_iter().filter(costs);
        let costly: Vec<String> = costly.map(str::to_owned).collect();
        Finding::warn_if(!costly.is_empty()).with("costly options", costly)
    })]
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

pub(super) fn transparent_huge_pages(facts: &Facts) -> Vec<Finding> {
    vec![of_file(&facts.host.transparent_huge_pages, |word| {
        Finding::warn_if(word == "never").with("enabled", word.as_str())
    })]
}

pub(super) fn reserved_huge_pages(facts: &Facts) -> Vec<Finding> {
    vec![of_file(&facts.host.reserved_huge, |[reserved, all]| {
        Finding::warn_if(*reserved > all / 2)
            .with("reserved", crate::Value::Bytes(*reserved))
            .with("of", crate::Value::Bytes(*all))
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
