//! What decides beforehand how collectives travel: the library's level.

use topology::PathType;
use topology::vendor::{AMD, METAX, NVIDIA, lacks_nvlink};

use super::of_pairs;
use crate::p2p::{self, Library};
use crate::{Facts, Finding, Verdict};

/// The library of a vendor's GPUs, in small letters.
const LIBRARIES: [(u16, &str); 3] = [(NVIDIA, "nccl"), (AMD, "rccl"), (METAX, "mccl")];

/// Whether NVLink, which goes beside PCI Express and is not limited by the level, may connect the GPU to another; `None` where it has no
/// name or one that is not known. The kernel's files do not show it; of AMD's GPUs they show xGMI, which is a path of its own.
pub(super) fn may_have_nvlink(gpu: &crate::Gpu) -> Option<bool> {
    match (gpu.vendor, gpu.nvlinks.known()) {
        (_, Some(links)) => Some(!links.links.is_empty()),
        (Some(NVIDIA), None) if !gpu.device_id.is_some_and(lacks_nvlink) => None,
        (Some(METAX) | None, None) => None,
        _ => Some(false),
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
    let set = |name: &str| facts.variable(name).map(|variable| variable.value.as_str());
    let obeys = p2p::obeys(library, &facts.machine.cpus);
    if let Some(switch) = p2p::disabled(name, set).filter(|_| obeys != Some(false)) {
        return switched_off(facts, &switch, obeys).into_iter().collect();
    }
    let all = facts.gpus.len();
    let of = |devices: usize| p2p::level_of(library, &facts.machine.cpus, devices, set);
    let sizes = if all > 2 { vec![2, all] } else { vec![2] };
    let levels: Option<Vec<(usize, (PathType, String))>> = sizes
        .into_iter()
        .map(|size| Some((size, of(size)?)))
        .collect();
    let mut findings = of_pairs(facts, |pair| {
        let finding = Finding::of(Verdict::Unknown).with("path", pair.path.to_string());
        let Some(levels) = levels.as_ref().filter(|_| pair.path != PathType::Unknown) else {
            return finding.with("detail", "the level of this library here is not known");
        };
        let is_beyond = |level: PathType| p2p::is_beyond(pair.path, level);
        let beside_pcie = pair.gpus.map(|place| may_have_nvlink(&facts.gpus[place]));
        let verdict = match levels.iter().any(|(_, (level, _))| is_beyond(*level)) {
            false => Verdict::Ok,
            true if beside_pcie == [Some(false); 2] => Verdict::Warn,
            true => Verdict::Unknown,
        };
        let finding = Finding { verdict, ..finding };
        levels.iter().fold(finding, |finding, (size, (level, by))| {
            let way = if is_beyond(*level) {
                "host memory"
            } else {
                "direct"
            };
            finding.with(&format!("TP{size}"), format!("{way}, level {level} ({by})"))
        })
    });
    // Instances have no peer access at any distance; another rule says so.
    let is_instance = |gpu: &crate::Gpu| gpu.mig == Some(true);
    let mut whole = facts.pairs.iter().map(|pair| {
        let mut gpus = pair.gpus.iter();
        !gpus.any(|place| is_instance(&facts.gpus[*place]))
    });
    findings.retain(|_| whole.next() == Some(true));
    findings
}

/// One finding for all pairs where a variable switches direct access off, or where it is not known whether it does.
fn switched_off(facts: &Facts, name: &str, obeys: Option<bool>) -> Option<Finding> {
    let variable = facts.variable(name)?;
    facts.pairs.first()?;
    let finding = match (obeys, super::variables::avoids(variable, facts)) {
        (None, _) => Finding::of(Verdict::Unknown),
        (_, Some(problem)) => Finding::ok().with("avoids", problem),
        (_, None) => Finding::warn_if(true),
    };
    Some(
        finding
            .with(name, variable.value.as_str())
            .with("in", variable.source.as_str()),
    )
}
