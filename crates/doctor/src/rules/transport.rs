//! What decides beforehand how collectives travel: NCCL's level, and a virtual machine.

use topology::PathType;
use topology::vendor::{AMD, METAX, NVIDIA, nvlink_by_name};

use super::{MACHINE, NCCL};
use crate::p2p::{self, Library};
use crate::{Facts, Finding, Pair};

/// The library of a vendor's GPUs, in small letters.
const LIBRARIES: [(u16, &str); 3] = [(NVIDIA, "nccl"), (AMD, "rccl"), (METAX, "mccl")];

/// Whether NVLink, which goes beside PCI Express and is not limited by the level, may connect the GPU to another; `None` where it has no
/// name or one that is not known. The kernel's files do not show it; of AMD's GPUs they show xGMI, which is a path of its own.
fn may_have_nvlink(gpu: &crate::Gpu) -> Option<bool> {
    match gpu.vendor {
        Some(AMD) => Some(false),
        _ => nvlink_by_name(gpu.name.as_deref()?),
    }
}

pub(super) fn level(facts: &Facts) -> Vec<Finding> {
    let Some((_, name)) = LIBRARIES
        .iter()
        .find(|(vendor, _)| facts.has_vendor(*vendor))
    else {
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
    if let Some(switch) = p2p::disabled(name, set) {
        match obeys {
            Some(true) => return switched_off(facts, &switch).into_iter().collect(),
            Some(false) => {}
            None => return unknown_switch(facts, name, &switch).into_iter().collect(),
        }
    }
    let all = facts.gpus.len();
    let of = |devices: usize| p2p::level_of(library, &facts.machine.cpus, devices, set);
    let levels = Levels {
        pair: of(2),
        // An engine on two GPUs makes communicators of two, however many the box has.
        whole: (all > 2).then(|| (all, of(all))),
    };
    let advice = Advice {
        unknown: p2p::why_unknown(library, &facts.machine.cpus, set).unwrap_or_default(),
        beyond: match obeys {
            Some(true) if facts.given.is_soft => plays_none(name),
            Some(true) => compare(facts, name),
            _ => format!("no variable widens it for certain; {ASK}"),
        },
    };
    // Instances have no peer access at any distance; another rule says so.
    let is_instance = |pair: &&Pair| {
        let gpus = pair.gpus.map(|place| facts.gpus[place].mig);
        gpus.contains(&Some(true))
    };
    let whole = facts.pairs.iter().filter(|pair| !is_instance(pair));
    whole
        .map(|pair| of_pair(facts, pair, &levels, &advice))
        .collect()
}

/// What shows which way a library takes in the end.
const ASK: &str = "see which transport is taken: allreduce-bench";

/// How far direct access goes, and what says so.
type Level = Option<(PathType, String)>;

/// How far it goes in a communicator of two GPUs, and where there are more, how many and how far in one of all.
struct Levels {
    pair: Level,
    whole: Option<(usize, Level)>,
}

/// Why nothing is known, and what to do beyond the level.
struct Advice {
    unknown: String,
    beyond: String,
}

fn of_pair(facts: &Facts, pair: &Pair, levels: &Levels, advice: &Advice) -> Finding {
    let path = pair.path;
    let (Some(two), all) = (&levels.pair, &levels.whole) else {
        return Finding::cannot_tell(&pair.label, &advice.unknown).with_todo(ASK);
    };
    let all = match all {
        None => None,
        Some((count, Some(level))) => Some((*count, level)),
        Some((_, None)) => {
            return Finding::cannot_tell(&pair.label, &advice.unknown).with_todo(ASK);
        }
    };
    if path == PathType::Unknown {
        return Finding::cannot_tell(&pair.label, "the path between them is not known")
            .with_todo(ASK);
    }
    let beyond = |(level, _): &(PathType, String)| p2p::is_beyond(path, *level);
    let is_beyond = beyond(two) || all.is_some_and(|(_, level)| beyond(level));
    let words = words(path, two, all);
    if !is_beyond {
        return Finding::ok(&pair.label, words);
    }
    let [a, b] = pair.gpus.map(|place| may_have_nvlink(&facts.gpus[place]));
    if (a, b) != (Some(false), Some(false)) {
        return Finding::cannot_tell(
            &pair.label,
            format!(
                "by PCI Express {words}; whether NVLink or the like connects them is not shown here"
            ),
        )
        .with_todo("nvidia-smi topo -m shows NVLink; allreduce-bench which transport is taken");
    }
    Finding::warn(&pair.label, words, &advice.beyond)
}

/// What holds for two GPUs and for all of them; one sentence where it is the same.
fn words(
    path: PathType,
    two: &(PathType, String),
    all: Option<(usize, &(PathType, String))>,
) -> String {
    let one = |(level, because): &(PathType, String)| {
        if p2p::is_beyond(path, *level) {
            format!("through host memory, as direct access goes up to {level} ({because})")
        } else {
            format!("directly, within {level} ({because})")
        }
    };
    match all {
        Some((count, all)) if all != two => format!(
            "the path is {path}. TP2 with these two goes {}; TP{count} with all goes {}",
            one(two),
            one(all)
        ),
        Some((count, _)) => {
            format!(
                "the path is {path}. TP2 with these two and TP{count} with all go {}",
                one(two)
            )
        }
        None => format!("the path is {path}. TP2 goes {}", one(two)),
    }
}

/// How to try what a wider level would bring: with all GPUs, because the default depends on how many there are. Arms are told apart by
/// several launches of each.
fn compare(facts: &Facts, library: &str) -> String {
    let wider = p2p::variable(library, "P2P_LEVEL=SYS");
    format!(
        "check the pair with cargo xtask p2p, then compare: cargo xtask allreduce --gpus {} --launches 6 --arm \"sys: {wider}\"; if the arm \
         wins, set {wider} in the server's environment",
        ordinals(facts),
    )
}

/// Where a comparison would show nothing.
fn plays_none(library: &str) -> String {
    format!(
        "nothing to try here: this is a soft box, whose library plays no levels; on the box itself compare with {}",
        p2p::variable(library, "P2P_LEVEL=SYS")
    )
}

/// Where it is not known whether the switch counts.
fn unknown_switch(facts: &Facts, library: &str, name: &str) -> Option<Finding> {
    facts.pairs.first()?;
    let why = format!(
        "{name}=1: {} of some versions does not look at it on this processor, and this one's source was not read",
        library.to_uppercase()
    );
    Some(Finding::cannot_tell(MACHINE, why).with_todo(ASK))
}

/// What is said of all pairs where a variable switches direct access off.
fn switched_off(facts: &Facts, name: &str) -> Option<Finding> {
    let variable = facts.variable(name)?;
    facts.pairs.first()?;
    let seen = format!(
        "{}: {name}={}: no pair is reached directly, whatever lies between",
        variable.source, variable.value
    );
    Some(match super::variables::avoids(variable, facts) {
        Some(why) => {
            Finding::ok(MACHINE, format!("{seen}, which avoids a known problem")).because(why, NCCL)
        }
        None => Finding::warn(MACHINE, seen, format!("unset {name}, then look again")),
    })
}

/// The numbers of the GPUs as `--gpus` takes them.
fn ordinals(facts: &Facts) -> String {
    let number = |gpu: &crate::Gpu| {
        let label = gpu.label.as_str();
        label
            .trim_start_matches(|letter: char| letter.is_ascii_alphabetic())
            .to_owned()
    };
    let numbers: Vec<String> = facts.gpus.iter().map(number).collect();
    numbers.join(",")
}

pub(super) fn guest(facts: &Facts) -> Vec<Finding> {
    vec![match facts.machine.hypervisor {
        Some(true) => Finding::warn(
            MACHINE,
            "/proc/cpuinfo: the processor says that it runs under a hypervisor",
            "on the host, see that ATS is on for network cards, and read links and ACS there; here, check peer copies with p2p-bw",
        ),
        Some(false) => Finding::ok(MACHINE, "/proc/cpuinfo: no hypervisor"),
        None => Finding::cannot_tell(
            MACHINE,
            "/proc/cpuinfo: this processor does not say whether there is a hypervisor",
        )
        .with_todo("ask systemd-detect-virt"),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use topology::Fact;

    #[test]
    fn cards_that_can_have_nvlink_are_known_by_whole_words_of_their_names() {
        let unknown = || "not read".to_owned();
        let gpu = |name: &str| crate::Gpu {
            label: "GPU0".to_owned(),
            name: Some(name.to_owned()),
            address: None,
            vendor: None,
            device_id: None,
            node: None,
            mig: None,
            repairs: Fact::Unknown("not asked".to_owned()),
            link: Fact::Unknown(unknown()),
            slot: Fact::Unknown(unknown()),
            bar: Fact::Unknown(unknown()),
            ports: Vec::new(),
        };
        for (name, may) in [
            ("NVIDIA H200", true),
            ("NVIDIA A100-SXM4-80GB", true),
            ("Tesla P100-SXM2-16GB", true),
            ("NVIDIA GeForce RTX 3090", true),
            ("NVIDIA RTX A6000", true),
            ("NVIDIA L40", false),
            ("NVIDIA L40S", false),
            ("NVIDIA RTX A4000", false),
            ("NVIDIA RTX PRO 6000 Blackwell Server Edition", false),
        ] {
            assert_eq!(may_have_nvlink(&gpu(name)), Some(may), "{name}");
        }
    }
}
