//! What decides beforehand how collectives travel: NCCL's level, and a virtual machine.

use topology::PathType;

use super::{MACHINE, NCCL};
use crate::{Facts, Finding, p2p};

/// The library of a vendor's GPUs, in small letters.
const LIBRARIES: [(u16, &str); 3] = [(0x10de, "nccl"), (0x1002, "rccl"), (0x9999, "mccl")];

/// Parts of the names of NVIDIA's cards that can have NVLink, which goes beside PCI Express and is not limited by the level. The kernel's
/// files do not show it.
const MAY_HAVE_NVLINK: [&str; 14] = [
    "SXM", "HGX", "H20", "H100", "H200", "H800", "B100", "B200", "B300", "GB200", "GB300", "A100",
    "A800", "V100",
];
/// And of those that can be bridged in pairs.
const MAY_BE_BRIDGED: [&str; 7] = ["A40", "A30", "A6000", "A5500", "A5000", "A4500", "RTX 3090"];

/// Whether NVLink may connect the GPU to another; `None` where it has no name.
fn may_have_nvlink(gpu: &crate::Gpu) -> Option<bool> {
    let name = gpu.name.as_deref()?;
    // `A40` is no part of `A4000`, `SXM` is one of `SXM4`.
    let has = |part: &str| {
        name.match_indices(part).any(|(at, _)| {
            let after = name[at + part.len()..].chars().next();
            part == "SXM" || !after.is_some_and(|next| next.is_ascii_digit())
        })
    };
    let mut known = MAY_HAVE_NVLINK.iter().chain(&MAY_BE_BRIDGED);
    Some(known.any(|part| has(part)))
}

pub(super) fn level(facts: &Facts) -> Vec<Finding> {
    let Some((_, library)) = LIBRARIES
        .iter()
        .find(|(vendor, _)| facts.has_vendor(*vendor))
    else {
        return Vec::new();
    };
    let set = |name: &str| facts.variable(name).map(|variable| variable.value.as_str());
    if let Some(name) = p2p::disabled(library, set) {
        return switched_off(facts, &name).into_iter().collect();
    }
    let level = p2p::level(library, &facts.machine.cpus, facts.gpus.len(), set);
    // With all of them, because the default depends on how many there are.
    let compare = format!(
        "check the pair with cargo xtask p2p, then compare: cargo xtask allreduce --gpus {} --arm \"sys: {}\"",
        ordinals(facts),
        p2p::variable(library, "P2P_LEVEL=SYS")
    );
    let of = |pair: &crate::Pair| {
        let Some((level, because)) = &level else {
            return Finding::cannot_tell(
                &pair.label,
                if *library == "nccl" {
                    "NCCL's default is not known for this processor or this value of NCCL_P2P_LEVEL"
                        .to_owned()
                } else {
                    format!("{}'s default is not published", library.to_uppercase())
                },
            )
            .with_todo("see which transport is taken: allreduce-bench");
        };
        let path = pair.path;
        if path == PathType::Unknown {
            return Finding::cannot_tell(&pair.label, "the path between them is not known")
                .with_todo("see which transport is taken: allreduce-bench");
        }
        let [a, b] = pair.gpus.map(|place| may_have_nvlink(&facts.gpus[place]));
        if p2p::is_beyond(path, *level) && (a, b) != (Some(false), Some(false)) {
            return Finding::cannot_tell(
                &pair.label,
                format!(
                    "the path by PCI Express is {path}, beyond {level} ({because}), and whether NVLink connects them is not shown here"
                ),
            )
            .with_todo("nvidia-smi topo -m shows NVLink; allreduce-bench which transport is taken");
        }
        if p2p::is_beyond(path, *level) {
            return Finding::warn(
                &pair.label,
                format!("the path is {path}, and direct access goes up to {level} ({because})"),
                &compare,
            );
        }
        Finding::ok(
            &pair.label,
            format!("the path is {path}, within {level} ({because})"),
        )
    };
    // Instances have no peer access at any distance; another rule says so.
    let is_instance = |pair: &&crate::Pair| {
        let gpus = pair.gpus.map(|place| facts.gpus[place].mig);
        gpus.contains(&Some(true))
    };
    let whole = facts.pairs.iter().filter(|pair| !is_instance(pair));
    whole.map(of).collect()
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
