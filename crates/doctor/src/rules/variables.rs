//! Variables of this process and of NCCL's configuration file.

use topology::vendor::{AMD, NVIDIA};
use topology::{Fact, PathType};

use super::PROCESS;
use crate::known::problems;
use crate::p2p;
use crate::variables::{ALL, Known};
use crate::{Facts, Finding, Variable, Verdict};

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
        Fact::Unknown(why) => return vec![Finding::cannot_tell(PROCESS, why)],
    };
    let mut findings: Vec<Finding> = variables
        .iter()
        .filter_map(|variable| counts(variable, facts).map(|row| judge(row, variable, facts)))
        .collect();
    if findings.is_empty() {
        let names: usize = ALL.iter().map(|row| row.names.len()).sum();
        findings.push(Finding::ok(
            PROCESS,
            format!("environment: none of {names} variables is set to something that counts"),
        ));
    }
    findings
}

/// The row that a variable with this value is of, on a box with such GPUs.
fn counts(variable: &Variable, facts: &Facts) -> Option<&'static Known> {
    let is_elsewhere = |vendor: u16| {
        let others = |gpu: &crate::Gpu| gpu.vendor.is_some_and(|known| known != vendor);
        !facts.gpus.is_empty() && facts.gpus.iter().all(others)
    };
    ALL.iter().find(|row| {
        row.names.contains(&variable.name.as_str())
            && row.when.holds(&variable.value)
            && !row.vendor.is_some_and(is_elsewhere)
    })
}

fn judge(row: &Known, variable: &Variable, facts: &Facts) -> Finding {
    let Variable {
        name,
        value,
        source,
    } = variable;
    let word = p2p::word_of_number(value).filter(|_| name.ends_with("_P2P_LEVEL"));
    let word = word.map_or_else(String::new, |word| format!(", which stands for {word}"));
    let seen = format!("{source}: {name}={value}{word}");
    // What avoids a known problem of this box is left alone.
    if let Some(why) = avoids(variable, facts) {
        return Finding::ok(name, format!("{seen}, which avoids a known problem"))
            .because(why, row.source);
    }
    let todo =
        format!("unset {name}, and see with allreduce-bench whether the box is slower without it");
    let finding = if row.verdict == Verdict::Bad {
        Finding::bad(name, seen, todo)
    } else {
        Finding::warn(name, seen, todo)
    };
    finding.because(row.effect, row.source)
}

/// The known problem of this box that a variable avoids.
pub(super) fn avoids(variable: &Variable, facts: &Facts) -> Option<String> {
    let by = (variable.name.as_str(), variable.value.as_str());
    let problem = problems().find(|problem| {
        let avoided_by = problem
            .avoided_by
            .is_some_and(|(name, value)| name == by.0 && value.eq_ignore_ascii_case(by.1));
        let version = facts.version(problem.component);
        avoided_by
            && version.is_some_and(|version| problem.holds_for(&version.numbers()))
            && (problem.on)(facts) == Fact::Known(true)
    });
    if let Some(problem) = problem {
        return Some(problem.what.to_owned());
    }
    let hang = (by == ("NCCL_P2P_DISABLE", "1")).then(|| {
        super::versions::host_hang(facts)
            .into_iter()
            .find(|finding| {
                finding.verdict == Verdict::Ok && finding.seen.contains("NCCL_P2P_DISABLE")
            })
    });
    hang.flatten().map(|finding| finding.why)
}

/// What RCCL's page asks for where GPUs are joined by PCI Express; xGMI needs none of it.
const FINE_GRAIN: &str = "HSA_FORCE_FINE_GRAIN_PCIE";

pub(super) fn fine_grain(facts: &Facts) -> Vec<Finding> {
    let by_pci_express = |pair: &crate::Pair| pair.path != PathType::Xgmi;
    if !facts.has_vendor(AMD) || !facts.pairs.iter().any(by_pci_express) {
        return Vec::new();
    }
    if let Fact::Unknown(why) = &facts.given.variables {
        return vec![Finding::cannot_tell(PROCESS, why)];
    }
    let seen = match facts.variable(FINE_GRAIN) {
        Some(variable) => {
            let Variable { value, source, .. } = variable;
            let seen = format!("{source}: {FINE_GRAIN}={value}");
            if value == "1" {
                return vec![Finding::ok(PROCESS, seen)];
            }
            seen
        }
        None => format!("environment: {FINE_GRAIN} is not set"),
    };
    vec![Finding::warn(
        PROCESS,
        seen,
        format!(
            "export {FINE_GRAIN}=1, and see with allreduce-bench whether that changes the transport or the time"
        ),
    )]
}

pub(super) fn order(facts: &Facts) -> Vec<Finding> {
    if facts.gpus.is_empty() {
        return Vec::new();
    }
    if let Fact::Unknown(why) = &facts.given.variables {
        return vec![Finding::cannot_tell(PROCESS, why)];
    }
    if let Some(why) = &facts.given.unordered {
        return vec![Finding::cannot_tell(PROCESS, why)];
    }
    let set = VISIBLE.iter().filter_map(|name| facts.variable(name));
    for Variable {
        name,
        value,
        source,
    } in set
    {
        let numbers: Option<Vec<u32>> = value
            .split(',')
            .map(|part| part.trim().parse().ok())
            .collect();
        if numbers.is_some_and(|numbers| {
            numbers
                .iter()
                .enumerate()
                .any(|(place, number)| *number as usize != place)
        }) {
            return vec![Finding::warn(
                name,
                format!("{source}: {name}={value}"),
                "take devices by PCI address or UUID where a number could mean two; `p2p-bw --list` shows both",
            )];
        }
    }
    let names: Vec<&str> = facts
        .gpus
        .iter()
        .filter_map(|gpu| gpu.name.as_deref())
        .collect();
    if names.len() < facts.gpus.len() {
        return vec![Finding::cannot_tell(
            PROCESS,
            "the driver does not name the devices, so that it is not known whether they are all alike",
        )];
    }
    let are_alike = names.windows(2).all(|two| two[0] == two[1]);
    let by_bus = facts
        .variable("CUDA_DEVICE_ORDER")
        .is_some_and(|variable| variable.value == "PCI_BUS_ID");
    if facts.has_vendor(NVIDIA) && !are_alike && !by_bus {
        return vec![Finding::warn(
            "CUDA_DEVICE_ORDER",
            "environment: it is not PCI_BUS_ID, and the GPUs are of different models: CUDA counts the fastest first, nvidia-smi by address",
            "export CUDA_DEVICE_ORDER=PCI_BUS_ID",
        )];
    }
    vec![Finding::ok(
        PROCESS,
        "environment: nothing puts the devices into another order",
    )]
}
