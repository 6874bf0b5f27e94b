//! Variables of this process and of NCCL's configuration file.

use topology::vendor::AMD;
use topology::{Fact, PathType};

use super::process::PROCESS;
use super::versions::hangs;
use crate::known::problems;
use crate::p2p;
use crate::variables::{Known, all};
use crate::{Facts, Finding, Gpu, Variable};

pub(super) fn set(facts: &Facts) -> Vec<Finding> {
    let variables = match &facts.given.variables {
        Fact::Known(variables) => variables,
        Fact::Unknown(why) => return vec![Finding::unknown(why).about(PROCESS)],
    };
    let findings: Vec<Finding> = variables
        .iter()
        .filter_map(|variable| counts(variable, facts).map(|row| judge(row, variable, facts)))
        .collect();
    if findings.is_empty() {
        let names = all().flat_map(Known::names).count();
        let none = Finding::ok().about(PROCESS).with("known variables", names);
        return vec![none.with("set", 0_u64)];
    }
    findings
}

/// The row that a variable with this value is of, on a machine with such GPUs.
fn counts(variable: &Variable, facts: &Facts) -> Option<Known> {
    let is_elsewhere = |vendor: u16| {
        let others = |gpu: &Gpu| gpu.vendor.is_some_and(|known| known != vendor);
        !facts.gpus.is_empty() && facts.gpus.iter().all(others)
    };
    all().find(|row| {
        row.names().any(|name| name == variable.name)
            && row.holds(&variable.value)
            && !row.vendor.is_some_and(is_elsewhere)
    })
}

/// What avoids a known problem of this machine is left alone.
fn judge(row: Known, variable: &Variable, facts: &Facts) -> Finding {
    let finding = match avoids(variable, facts) {
        Some(problem) => Finding::ok().with("avoids", problem),
        None => Finding::of(row.verdict),
    };
    let word =
        p2p::word_of_number(&variable.value).filter(|_| variable.name.ends_with("_P2P_LEVEL"));
    let finding = with(finding, variable)
        .about(&variable.name)
        .coded(row.code);
    match word {
        Some(word) => finding.with("level", word),
        None => finding,
    }
}

fn with(finding: Finding, variable: &Variable) -> Finding {
    finding
        .with(&variable.name, variable.value.as_str())
        .with("in", variable.source.as_str())
}

/// The code of the known problem of this machine that a variable avoids.
pub(super) fn avoids(variable: &Variable, facts: &Facts) -> Option<&'static str> {
    let (name, value) = (variable.name.as_str(), variable.value.as_str());
    let problem = problems().find(|problem| {
        let avoided_by = problem
            .avoided_by
            .is_some_and(|(known, avoiding)| name == known && value.eq_ignore_ascii_case(avoiding));
        let version = facts.version(problem.component);
        avoided_by
            && version.is_some_and(|version| problem.holds_for(&version.numbers()))
            && problem.is_on(facts) == Fact::Known(true)
    });
    let is_off = (name, value) == ("NCCL_P2P_DISABLE", "1");
    let hang = hangs(facts).filter(|_| is_off).map(|_| "host-hang");
    problem.map(|problem| problem.code).or(hang)
}

/// What RCCL's page asks for where GPUs are joined by PCI Express; xGMI needs none of it.
const FINE_GRAIN: &str = "HSA_FORCE_FINE_GRAIN_PCIE";

pub(super) fn fine_grain(facts: &Facts) -> Vec<Finding> {
    let by_pci_express = |pair: &crate::Pair| pair.path != PathType::Xgmi;
    if !facts.has_vendor(AMD) || !facts.pairs.iter().any(by_pci_express) {
        return Vec::new();
    }
    let finding = match (&facts.given.variables, facts.variable(FINE_GRAIN)) {
        (Fact::Unknown(why), _) => Finding::unknown(why),
        (_, Some(variable)) => with(Finding::warn_if(variable.value != "1"), variable),
        (_, None) => Finding::warn_if(true).with(FINE_GRAIN, "not set"),
    };
    vec![finding.about(PROCESS)]
}
