//! Lines of the kernel's log that tell of lost devices, limited links and killed processes.

use topology::Fact;

use super::{MACHINE, root_sees_more};
use crate::{Facts, Finding, Verdict};

/// What a line has to hold, all of it, how much that counts, and what it tells.
const LINES: &[(&[&str], Verdict, &str)] = &[
    (
        &["NVRM: Xid", ": 79,"],
        Verdict::Bad,
        "a GPU fell off the bus",
    ),
    (
        &["NVRM: Xid"],
        Verdict::Warn,
        "NVIDIA's driver reported a fault",
    ),
    (
        &["amdgpu", "ring", "timeout"],
        Verdict::Bad,
        "a queue of an AMD GPU hung",
    ),
    (
        &["amdgpu", "GPU reset"],
        Verdict::Bad,
        "an AMD GPU was reset",
    ),
    (
        &["AMD-Vi:", "IO_PAGE_FAULT"],
        Verdict::Bad,
        "the IOMMU refused a device's request",
    ),
    (
        &["DMAR:", "fault"],
        Verdict::Bad,
        "the IOMMU refused a device's request",
    ),
    (
        &["available PCIe bandwidth, limited by"],
        Verdict::Warn,
        "a link is narrower than its device",
    ),
    (&["AER:", "error"], Verdict::Warn, "a link had errors"),
    (
        &["Out of memory: Killed process"],
        Verdict::Warn,
        "a process was killed for want of memory",
    ),
    (
        &["oom-kill:constraint=CONSTRAINT_MEMCG"],
        Verdict::Warn,
        "a process was killed at the limit of its control group",
    ),
];

pub(super) fn kernel(facts: &Facts) -> Vec<Finding> {
    let lines = match &facts.given.kernel_log {
        Fact::Known(lines) => lines,
        Fact::Unknown(why) => {
            let todo = if root_sees_more(facts) {
                "run this as root, or dmesg as root"
            } else {
                "in a container: dmesg as root outside of it"
            };
            return vec![Finding::cannot_tell(MACHINE, why).with_todo(todo)];
        }
    };
    let mut findings: Vec<Finding> = Vec::new();
    let mut seen = vec![Vec::new(); LINES.len()];
    for line in lines {
        let is =
            |(parts, _, _): &(&[&str], Verdict, &str)| parts.iter().all(|part| line.contains(part));
        if let Some(place) = LINES.iter().position(is) {
            seen[place].push(line);
        }
    }
    for ((_, verdict, tells), lines) in LINES.iter().zip(seen) {
        let Some(last) = lines.last() else {
            continue;
        };
        let seen = format!("{tells}: {} lines, the last one: {last}", lines.len());
        let todo = "dmesg as root shows what came before and after";
        findings.push(if *verdict == Verdict::Bad {
            Finding::bad(MACHINE, seen, todo)
        } else {
            Finding::warn(MACHINE, seen, todo)
        });
    }
    if findings.is_empty() {
        findings.push(Finding::ok(
            MACHINE,
            format!("/dev/kmsg: none of {} lines tells of a fault", lines.len()),
        ));
    }
    findings
}
