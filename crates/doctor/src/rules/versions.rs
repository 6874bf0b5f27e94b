//! Versions and devices that others had trouble with, from the tables of `known.rs`.

use topology::Fact;

use super::MACHINE;
use crate::known::{HOST_HANGS, Problem, problems};
use crate::{Facts, Finding, Verdict};

pub(super) fn known(facts: &Facts) -> Vec<Finding> {
    let mut findings: Vec<Finding> = problems()
        .filter_map(|problem| judge(problem, facts))
        .collect();
    for version in &facts.given.versions {
        let named = format!("{} {}", version.component, version.text);
        if findings.iter().any(|finding| finding.subject == named) {
            continue;
        }
        let rows = problems()
            .filter(|row| row.component == version.component)
            .count();
        // What nothing is known of is not ok.
        if rows == 0 {
            continue;
        }
        findings.push(Finding::ok(
            named,
            format!(
                "{}: none of {} known problems is of this version and box",
                version.source, rows
            ),
        ));
    }
    for reason in &facts.given.unversioned {
        findings.push(Finding::cannot_tell(MACHINE, reason));
    }
    findings
}

/// What a row says; `None` where it is not of this box.
fn judge(problem: &Problem, facts: &Facts) -> Option<Finding> {
    let version = facts.version(problem.component)?;
    let subject = format!("{} {}", version.component, version.text);
    let numbers = version.numbers();
    let because = |finding: Finding| finding.because(problem.what, problem.source);
    match (problem.on)(facts) {
        Fact::Known(false) => return None,
        Fact::Unknown(why) if problem.holds_for(&numbers) => {
            return Some(because(Finding::cannot_tell(subject, why)));
        }
        Fact::Unknown(_) => return None,
        Fact::Known(true) => {}
    }
    if numbers.is_empty() {
        let why = format!(
            "{}: `{}` is no version that can be compared",
            version.source, version.text
        );
        return Some(because(Finding::cannot_tell(subject, why)));
    }
    let is_mended = problem.unless.is_some_and(|(component, from)| {
        let other = facts.version(component);
        other.is_some_and(|other| other.numbers().as_slice() >= from)
    });
    if !problem.holds_for(&numbers) || is_mended {
        return None;
    }
    let seen = format!("{} says version {}", version.source, version.text);
    let avoided = problem.avoided_by.filter(|(name, value)| {
        let variable = facts.variable(name);
        variable.is_some_and(|variable| variable.value.eq_ignore_ascii_case(value))
    });
    Some(because(match avoided {
        Some((name, value)) => Finding::ok(
            subject,
            format!("{seen}; {name}={value} avoids what is known of it"),
        ),
        None if problem.verdict == Verdict::Bad => Finding::bad(subject, seen, problem.todo),
        None => Finding::warn(subject, seen, problem.todo),
    }))
}

pub(super) fn host_hang(facts: &Facts) -> Vec<Finding> {
    if facts.gpus.is_empty() {
        return Vec::new();
    }
    if facts.gpus.iter().any(|gpu| gpu.name.is_none()) {
        let why = facts.given.undriven.clone();
        let why = why.unwrap_or_else(|| "the driver does not name the devices".to_owned());
        return vec![
            Finding::cannot_tell(MACHINE, why).with_todo("install the driver, then look again"),
        ];
    }
    // However many are chosen, the box has those that the kernel shows.
    let count = facts.machine.gpus.len().max(facts.gpus.len());
    let name = |gpu: &crate::Gpu| gpu.name.clone().unwrap_or_default();
    for hang in HOST_HANGS {
        let Some(gpu) = facts.gpus.iter().find(|gpu| name(gpu).contains(hang.name)) else {
            continue;
        };
        if count >= hang.devices {
            let seen = format!("{count} GPUs, among them {}", name(gpu));
            let off = facts.variable("NCCL_P2P_DISABLE");
            return vec![if off.is_some_and(|variable| variable.value == "1") {
                Finding::ok(MACHINE, format!("{seen}; NCCL_P2P_DISABLE=1 avoids peer copies of collectives"))
            } else {
                Finding::bad(MACHINE, seen, "export NCCL_P2P_DISABLE=1; p2p-bw tries peer copies there with --risk only")
            }
            .because(hang.why, "ROCm/rocm-systems#11348")];
        }
    }
    let mut names: Vec<String> = facts.gpus.iter().map(name).collect();
    names.dedup();
    vec![Finding::ok(
        MACHINE,
        format!(
            "{count} GPUs, {}: none of {} known combinations",
            names.join(", "),
            HOST_HANGS.len()
        ),
    )]
}
