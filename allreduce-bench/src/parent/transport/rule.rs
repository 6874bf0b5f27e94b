//! Why a collective library took the transport that it took: the rules that decide, with what was read for each.
//!
//! Rules as in NCCL 2.30 (src/transport/p2p.cc `p2pCanConnect`, and those of [`doctor::p2p`]), which RCCL and MetaX's library descend
//! from. A rule explains; whether a path works is measured elsewhere.

use doctor::p2p;
use measure::record::Channel;
use topology::{Cpus, Crossing, Fact, PathType, PeerSurroundings};

/// What is known of one pair of ranks on one host.
#[derive(Debug, Clone)]
pub(super) struct Pair {
    pub(super) ranks: [u32; 2],
    pub(super) path: PathType,
    pub(super) around: PeerSurroundings,
}

/// What is known of the box and the run.
#[derive(Debug, Clone)]
pub(super) struct Known {
    /// As the records call it, such as `nccl`.
    pub(super) library: String,
    /// Its version as numbers; empty where it is not known.
    pub(super) version: Vec<u32>,
    /// Whether it plays a box and so obeys no level.
    pub(super) is_soft: bool,
    pub(super) cpu: Cpus,
    /// Devices of the communicator on this host.
    pub(super) devices: usize,
    pub(super) mig: bool,
    /// Whether the driver allows every device to reach every other; `None` where it did not say.
    pub(super) peer_access: Option<bool>,
    /// Variables of the library that the ranks had, by name.
    pub(super) variables: Vec<(String, String)>,
    pub(super) pairs: Vec<Pair>,
}

/// The rules that explain the transport of these channels; one sentence each.
pub(super) fn explain(known: &Known, channels: &[Channel]) -> Vec<String> {
    let mut why = Vec::new();
    let by = |prefix: &str| {
        channels
            .iter()
            .any(|channel| channel.via.starts_with(prefix))
    };
    if by("NET") {
        why.push(
            "NET: the ranks are on different hosts, or neither direct access nor shared memory connects them"
                .to_owned(),
        );
    }
    if by("SHM") {
        why.extend(no_direct_access(known));
    }
    if by("P2P") {
        why.extend(direct_access(known));
    }
    why
}

/// Why there is no direct access: everything that forbids it.
fn no_direct_access(known: &Known) -> Vec<String> {
    let mut why = Vec::new();
    if let Some((name, value)) = known.set("P2P_DISABLE").filter(|(_, value)| *value == "1") {
        // The library then looks at nothing else, whatever level is set.
        return vec![format!("SHM: {name}={value} forbids direct access")];
    }
    if known.mig {
        why.push(
            "SHM: MIG instances have no peer access over PCIe or NVLink (NVIDIA/nccl issue 1716)"
                .to_owned(),
        );
    } else if known.peer_access == Some(false) {
        why.push("SHM: the driver allows no peer access between these devices".to_owned());
    }
    let beyond = known.beyond_the_level();
    if let Some((level, source)) = known.level()
        && !beyond.is_empty()
    {
        why.push(format!(
            "SHM: direct access goes up to {level} ({source}), and {}; {} lets it try",
            beyond.join(", "),
            known.variable("P2P_LEVEL=SYS"),
        ));
    }
    if why.is_empty() {
        why.push(
            "SHM: no rule that is known here forbids direct access; look at containers that share no memory, isolated IPC namespaces, \
             and what the library warns of"
                .to_owned(),
        );
    }
    why.extend(known.redirected());
    why
}

