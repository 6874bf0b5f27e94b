//! Versions and devices that others had trouble with, from the tables of `known.rs`.

use topology::Fact;

use crate::known::{HOST_HANGS, HostHang, Problem, problems};
use crate::{Facts, Finding, Verdict};

pub(super) fn known(facts: &Facts) -> Vec<Finding> {
    let mut findings: Vec<Finding> = problems()
        .filter_map(|problem| judge(&problem, facts))
        .collect();
    for version in &facts.given.versions {
        let named = format!("{} {}", version.component, version.text);
        let rows = problems().filter(|row| row.component == version.component);
        let rows = rows.count();
        // What nothing is known of is not ok.
        if rows > 0 && !findings.iter().any(|finding| finding.subject == named) {
            let finding = Finding::ok().about(named).with("known problems", rows);
            findings.push(
                finding
                    .with("of this machine", 0_u64)
                    .with("in", version.source.as_str()),
            );
        }
    }
    findings.extend(facts.given.unversioned.iter().map(Finding::unknown));
    findings
}

/// What a row says; `None` where it is not of this machine.
fn judge(problem: &Problem, facts: &Facts) -> Option<Finding> {
    let version = facts.version(problem.component)?;
    let numbers = version.numbers();
    let finding = match problem.is_on(facts) {
        Fact::Known(false) => return None,
        Fact::Known(true) if numbers.is_empty() => {
            Finding::unknown("its version cannot be compared")
        }
        _ if !problem.holds_for(&numbers) => return None,
        Fact::Unknown(why) => Finding::unknown(why),
        Fact::Known(true) => {
            let is_fixed = problem.unless.as_ref().is_some_and(|(component, from)| {
                let other = facts.version(component);
                other.is_some_and(|other| other.numbers().as_slice() >= from.as_slice())
            });
            if is_fixed {
                return None;
            }
            let avoided = problem.avoided_by.filter(|(name, value)| {
                let variable = facts.variable(name);
                variable.is_some_and(|variable| variable.value.eq_ignore_ascii_case(value))
            });
            match avoided {
                Some((name, value)) => Finding::ok().with("avoided by", format!("{name}={value}")),
                None => Finding::of(problem.verdict),
            }
        }
    };
    let subject = format!("{} {}", version.component, version.text);
    let finding = finding.about(subject).coded(problem.code);
    Some(finding.with("in", version.source.as_str()))
}

/// The combination of devices here that is known to take the host down.
pub(super) fn hangs(facts: &Facts) -> Option<&'static HostHang> {
    // However many are chosen, the machine has those that the kernel shows.
    let count = facts.machine.gpus.len().max(facts.gpus.len());
    let has = |name: &str| {
        let mut names = facts.gpus.iter().filter_map(|gpu| gpu.name.as_deref());
        names.any(|known| known.contains(name))
    };
    HOST_HANGS
        .iter()
        .find(|hang| count >= hang.devices && has(hang.name))
}

pub(super) fn host_hang(facts: &Facts) -> Vec<Finding> {
    if facts.gpus.is_empty() {
        return Vec::new();
    }
    if facts.gpus.iter().any(|gpu| gpu.name.is_none()) {
        let why = facts.given.undriven.clone();
        let why = why.unwrap_or_else(|| "the driver does not name the devices".to_owned());
        return vec![Finding::unknown(why)];
    }
    const SWITCH: &str = "NCCL_P2P_DISABLE";
    let is_off = facts
        .variable(SWITCH)
        .is_some_and(|variable| variable.value == "1");
    let mut names: Vec<String> = facts
        .gpus
        .iter()
        .filter_map(|gpu| gpu.name.clone())
        .collect();
    names.dedup();
    let finding = match hangs(facts) {
        None => Finding::ok(),
        Some(_) if is_off => Finding::ok().with(SWITCH, "1"),
        Some(_) => Finding::of(Verdict::Bad),
    };
    let count = facts.machine.gpus.len().max(facts.gpus.len());
    vec![finding.with("GPUs", count).with("names", names)]
}
