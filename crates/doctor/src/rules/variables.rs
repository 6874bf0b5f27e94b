//! Variables of this process and of NCCL's configuration file.

use topology::vendor::{AMD, NVIDIA};
use topology::{Fact, PathType};

use super::process::PROCESS;
use super::versions::hangs;
use crate::known::problems;
use crate::p2p;
use crate::variables::{ALL, Known};
use crate::{Facts, Finding, Gpu, Variable};

/// Variables that choose and order devices.
const VISIBLE: [&str; 4] = [
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "MACA_VISIBLE_DEVICES",
];

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
        let names: usize = ALL.iter().map(|row| row.names.len()).sum();
        let none = Finding::ok().about(PROCESS).with("known variables", names);
        return vec![none.with("set", 0_u64)];
    }
    findings
}

/// The row that a variable with this value is of, on a machine with such GPUs.
fn counts(variable: &Variable, facts: &Facts) -> Option<&'static Known> {
    let is_elsewhere = |vendor: u16| {
        let others = |gpu: &Gpu| gpu.vendor.is_some_and(|known| known != vendor);
        !facts.gpus.is_empty() && facts.gpus.iter().all(others)
    };
    ALL.iter().find(|row| {
        row.names.contains(&variable.name.as_str())
            && row.when.holds(&variable.value)
            && !row.vendor.is_some_and(is_elsewhere)
    })
}

/// What avoids a known problem of this machine is left alone.
fn judge(row: &Known, variable: &Variable, facts: &Facts) -> Finding {
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
            && (problem.on)(facts) == Fact::Known(true)
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

/// A list of devices that is not 0, 1, 2 and so on, or GPUs of several models in CUDA's own order, the fastest first.
pub(super) fn order(facts: &Facts) -> Vec<Finding> {
    if facts.gpus.is_empty() {
        return Vec::new();
    }
    let unread = match &facts.given.variables {
        Fact::Unknown(why) => Some(why),
        Fact::Known(_) => facts.given.unordered.as_ref(),
    };
    if let Some(why) = unread {
        return vec![Finding::unknown(why).about(PROCESS)];
    }
    let reorders = |variable: &&Variable| {
        let numbers = variable
            .value
            .split(',')
            .map(|part| part.trim().parse().ok());
        let numbers: Option<Vec<usize>> = numbers.collect();
        numbers.is_some_and(|numbers| !numbers.iter().copied().eq(0..numbers.len()))
    };
    let mut variables = VISIBLE.iter().filter_map(|name| facts.variable(name));
    if let Some(variable) = variables.find(reorders) {
        return vec![with(Finding::warn_if(true), variable).about(&variable.name)];
    }
    let names = facts.gpus.iter().filter_map(|gpu| gpu.name.as_deref());
    let names: Vec<&str> = names.collect();
    if names.len() < facts.gpus.len() {
        return vec![Finding::unknown("the driver does not name the devices").about(PROCESS)];
    }
    const ORDER: &str = "CUDA_DEVICE_ORDER";
    let are_alike = names.windows(2).all(|two| two[0] == two[1]);
    let set = facts
        .variable(ORDER)
        .map(|variable| variable.value.as_str());
    let is_mixed = facts.has_vendor(NVIDIA) && !are_alike && set != Some("PCI_BUS_ID");
    let finding = Finding::warn_if(is_mixed).with("same model", are_alike);
    vec![finding.with(ORDER, set.unwrap_or("not set")).about(PROCESS)]
}