/// Why there is direct access, and what may make it slow.
fn direct_access(known: &Known) -> Vec<String> {
    let mut why = Vec::new();
    let beyond = known.beyond_the_level();
    let across: Vec<String> = known
        .pairs
        .iter()
        .filter(|pair| p2p::is_beyond(pair.path, PathType::Pxb))
        .map(Pair::words)
        .collect();
    match known.level() {
        Some((level, source)) if !beyond.is_empty() && known.is_soft => why.push(format!(
            "P2P: the soft library plays no P2P levels; {} itself would go up to {level} only by PCI Express ({source}), so through \
             host memory between {}; {} lets it try",
            known.library.to_uppercase(),
            beyond.join(", "),
            known.variable("P2P_LEVEL=SYS"),
        )),
        Some((level, source)) if !beyond.is_empty() => why.push(format!(
            "P2P: by PCI Express it goes up to {level} only ({source}), and {} are farther: no rule that is known here explains it; links \
             beside PCI Express, such as NVLink, are not read yet",
            beyond.join(", ")
        )),
        Some((level, source)) if !across.is_empty() => why.push(format!(
            "P2P: by PCI Express it goes up to {level} ({source}), so also between {}",
            across.join(", ")
        )),
        Some((level, source)) => {
            why.push(format!("P2P: within {level}, up to which it goes by PCI Express ({source})"));
        }
        None => {}
    }
    if known.peer_access == Some(false) {
        why.push(
            "P2P: the library says so although the driver allows no peer access between these devices; check it with p2p-bw"
                .to_owned(),
        );
    }
    why.extend(known.redirected());
    why
}

impl Known {
    /// The variable of the library whose name ends so.
    fn set(&self, ending: &str) -> Option<(&str, &str)> {
        let name = self.variable(ending);
        let found = self.variables.iter().find(|(known, _)| *known == name);
        found.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    fn variable(&self, ending: &str) -> String {
        p2p::variable(&self.library, ending)
    }

    /// How far direct access goes, and what says so; `None` where the rule is not known.
    fn level(&self) -> Option<(PathType, String)> {
        let set = |name: &str| {
            let found = self.variables.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.as_str())
        };
        let library = p2p::Library {
            name: &self.library,
            version: (!self.version.is_empty()).then_some(self.version.as_slice()),
        };
        p2p::level_of(library, &self.cpu, self.devices, set)
    }

    fn beyond_the_level(&self) -> Vec<String> {
        let Some((level, _)) = self.level() else {
            return Vec::new();
        };
        self.pairs
            .iter()
            .filter(|pair| p2p::is_beyond(pair.path, level))
            .map(Pair::words)
            .collect()
    }

    /// Ports on the way that send requests up to the root complex.
    fn redirected(&self) -> Option<String> {
        let pair = self.pairs.iter().find(|pair| match &pair.around.acs {
            Fact::Known(ports) => ports.iter().any(|port| port.redirects() == Some(true)),
            Fact::Unknown(_) => false,
        })?;
        let crossing = match pair.around.crossing {
            Fact::Known(Crossing::Switch) => "instead of within the switch",
            _ => "on the way",
        };
        Some(format!(
            "ACS sends requests between {} up to the root complex {crossing}",
            pair.words()
        ))
    }
}

impl Pair {
    /// `0 and 1 (NODE)`.
    fn words(&self) -> String {
        let [a, b] = self.ranks;
        format!("{a} and {b} ({})", self.path)
    }
}

#[cfg(test)]
mod tests {
    use topology::LargeBar;

    use super::*;

    fn unknown<T>() -> Fact<T> {
        Fact::Unknown("not read".to_owned())
    }

    fn known(path: PathType, devices: usize, cpu: &str) -> Known {
        Known {
            library: "nccl".to_owned(),
            version: Vec::new(),
            is_soft: false,
            cpu: Cpus {
                model: Some(cpu.to_owned()),
                ..Cpus::default()
            },
            devices,
            mig: false,
            peer_access: Some(true),
            variables: Vec::new(),
            pairs: vec![Pair {
                ranks: [0, 1],
                path,
                around: PeerSurroundings {
                    crossing: unknown(),
                    acs: unknown(),
                    iommu: [unknown(), unknown()],
                    bars: [unknown::<LargeBar>(), unknown()],
                },
            }],
        }
    }

    fn via(via: &str) -> Vec<Channel> {
        vec![Channel {
            number: 0,
            from: 0,
            to: 1,
            via: via.to_owned(),
        }]
    }

