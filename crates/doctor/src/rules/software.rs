//! Versions and devices that others had trouble with, variables of this process and of NCCL's configuration file, and what they and the
//! library's own level make of the way between two GPUs.

use topology::vendor::{AMD, METAX, NVIDIA, lacks_nvlink};
use topology::{Fact, PathType};

use super::{PROCESS, Silent, Told};
use crate::known::{HostHang, Problem, problems};
use crate::p2p::{self, Library};
use crate::variables::{Known, all};
use crate::{Facts, Finding, Gpu, Pair, Variable, Verdict};

/// What RCCL's page asks for where GPUs are joined by PCI Express; xGMI needs none of it.
const FINE_GRAIN: &str = "HSA_FORCE_FINE_GRAIN_PCIE";
/// Switches direct copies off.
const P2P_SWITCH: &str = "NCCL_P2P_DISABLE";
/// The library of a vendor's GPUs, in small letters.
const LIBRARIES: [(u16, &str); 3] = [(NVIDIA, "nccl"), (AMD, "rccl"), (METAX, "mccl")];

pub(super) fn known(facts: &Facts) -> Vec<Finding> {
    let mut findings: Vec<Finding> = problems()
        .filter_map(|problem| of_problem(&problem, facts))
        .collect();
    for version in &facts.given.versions {
        let named = format!("{} {}", version.component, version.text);
        let rows = problems().filter(|row| row.component == version.component);
        let rows = rows.count();
        // What nothing is known of is not ok.
        if rows > 0 && !findings.iter().any(|finding| finding.subject == named) {
            let finding = Finding::ok()
                .about(named)
                .with("known problems", rows)
                .with("of this machine", 0_u64);
            findings.push(finding.with("in", version.source.as_str()));
        }
    }
    findings.extend(facts.given.unversioned.iter().map(Finding::unknown));
    findings
}

/// What a row says; `None` where it is not of this machine.
fn of_problem(problem: &Problem, facts: &Facts) -> Option<Finding> {
    let version = facts.version(problem.component)?;
    let numbers = version.numbers();
    let is_on = problem.is_on(facts);
    let is_fixed = problem.unless.as_ref().is_some_and(|(component, from)| {
        let other = facts.version(component);
        other.is_some_and(|other| other.numbers().as_slice() >= from.as_slice())
    });
    let avoided = problem.avoided_by.filter(|(name, value)| {
        let set = facts.value(name);
        set.is_some_and(|set| set.eq_ignore_ascii_case(value))
    });
    let finding = match is_on {
        Fact::Known(false) => return None,
        Fact::Known(true) if numbers.is_empty() => {
            Finding::unknown("its version cannot be compared")
        }
        _ if !problem.holds_for(&numbers) => return None,
        Fact::Unknown(why) => Finding::unknown(why),
        Fact::Known(true) if is_fixed => return None,
        Fact::Known(true) => match avoided {
            Some((name, value)) => Finding::ok().with("avoided by", format!("{name}={value}")),
            None => Finding::of(problem.verdict),
        },
    };
    let subject = format!("{} {}", version.component, version.text);
    let finding = finding.about(subject).coded(problem.code);
    Some(finding.with("in", version.source.as_str()))
}

pub(super) fn host_hang(facts: &Facts) -> Told {
    if facts.gpus.is_empty() {
        return Err(Silent::Elsewhere);
    }
    if facts.gpus.iter().any(|gpu| gpu.pci.is_none()) {
        return Ok(Finding::unknown("the kernel does not show the GPUs"));
    }
    let finding = match (HostHang::of(&facts.machine), facts.value(P2P_SWITCH)) {
        (None, _) => Finding::ok(),
        (Some(_), Some("1")) => Finding::ok().with(P2P_SWITCH, "1"),
        (Some(_), _) => Finding::of(Verdict::Bad),
    };
    Ok(finding.with("GPUs", facts.machine.gpus.len()))
}

pub(super) fn variables(facts: &Facts) -> Vec<Finding> {
    let variables = match facts.given.variables.told() {
        Ok(variables) => variables,
        Err(why) => return vec![Finding::unknown(why).about(PROCESS)],
    };
    let counting = variables.iter();
    let findings: Vec<Finding> = counting
        .filter_map(|variable| Some(of_variable(row(variable, facts)?, variable, facts)))
        .collect();
    if findings.is_empty() {
        let names = all().flat_map(Known::names).count();
        let none = Finding::ok().about(PROCESS).with("known variables", names);
        return vec![none.with("set", 0_u64)];
    }
    findings
}

/// The row that a variable with this value is of, on a machine with such GPUs.
fn row(variable: &Variable, facts: &Facts) -> Option<Known> {
    let is_elsewhere = |vendor: u16| {
        let others = |gpu: &Gpu| gpu.vendor().is_some_and(|known| known != vendor);
        !facts.gpus.is_empty() && facts.gpus.iter().all(others)
    };
    all().find(|row| {
        row.names().any(|name| name == variable.name)
            && row.holds(&variable.value)
            && !row.vendor.is_some_and(is_elsewhere)
    })
}

/// What avoids a known problem of this machine is left alone.
fn of_variable(row: Known, variable: &Variable, facts: &Facts) -> Finding {
    let word = p2p::word_of_number(&variable.value);
    let word = word.filter(|_| variable.name.ends_with("_P2P_LEVEL"));
    let finding = match avoids(variable, facts) {
        Some(problem) => Finding::ok().with("avoids", problem),
        None => Finding::of(row.verdict),
    };
    set_by(finding, variable)
        .about(&variable.name)
        .coded(row.code)
        .with_some("level", word)
}

