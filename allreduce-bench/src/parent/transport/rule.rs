//! Why a collective library took the transport that it took: the rules that decide, with what was read for each.
//!
//! Rules as in NCCL 2.30 (src/transport/p2p.cc `p2pCanConnect`, and those of [`doctor::p2p`]), which RCCL and MetaX's library descend
//! from. A rule explains; whether a path works is measured elsewhere.

use std::collections::BTreeMap;
use std::fmt;

use doctor::p2p;
use record::{Channel, TransportReason};
use topology::{Cpus, Fact, PathType, PeerSurroundings};

/// What is known of one pair of ranks on one host.
#[derive(Debug, Clone)]
pub(in crate::parent) struct Pair {
    pub(in crate::parent) ranks: [u32; 2],
    pub(in crate::parent) path: PathType,
    pub(in crate::parent) around: PeerSurroundings,
}

/// What is known of the box and the run.
#[derive(Debug, Clone)]
pub(in crate::parent) struct Known {
    /// As the records call it, such as `nccl`.
    pub(in crate::parent) library: String,
    /// Its version as numbers; empty where it is not known.
    pub(in crate::parent) version: Vec<u32>,
    /// Whether it plays a box and so obeys no level.
    pub(in crate::parent) is_soft: bool,
    pub(in crate::parent) cpu: Cpus,
    /// Devices of the communicator on this host.
    pub(in crate::parent) devices: usize,
    pub(in crate::parent) mig: bool,
    /// Whether the driver allows every device to reach every other; `None` where it did not say.
    pub(in crate::parent) peer_access: Option<bool>,
    /// Variables of the library that the ranks had, by name.
    pub(in crate::parent) variables: BTreeMap<String, String>,
    pub(in crate::parent) pairs: Vec<Pair>,
}

/// The rules that explain the transport of these channels.
pub(super) fn explain(known: &Known, channels: &[Channel]) -> Vec<TransportReason> {
    use TransportReason::{Mig, OtherHosts, P2pDisabled, PeerAccessDenied, Unexplained};
    let by = |prefix: &str| {
        let mut channels = channels.iter();
        channels.any(|channel| channel.via.starts_with(prefix))
    };
    let mut reasons = Vec::new();
    if by("NET") {
        reasons.push(OtherHosts);
    }
    let (is_shared, is_direct) = (by("SHM"), by("P2P"));
    if is_shared {
        let name = known.variable("P2P_DISABLE");
        if known.variables.get(&name).is_some_and(|value| value == "1") {
            // The library then looks at nothing else, whatever level is set.
            let variable = format!("{name}=1");
            return vec![P2pDisabled { variable }];
        }
        if known.mig {
            reasons.push(Mig);
        }
    }
    if (is_shared || is_direct) && !known.mig && known.peer_access == Some(false) {
        reasons.push(PeerAccessDenied);
    }
    if is_shared || known.is_soft && is_direct {
        reasons.extend(known.beyond_the_level());
    }
    if is_shared && reasons.is_empty() {
        reasons.push(Unexplained);
    }
    if is_shared || is_direct {
        reasons.extend(known.redirected());
    }
    reasons
}

impl Known {
    /// The variable of the library whose name ends so.
    fn variable(&self, ending: &str) -> String {
        p2p::variable(&self.library, ending)
    }

    /// How far direct access goes, and what says so; `None` where the rule is not known.
    fn level(&self) -> Option<(PathType, String)> {
        let set = |name: &str| self.variables.get(name).map(String::as_str);
        let library = p2p::Library {
            name: &self.library,
            version: (!self.version.is_empty()).then_some(self.version.as_slice()),
        };
        p2p::level_of(library, &self.cpu, self.devices, set)
    }