    #[test]
    fn two_gpus_on_amd_reach_each_other_across_sockets_and_four_do_not() {
        let why = explain(&known(PathType::Sys, 2, "AMD EPYC 9334"), &via("P2P/CUMEM"));
        assert_eq!(why.len(), 1, "{why:?}");
        assert!(
            why[0].contains("up to SYS") && why[0].contains("2 GPUs"),
            "{why:?}"
        );
        let why = explain(
            &known(PathType::Node, 4, "AMD EPYC 9334"),
            &via("SHM/direct/direct"),
        );
        assert!(
            why[0].contains("up to PXB") && why[0].contains("here 4") && why[0].contains("(NODE)"),
            "{why:?}"
        );
        assert!(why[0].contains("NCCL_P2P_LEVEL=SYS lets it try"), "{why:?}");
    }

    #[test]
    fn intels_cpus_have_the_lower_level_for_two_gpus_too() {
        let why = explain(
            &known(PathType::Phb, 2, "Intel(R) Xeon(R) Gold"),
            &via("SHM/direct"),
        );
        assert!(
            why[0].contains("up to PXB") && why[0].contains("Intel"),
            "{why:?}"
        );
    }

    #[test]
    fn direct_access_beyond_the_level_is_another_links() {
        let why = explain(
            &known(PathType::Sys, 8, "Intel(R) Xeon(R)"),
            &via("P2P/CUMEM"),
        );
        assert!(why[0].contains("such as NVLink"), "{why:?}");
    }

    #[test]
    fn a_soft_library_goes_beyond_the_level_as_it_plays_none() {
        let mut known = known(PathType::Node, 4, "AMD EPYC 9334");
        known.is_soft = true;
        let why = explain(&known, &via("P2P/CUMEM"));
        assert_eq!(why.len(), 1, "{why:?}");
        assert!(
            why[0].contains("plays no P2P levels; NCCL itself would go up to PXB only")
                && why[0].contains("through host memory between 0 and 1 (NODE)")
                && !why[0].contains("NVLink"),
            "{why:?}"
        );
    }

    #[test]
    fn what_the_user_set_outranks_the_default() {
        let mut known = known(PathType::Sys, 4, "AMD EPYC 9334");
        known.variables = vec![("NCCL_P2P_LEVEL".to_owned(), "SYS".to_owned())];
        let why = explain(&known, &via("P2P/IPC"));
        assert!(why[0].contains("NCCL_P2P_LEVEL=SYS"), "{why:?}");
        // Where direct access is forbidden the level is not looked at.
        known.variables = vec![("NCCL_P2P_DISABLE".to_owned(), "1".to_owned())];
        let why = explain(&known, &via("SHM/direct"));
        assert_eq!(why, ["SHM: NCCL_P2P_DISABLE=1 forbids direct access"]);
        known.variables = vec![("NCCL_P2P_LEVEL".to_owned(), "NVL".to_owned())];
        let why = explain(&known, &via("SHM/direct"));
        assert!(why[0].contains("NCCL_P2P_LEVEL=NVL"), "{why:?}");
    }

    #[test]
    fn mig_and_a_driver_that_refuses_are_named_and_nothing_is_made_up() {
        let mut known = known(PathType::Pix, 2, "AMD EPYC 9334");
        known.mig = true;
        let why = explain(&known, &via("SHM/direct"));
        assert_eq!(why.len(), 1, "{why:?}");
        assert!(why[0].contains("MIG"), "{why:?}");
        known.mig = false;
        known.peer_access = Some(false);
        let why = explain(&known, &via("SHM/direct"));
        assert!(
            why[0].contains("the driver allows no peer access"),
            "{why:?}"
        );
        known.peer_access = Some(true);
        let why = explain(&known, &via("SHM/direct"));
        assert!(why[0].contains("no rule that is known here"), "{why:?}");
        assert!(explain(&known, &[]).is_empty());
    }
}