fn set_by(finding: Finding, variable: &Variable) -> Finding {
    finding
        .with(&variable.name, variable.value.as_str())
        .with("in", variable.source.as_str())
}

/// The code of the known problem of this machine that a variable avoids.
fn avoids(variable: &Variable, facts: &Facts) -> Option<&'static str> {
    let (name, value) = (variable.name.as_str(), variable.value.as_str());
    let is_avoided = |problem: &Problem| {
        let by = problem.avoided_by;
        let by = by.filter(|by| by.0 == name && value.eq_ignore_ascii_case(by.1));
        let version = facts.version(problem.component).filter(|_| by.is_some());
        version.is_some_and(|version| problem.holds_for(&version.numbers()))
            && problem.is_on(facts) == Fact::Known(true)
    };
    let problem = problems().find(is_avoided).map(|problem| problem.code);
    let hang = HostHang::of(&facts.machine).filter(|_| (name, value) == (P2P_SWITCH, "1"));
    problem.or(hang.map(|_| "host-hang"))
}

pub(super) fn fine_grain(facts: &Facts) -> Vec<Finding> {
    let by_pci_express = |pair: &Pair| pair.path != PathType::Xgmi;
    if !facts.has_vendor(AMD) || !facts.pairs.iter().any(by_pci_express) {
        return Vec::new();
    }
    let finding = match (&facts.given.variables, facts.variable(FINE_GRAIN)) {
        (Fact::Unknown(why), _) => Finding::unknown(why),
        (_, Some(variable)) => set_by(Finding::warn_if(variable.value != "1"), variable),
        (_, None) => Finding::warn_if(true).with(FINE_GRAIN, "not set"),
    };
    vec![finding.about(PROCESS)]
}

impl Gpu {
    /// Whether NVLink, which goes beside PCI Express and is not limited by the level, may connect it to another; `None` where it has no
    /// name or one that is not known. The kernel's files do not show it; of AMD's GPUs they show xGMI, which is a path of its own.
    pub(super) fn may_have_nvlink(&self) -> Option<bool> {
        match (self.vendor(), self.device.nvlinks.known()) {
            (_, Some(links)) => Some(!links.links.is_empty()),
            (Some(NVIDIA), None) if !self.device_id().is_some_and(lacks_nvlink) => None,
            (Some(METAX) | None, None) => None,
            _ => Some(false),
        }
    }
}

/// How far direct access goes in a communicator of two GPUs, and where there are more, in one of all: an engine on two GPUs makes
/// communicators of two, however many the machine has.
pub(super) fn level(facts: &Facts) -> Vec<Finding> {
    let of_vendor = |(vendor, _): &&(u16, &str)| facts.has_vendor(*vendor);
    let Some((_, name)) = LIBRARIES.iter().find(of_vendor) else {
        return Vec::new();
    };
    let version = facts.version(&name.to_uppercase());
    let version = version.map(crate::Version::numbers);
    let library = Library {
        name,
        version: version.as_deref().filter(|numbers| !numbers.is_empty()),
    };
    let set = |name: &str| facts.value(name);
    let obeys = p2p::obeys(library, &facts.machine.cpus);
    if let Some(switch) = p2p::disabled(name, set).filter(|_| obeys != Some(false)) {
        return switched_off(facts, &switch, obeys).into_iter().collect();
    }
    let of = |devices: usize| {
        let level = p2p::level_of(library, &facts.machine.cpus, devices, set)?;
        Some((devices, level))
    };
    let mut sizes = vec![2, facts.gpus.len()];
    sizes.truncate(if facts.gpus.len() > 2 { 2 } else { 1 });
    let levels: Option<Vec<_>> = sizes.into_iter().map(of).collect();
    let of_pair = |pair: &Pair| {
        let gpus = pair.gpus.map(|place| &facts.gpus[place]);
        // Instances have no peer access at any distance; another rule says so.
        if gpus.iter().any(|gpu| gpu.device.mig == Some(true)) {
            return None;
        }
        let known = levels.as_ref().filter(|_| pair.path != PathType::Unknown);
        let is_beyond = |level: PathType| p2p::is_beyond(pair.path, level);
        let verdict = match known {
            None => Verdict::Unknown,
            Some(levels) if !levels.iter().any(|(_, (level, _))| is_beyond(*level)) => Verdict::Ok,
            Some(_) if gpus.map(Gpu::may_have_nvlink) == [Some(false); 2] => Verdict::Warn,
            Some(_) => Verdict::Unknown,
        };
        let unknown = "the level of this library here is not known";
        let mut finding = Finding::of(verdict)
            .about(&pair.label)
            .with("path", pair.path.to_string())
            .with_some("detail", known.is_none().then_some(unknown));
        for (size, (level, by)) in known.into_iter().flatten() {
            let way = match is_beyond(*level) {
                true => "host memory",
                false => "direct",
            };
            finding = finding.with(&format!("TP{size}"), format!("{way}, level {level} ({by})"));
        }
        Some(finding)
    };
    facts.pairs.iter().filter_map(of_pair).collect()
}

/// One finding for all pairs where a variable switches direct access off, or where it is not known whether it does.
fn switched_off(facts: &Facts, name: &str, obeys: Option<bool>) -> Option<Finding> {
    let variable = facts.variable(name)?;
    facts.pairs.first()?;
    let finding = match (obeys, avoids(variable, facts)) {
        (None, _) => Finding::of(Verdict::Unknown),
        (_, Some(problem)) => Finding::ok().with("avoids", problem),
        (_, None) => Finding::warn_if(true),
    };
    Some(set_by(finding, variable))
}
