//! Words that the kernel was started with.

use super::MACHINE;
use crate::{Facts, Finding};

/// A word of the command line, what it does, and what to do.
const WORDS: &[(&str, &str, &str)] = &[
    (
        "pci=noaer",
        "errors of links are not counted",
        "leave it out",
    ),
    (
        "pci=nomsi",
        "interrupts are shared lines, which takes time",
        "leave it out",
    ),
    (
        "nomsi",
        "interrupts are shared lines, which takes time",
        "leave it out",
    ),
    (
        "amd_iommu=on",
        "the IOMMU translates unless iommu=pt stands beside it",
        "add iommu=pt",
    ),
    (
        "intel_iommu=on",
        "the IOMMU translates unless iommu=pt stands beside it",
        "add iommu=pt",
    ),
    ("iommu=nopt", "the IOMMU translates", "write iommu=pt"),
    (
        "iommu.passthrough=0",
        "the IOMMU translates",
        "write iommu=pt",
    ),
    (
        "iommu.strict=1",
        "every unmapping waits for the IOMMU",
        "leave it out",
    ),
    (
        "pcie_aspm=force",
        "links save power although the firmware says they should not",
        "leave it out",
    ),
    (
        "pcie_aspm.policy=powersave",
        "links save power",
        "write pcie_aspm.policy=performance",
    ),
    (
        "pcie_aspm.policy=powersupersave",
        "links save power",
        "write pcie_aspm.policy=performance",
    ),
    (
        "numa=off",
        "the kernel knows no nodes: nothing can be near",
        "leave it out",
    ),
    (
        "transparent_hugepage=never",
        "there are no transparent huge pages",
        "write transparent_hugepage=madvise",
    ),
    (
        "cpufreq.default_governor=powersave",
        "processors start at their lowest clock",
        "leave it out",
    ),
];

/// With this the IOMMU passes addresses through.
const PASS_THROUGH: [&str; 2] = ["iommu=pt", "iommu.passthrough=1"];

pub(super) fn options(facts: &Facts) -> Vec<Finding> {
    let read = &facts.host.command_line;
    let line = match read.told() {
        Ok(line) => line,
        Err(why) => return vec![Finding::cannot_tell(MACHINE, why)],
    };
    let said: Vec<&str> = line.split_whitespace().collect();
    let passes = said.iter().any(|word| PASS_THROUGH.contains(word));
    let counts = |word: &str| said.contains(&word) && !(passes && word.ends_with("_iommu=on"));
    let found = WORDS.iter().filter(|(word, _, _)| counts(word));
    let mut findings: Vec<Finding> = found
        .map(|(word, effect, todo)| {
            Finding::warn(
                MACHINE,
                format!("{}: {word}: {effect}", read.source),
                format!(
                    "{todo} where the kernel's command line is made, such as /etc/default/grub"
                ),
            )
        })
        .collect();
    if findings.is_empty() {
        findings.push(Finding::ok(
            MACHINE,
            format!(
                "{}: none of {} words that cost something",
                read.source,
                WORDS.len()
            ),
        ));
    }
    findings
}
