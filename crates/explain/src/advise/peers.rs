//! Peer access: impossible, denied, staged, or kept from the library.

use topology::{IommuMode, PeerSurroundings};

use super::advice::{Advice, Rule};
use super::found::Found;
use super::load::compare_replicas;
use crate::inputs::{Inputs, PeerState};
use crate::seen::Variable;
use crate::what_if::By;

const MIG_SOURCE: &str = "NVIDIA vGPU documentation, features/p2p: \"MIG-backed vGPUs are not supported\"; NVIDIA/nccl issue 1716: \
                          MIG supports no peer-to-peer over PCIe or NVLink";

/// MIG instances: nothing that could be switched on.
pub(super) fn mig(found: &Found) -> Vec<Advice> {
    if !found.inputs.is_mig() || found.inputs.peer_state() == PeerState::Direct {
        return Vec::new();
    }
    let tp = found.attribution.tp;
    let of_whole = found.by(By::PeerAccess);
    let rests_on = match of_whole {
        Some(_) => "the effect is by all-reduce times published for whole GPUs of this name",
        None => "the gain is this attribution's",
    };
    vec![
        Advice {
            rule: Rule::MigWithoutPeers,
            what: "use whole GPUs, on bare metal or passed through without MIG".to_owned(),
            why: format!(
                "these GPUs are MIG instances, between which peer-to-peer is impossible, so that every all-reduce goes through host memory; \
                 without MIG TP{tp} reduces over PCIe or NVLink directly, where the platform lets GPUs reach each other"
            ),
            effect: of_whole.or_else(|| found.bound()),
            based_on: format!("{MIG_SOURCE}; {rests_on}"),
            prove: found
                .commands()
                .on_whole_gpus(found.attribution.batch)
                .map(|commands| format!("on the whole GPUs: {commands}")),
        },
        compare_replicas(
            found,
            Rule::MigWithoutPeers,
            "replicas exchange nothing",
            MIG_SOURCE,
        ),
        Advice {
            rule: Rule::MigWithoutPeers,
            what: format!("compare pipeline parallelism (PP{tp}) with TP{tp}"),
            why: found.in_reality(
                "it sends activations once a stage, not twice a layer; it can give more tokens/s in all, and one request by itself gets \
                 none faster than from one GPU",
            ),
            effect: None,
            based_on: MIG_SOURCE.to_owned(),
            prove: found.prove_in_reality(
                found.commands().served_in_stages(tp, found.attribution.batch),
            ),
        },
    ]
}

/// The driver refuses, and nothing rules peer access out.
pub(super) fn denied(found: &Found) -> Vec<Advice> {
    if found.inputs.is_mig() || found.inputs.peer_state() != PeerState::Denied {
        return Vec::new();
    }
    let seen = on_the_way(found.inputs);
    let (what, why) = if found.inputs.known.guest == Some(true) {
        (
            "use a host that lets passed-through GPUs reach each other, or bare metal".to_owned(),
            "the driver denies peer access in this virtual machine: the hypervisor isolates the GPUs"
                .to_owned(),
        )
    } else {
        (
            remedy(&seen),
            match seen.is_empty() {
                true => "the driver denies peer access on bare metal: ACS that redirects requests, an IOMMU that translates, or a driver without peer access for this card".to_owned(),
                false => format!("the driver denies peer access on bare metal, and {}", seen.words()),
            },
        )
    };
    vec![Advice {
        rule: Rule::PeersDenied,
        what,
        why,
        ..through_host(found)
    }]
}

/// Access is reported, and bytes go through host memory.
pub(super) fn staged(found: &Found) -> Vec<Advice> {
    let inputs = found.inputs;
    if inputs.is_mig() || inputs.peer_state() != PeerState::Staged {
        return Vec::new();
    }
    let seen = on_the_way(inputs);
    let is_guest = inputs.known.guest == Some(true);
    let mut why =
        "peer access is reported, and copies behave as if they went through host memory".to_owned();
    if !seen.is_empty() && !is_guest {
        why.push_str(&format!("; {}", seen.words()));
    }
    vec![Advice {
        rule: Rule::PeersStaged,
        what: match is_guest {
            true => "have the host's ACS and IOMMU looked at, or use bare metal".to_owned(),
            false => remedy(&seen),
        },
        why,
        ..through_host(found)
    }]
}

