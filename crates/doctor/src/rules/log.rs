//! Lines of the kernel's log that tell of lost devices, limited links and killed processes.

use topology::Fact;

use super::{MACHINE, root_sees_more};
use crate::{Facts, Finding, Verdict, event};

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
    // Each kind of event once, in the order in which it was first seen.
    let mut seen: Vec<((Verdict, String), Vec<&String>)> = Vec::new();
    for line in lines {
        let Some(told) = event(line) else {
            continue;
        };
        match seen.iter_mut().find(|(known, _)| *known == told) {
            Some((_, lines)) => lines.push(line),
            None => seen.push((told, vec![line])),
        }
    }
    let mut findings: Vec<Finding> = Vec::new();
    for ((verdict, tells), lines) in seen {
        let Some(last) = lines.last() else {
            continue;
        };
        let seen = format!("{tells}: {} lines, the last one: {last}", lines.len());
        let todo = "dmesg as root shows what came before and after";
        findings.push(if verdict == Verdict::Bad {
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
