//! Which way a collective library took: a run of its own whose log is read, and the rules that explain it.
//!
//! The run is never the timed one: writing costs time, and what is written must not change what is measured. It calls each size
//! once, in ranks of their own, and what goes wrong in it is told and loses nothing.

mod log;
mod rule;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use program::Stop;
use record::{LibraryFacts, LinkDevice, TransportFacts};
use runner::Signal;
use topology::{Machine, Sysfs, peer_surroundings};

use self::log::Log;
use self::rule::{Known, Pair, explain};
use super::group::{Group, Setup, Start, Trouble};
use crate::messages::{Job, RankReply, RankRequest};

/// Variables that make a library say what it does, under each library's prefix. A named file is written line by line, where
/// standard output would be kept back until the process ends (src/debug.cc).
const ASK: [(&str, &str); 6] = [
    ("NCCL_DEBUG", "INFO"),
    ("NCCL_DEBUG_SUBSYS", "INIT,ENV,P2P,SHM,NET,TUNING"),
    ("NCCL_DEBUG_FILE", "/dev/stderr"),
    ("MCCL_DEBUG", "INFO"),
    ("MCCL_DEBUG_SUBSYS", "INIT,ENV,P2P,SHM,NET,TUNING"),
    ("MCCL_DEBUG_FILE", "/dev/stderr"),
];

/// Beginnings of the names of variables that may decide the transport.
const DECIDE: [&str; 3] = ["NCCL_", "RCCL_", "MCCL_"];

/// Added to the deadline of a call: the first one connects the ranks.
const CONNECT: Duration = Duration::from_secs(20);

/// What is known of the box, for the rules.
pub(super) struct Around<'a> {
    /// Whether the library plays a box.
    pub(super) is_soft: bool,
    pub(super) machine: &'a Machine,
    pub(super) sysfs: &'a Sysfs,
    /// In rank order.
    pub(super) devices: &'a [LinkDevice],
    /// The host of each rank, where there are several; empty for one host.
    pub(super) hosts: &'a [String],
    pub(super) mig: bool,
    /// Whether the driver allows every device to reach every other; `None` where it did not say.
    pub(super) peer_access: Option<bool>,
}

/// Runs each of these calls once with the library's log on, and says what the log tells.
///
/// # Errors
/// A signal came; anything else stands in [`TransportFacts::not_told`].
pub(super) fn logged_run(
    setup: &Setup<'_>,
    mut start: Start,
    jobs: &[Job],
    around: &Around<'_>,
) -> Result<TransportFacts, Signal> {
    let log = Arc::new(Mutex::new(Log::default()));
    let took = Arc::clone(&log);
    start.log = Some(Arc::new(move |line: &str| {
        took.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take(line);
    }));
    let pair = |(name, value): &(&str, &str)| (OsString::from(name), OsString::from(value));
    start.environment.extend(ASK.iter().map(pair));
    let mut library = None;
    let mut not_told = match calls(setup, &start, jobs, &mut library) {
        Ok(()) => None,
        Err(Trouble::Interrupted(signal)) => return Err(signal),
        Err(Trouble::Failed { reason } | Trouble::Stop(Stop::Refused(reason))) => {
            Some(reason.detail)
        }
        Err(Trouble::Hang { doing, .. }) => Some(doing),
        Err(Trouble::Stop(Stop::Interrupted(signal))) => return Err(signal),
        Err(Trouble::Stop(Stop::Usage(reason))) => Some(reason),
        Err(Trouble::Stop(Stop::Internal(error))) => Some(format!("{error:#}")),
    };
    let log = log.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if log.channels.is_empty() && not_told.is_none() {
        not_told = Some("the library's log names no channel".to_owned());
    } else if log.choices.is_empty() && not_told.is_none() {
        not_told = Some(
            "the library's log names no algorithm and protocol; NCCL does from 2.22 on".to_owned(),
        );
    }
    let channels: Vec<_> = log.channels.into_iter().collect();
    let reasons = explain(&known(around, library), &channels);
    Ok(TransportFacts {
        arm: None,
        channels,
        choices: log.choices,
        reasons,
        why: log.remarks,
        not_told,
    })
}

/// Opens, which tells the library's name, joins and calls.
fn calls(
    setup: &Setup<'_>,
    start: &Start,
    jobs: &[Job],
    library: &mut Option<LibraryFacts>,
) -> Result<(), Trouble> {
    let (mut group, opened) = Group::open(setup, start)?;
    *library = Some(opened.library);
    group.join()?;
    let mut called = BTreeSet::new();
    for job in jobs {
        if !called.insert((job.kind, job.bytes_per_rank)) {
            continue;
        }
        let job = Job {
            verify: false,
            ..*job
        };
        for reply in group.all("a call whose log is read", CONNECT, |_| {
            RankRequest::Prepare { job }
        })? {
            if let RankReply::Failed { reason } = reply {
                return Err(Trouble::Failed { reason });
            }
        }
    }
    group.finish();
    Ok(())
}

/// What the rules look at.
fn known(around: &Around<'_>, library: Option<LibraryFacts>) -> Known {
    let library = library.unwrap_or_default();
    let version = library.version.unwrap_or_default();
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    let decides =
        |(name, _): &(String, String)| DECIDE.iter().any(|prefix| name.starts_with(prefix));
    let variables = std::env::vars_os()
        .filter_map(text)
        .filter(decides)
        .collect();
    Known {
        library: library.name,
        version: version
            .split(['.', '-', '+'])
            .map_while(|part| part.parse().ok())
            .collect(),
        is_soft: around.is_soft,
        cpu: around.machine.cpus.clone(),
        devices: most_on_a_host(around),
        mig: around.mig,
        peer_access: around.peer_access,
        variables,
        pairs: pairs(around),
    }
}

/// The most devices that one host has of the communicator: the library counts those of each host for itself.
fn most_on_a_host(around: &Around<'_>) -> usize {
    let of = |host: &String| around.hosts.iter().filter(|other| *other == host).count();
    let most = around.hosts.iter().map(of).max();
    most.unwrap_or(around.devices.len())
}

/// Every pair of ranks of this host, which is rank 0's, whose devices are on the PCI bus: of other hosts nothing is read here.
fn pairs(around: &Around<'_>) -> Vec<Pair> {
    let host = |rank: usize| around.hosts.get(rank);
    let ranks = 0..around.devices.len();
    let all = ranks
        .clone()
        .flat_map(|a| ranks.clone().map(move |b| (a, b)));
    all.filter(|(a, b)| a < b && host(*a) == host(0) && host(*b) == host(0))
        .filter_map(|(a, b)| {
            let addresses = (around.devices[a].address?, around.devices[b].address?);
            Some(Pair {
                ranks: [u32::try_from(a).ok()?, u32::try_from(b).ok()?],
                path: around.machine.path_type(addresses.0, addresses.1),
                around: peer_surroundings(around.machine, around.sysfs, addresses.0, addresses.1),
            })
        })
        .collect()
}