/// What advice on bytes that go through host memory has in common.
fn through_host(found: &Found) -> Advice {
    let effect = found.by(By::PeerAccess);
    let by = match effect {
        Some(_) => "the effect is by all-reduce times published for these GPUs with peer access",
        None => "the gain is this attribution's",
    };
    Advice {
        rule: Rule::PeersDenied,
        what: String::new(),
        why: String::new(),
        effect: effect.or_else(|| found.bound()),
        based_on: format!("peer probes of this box; {by}"),
        prove: Some(format!(
            "{}, then {} and {}",
            found.commands().doctor(),
            found.commands().links(),
            found.time_collectives()
        )),
    }
}

/// What probes saw on the way between the GPUs.
#[derive(Default)]
struct OnTheWay {
    redirects: bool,
    translates: bool,
}

impl OnTheWay {
    fn is_empty(&self) -> bool {
        !self.redirects && !self.translates
    }

    fn words(&self) -> String {
        let seen = [
            (self.redirects, "a port on the way redirects requests (ACS)"),
            (self.translates, "the IOMMU translates the GPUs' requests"),
        ];
        let seen = seen.iter().filter(|(is, _)| *is).map(|(_, words)| *words);
        seen.collect::<Vec<_>>().join(", and ")
    }
}

fn on_the_way(inputs: &Inputs) -> OnTheWay {
    let used = inputs.tp as usize;
    let probes = inputs.seen.links.iter().flat_map(|links| &links.probes);
    let ways: Vec<&PeerSurroundings> = probes
        .filter(|probe| probe.from < used && probe.to < used)
        .filter_map(|probe| probe.surroundings.as_ref())
        .collect();
    let translates = |way: &&PeerSurroundings| {
        let mut modes = way.iommu.iter();
        modes.any(|mode| mode.known() == Some(&IommuMode::Translated))
    };
    OnTheWay {
        redirects: ways.iter().any(|way| way.redirecting().next().is_some()),
        translates: ways.iter().any(translates),
    }
}

fn remedy(seen: &OnTheWay) -> String {
    match (seen.redirects, seen.translates) {
        (true, true) => "switch ACS redirection off and the IOMMU to pass-through (iommu=pt), then probe again with p2p-bw",
        (true, false) => "switch ACS redirection off on the ports between the GPUs, then probe again with p2p-bw",
        (false, true) => "switch the IOMMU to pass-through (iommu=pt) or off, then probe again with p2p-bw",
        (false, false) => "look at ACS and the IOMMU, then probe again with p2p-bw",
    }
    .to_owned()
}

/// Variables that keep the library from peer access, with the values that do; where any value but `0` does, the list is empty.
/// NCCL's user guide, environment variables; RCCL reads the same names. Level `NVL` leaves NVLink.
const TOLD_OFF: [(&str, &[&str]); 3] = [
    ("NCCL_P2P_DISABLE", &[]),
    ("NCCL_P2P_LEVEL", &["LOC", "0", "NVL", "1"]),
    ("MCCL_P2P_DISABLE", &[]),
];

/// A variable that keeps the library from the peer access that there is.
pub(crate) fn library_told_off(inputs: &Inputs) -> Option<&Variable> {
    if inputs.around.full_nvlink || inputs.peer_state() != PeerState::Direct {
        return None;
    }
    TOLD_OFF.iter().find_map(|(name, values)| {
        inputs.seen.variable(name, |value| match values {
            [] => !matches!(value.trim(), "" | "0"),
            values => values
                .iter()
                .any(|off| off.eq_ignore_ascii_case(value.trim())),
        })
    })
}

/// A variable keeps the library from it.
pub(super) fn told_off(found: &Found) -> Vec<Advice> {
    let Some(variable) = library_told_off(found.inputs).filter(|_| found.is_claimed()) else {
        return Vec::new();
    };
    vec![Advice {
        rule: Rule::LibraryToldOff,
        what: format!("leave {} away", variable.name),
        why: format!(
            "{} was set to {} ({}), which keeps the library from the peer access that probes found to work",
            variable.name, variable.value, variable.origin
        ),
        effect: found.by(By::PeerAccess).or_else(|| found.bound()),
        based_on: "the record's environment and the peer probes of this box; NCCL user guide, environment variables".to_owned(),
        prove: Some(format!(
            "{}; without the variable and with it, then the server both ways",
            found.time_collectives()
        )),
    }]
}
