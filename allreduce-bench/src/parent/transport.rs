//! Which way a collective library took: a run of its own whose log is read, and the rules that explain it.
//!
//! The run is never the timed one: writing costs time, and what is written must not change what is measured. It calls each size
//! once, in ranks of their own, and what goes wrong in it is told and loses nothing.
//!
//! Rules as in NCCL 2.30 (src/transport/p2p.cc `p2pCanConnect`, and those of [`doctor::p2p`]), which RCCL and MetaX's library descend
//! from. A rule explains; whether a path works is measured elsewhere.

mod log;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use doctor::p2p;
use program::Stop;
use record::{Channel, LibraryFacts, LinkDevice, PairPath, TransportFacts, TransportReason};
use runner::LineSink;
use topology::{Cpus, Machine, PathType};

use self::log::Log;
use super::group::{CONNECT, Group, Setup, Trouble};
use crate::messages::{Job, RankRequest};

/// Runs each of these calls once with the library's log on, and says what the log tells.
///
/// # Errors
/// A signal came; what went wrong with the ranks stands in [`TransportFacts::not_told`].
pub(super) fn logged_run(
    setup: &Setup<'_>,
    jobs: &[Job],
    known: &Known,
) -> Result<TransportFacts, Stop> {
    let log = Arc::new(Mutex::new(Log::default()));
    let took = Arc::clone(&log);
    let sink: LineSink = Arc::new(move |line: &str| {
        let mut log = took.lock().unwrap_or_else(PoisonError::into_inner);
        log.take(line);
    });
    let not_told = match calls(setup, &sink, jobs) {
        Ok(()) => None,
        Err(Trouble::Stop(stop)) => return Err(stop),
        Err(Trouble::Lost { reason, .. } | Trouble::NotThere(reason)) => Some(reason.detail),
    };
    let log = log.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let lacks = match (log.channels.is_empty(), log.choices.is_empty()) {
        (true, _) => Some("channel"),
        (_, true) => Some("algorithm and protocol; NCCL does from 2.22 on"),
        _ => None,
    };
    let lacks = lacks.map(|what| format!("the library's log names no {what}"));
    let channels: Vec<_> = log.channels.into_iter().collect();
    Ok(TransportFacts {
        reasons: explain(known, &channels),
        channels,
        choices: log.choices,
        why: log.remarks,
        not_told: not_told.or(lacks),
    })
}

/// Opens, joins and calls.
fn calls(setup: &Setup<'_>, log: &LineSink, jobs: &[Job]) -> Result<(), Trouble> {
    let mut group = Group::joined(setup, None, Some(log))?;
    let mut called = BTreeSet::new();
    for job in jobs {
        if called.insert((job.kind, job.bytes_per_rank)) {
            let prepare = RankRequest::Prepare {
                job: *job,
                verify: false,
            };
            match group.compared("a call whose log is read", CONNECT, &prepare) {
                // What the library does not do has no way.
                Ok(_) | Err(Trouble::NotThere(_)) => {}
                Err(trouble) => return Err(trouble),
            }
        }
    }
    group.finish();
    Ok(())
}

/// The rules that explain the transport of these channels.
fn explain(known: &Known, channels: &[Channel]) -> Vec<TransportReason> {
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
        if known.set(&name) == Some("1") {
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
    reasons
}

/// What the rules look at.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    /// As the records call it, such as `nccl`.
    library: String,
    /// Its version as numbers; empty where it is not known.
    version: Vec<u32>,
    /// Whether it plays a box and so obeys no level.
    pub(super) is_soft: bool,
    cpu: Cpus,
    /// Devices of the communicator on one host, where most are: the library counts those of each host for itself.
    devices: usize,
    pub(super) mig: bool,
    /// Whether the driver allows every device to reach every other; `None` where it did not say.
    pub(super) peer_access: Option<bool>,
    /// Variables that the ranks had, by name.
    variables: BTreeMap<String, String>,
    /// Pairs of ranks of this host, which is rank 0's, whose devices are on the PCI bus: of other hosts nothing is read here.
    pairs: Vec<PairPath>,
}

impl Known {
    /// What is read of the library, this host and the environment. `hosts` are those of the ranks; none where all are on this one.
    pub(super) fn read(
        library: &LibraryFacts,
        devices: &[LinkDevice],
        hosts: &[String],
        machine: &Machine,
    ) -> Self {
        let version = library.version.iter();
        let version = version.flat_map(|text| text.split(['.', '-', '+']));
        let of = |host: &String| hosts.iter().filter(|other| *other == host).count();
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        let addresses =
            |pair: &PairPath| Some((devices[pair.a].address?, devices[pair.b].address?));
        let is_here = |pair: &PairPath| {
            let hosts = [pair.a, pair.b].map(|rank| hosts.get(rank) == hosts.first());
            hosts == [true, true] && addresses(pair).is_some()
        };
        let mut pairs = inventory::paths(devices, machine);
        pairs.retain(is_here);
        Self {
            library: library.name.clone(),
            version: version.map_while(|part| part.parse().ok()).collect(),
            cpu: machine.cpus.clone(),
            devices: hosts.iter().map(of).max().unwrap_or(devices.len()),
            variables: variables.collect(),
            pairs,
            ..Self::default()
        }
    }

    /// The variable of the library whose name ends so.
    fn variable(&self, ending: &str) -> String {
        p2p::variable(&self.library, ending)
    }

    fn set(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// The pairs that lie beyond the level up to which direct access goes; none where the rule is not known.
    fn beyond_the_level(&self) -> Option<TransportReason> {
        let library = p2p::Library {
            name: &self.library,
            version: (!self.version.is_empty()).then_some(self.version.as_slice()),
        };
        let set = |name: &str| self.set(name);
        let (level, detail) = p2p::level_of(library, &self.cpu, self.devices, set)?;
        let beyond = self.pairs.iter();
        let beyond = beyond.filter(|pair| p2p::is_beyond(pair.path, level));
        let pairs = beyond.map(|pair| format!("{}-{} ({})", pair.a, pair.b, pair.path));
        let pairs: Vec<String> = pairs.collect();
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(path: PathType, devices: usize, cpu: &str) -> Known {
        Known {
            library: "nccl".to_owned(),
            cpu: Cpus {
                model: Some(cpu.to_owned()),
                ..Cpus::default()
            },
            devices,
            peer_access: Some(true),
            pairs: vec![PairPath { a: 0, b: 1, path }],
            ..Known::default()
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