    fn beyond_the_level(&self) -> Option<TransportReason> {
        let (level, detail) = self.level()?;
        let is_beyond = |pair: &&Pair| p2p::is_beyond(pair.path, level);
        let pairs: Vec<String> = self
            .pairs
            .iter()
            .filter(is_beyond)
            .map(Pair::to_string)
            .collect();
        (!pairs.is_empty()).then(|| TransportReason::BeyondLevel {
            level: match level {
                PathType::Same => "NVL".to_owned(),
                level => level.to_string(),
            },
            detail,
            pairs,
            variable: self.variable("P2P_LEVEL=SYS"),
            simulated: self.is_soft,
        })
    }

    /// Ports on the way that send requests up to the root complex.
    fn redirected(&self) -> Option<TransportReason> {
        let redirects = |pair: &&Pair| match &pair.around.acs {
            Fact::Known(ports) => ports.iter().any(|port| port.redirects() == Some(true)),
            Fact::Unknown(_) => false,
        };
        let pair = self.pairs.iter().find(redirects)?.to_string();
        Some(TransportReason::AcsRedirects { pair })
    }
}

/// `0-1 (NODE)`.
impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = self.ranks;
        write!(f, "{a}-{b} ({})", self.path)
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
            variables: BTreeMap::new(),
            pairs: vec![Pair {
                ranks: [0, 1],
                path,
                around: PeerSurroundings {
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

    fn beyond(reasons: &[TransportReason]) -> Option<(&str, &[String], &str, bool)> {
        reasons.iter().find_map(|reason| match reason {
            TransportReason::BeyondLevel {
                level,
                pairs,
                variable,
                simulated,
                ..
            } => Some((
                level.as_str(),
                pairs.as_slice(),
                variable.as_str(),
                *simulated,
            )),
            _ => None,
        })
    }

    #[test]
    fn two_gpus_on_amd_reach_each_other_across_sockets_and_four_do_not() {
        let two = known(PathType::Sys, 2, "AMD EPYC 9334");
        assert_eq!(explain(&two, &via("P2P/CUMEM")), []);
        let four = known(PathType::Node, 4, "AMD EPYC 9334");
        let pairs = ["0-1 (NODE)".to_owned()];
        assert_eq!(
            beyond(&explain(&four, &via("SHM/direct/direct"))),
            Some(("PXB", &pairs[..], "NCCL_P2P_LEVEL=SYS", false))
        );
        let intel = known(PathType::Phb, 2, "Intel(R) Xeon(R) Gold");
        let why = explain(&intel, &via("SHM/direct"));
        assert_eq!(beyond(&why).map(|(level, ..)| level), Some("PXB"));
    }

    #[test]
    fn what_the_user_set_outranks_the_default() {
        let mut known = known(PathType::Sys, 4, "AMD EPYC 9334");
        // Where direct access is forbidden the level is not looked at.
        known.variables = BTreeMap::from([("NCCL_P2P_DISABLE".to_owned(), "1".to_owned())]);
        let why = explain(&known, &via("SHM/direct"));
        let variable = "NCCL_P2P_DISABLE=1".to_owned();
        assert_eq!(why, [TransportReason::P2pDisabled { variable }]);
        known.variables = BTreeMap::from([("NCCL_P2P_LEVEL".to_owned(), "NVL".to_owned())]);
        let why = explain(&known, &via("SHM/direct"));
        assert_eq!(beyond(&why).map(|(level, ..)| level), Some("NVL"));
    }

    #[test]
    fn mig_and_a_driver_that_refuses_are_named_and_nothing_is_made_up() {
        let mut known = known(PathType::Pix, 2, "AMD EPYC 9334");
        known.mig = true;
        assert_eq!(explain(&known, &via("SHM/direct")), [TransportReason::Mig]);
        known.mig = false;
        known.peer_access = Some(false);
        let denied = [TransportReason::PeerAccessDenied];
        assert_eq!(explain(&known, &via("SHM/direct")), denied);
        known.peer_access = Some(true);
        let why = explain(&known, &via("SHM/direct"));
        assert_eq!(why, [TransportReason::Unexplained]);
        assert!(explain(&known, &[]).is_empty());
    }
}
