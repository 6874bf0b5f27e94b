//! Which way a collective library took: a run of its own whose log is read, and the rules that explain it.
//!
//! The run is never the timed one: writing costs time, and what is written must not change what is measured. It calls each size
//! once, in ranks of their own, and what goes wrong in it is told and loses nothing.

mod log;
mod rule;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use program::Stop;
use record::{LinkDevice, TransportFacts};
use runner::LineSink;
use topology::{Machine, Sysfs, peer_surroundings};

use self::log::Log;
pub(super) use self::rule::Known;
use self::rule::{Pair, explain};
use super::group::{Group, Setup, Trouble};
use crate::messages::{Job, RankRequest};

/// Beginnings of the names of variables that may decide the transport.
const DECIDE: [&str; 3] = ["NCCL_", "RCCL_", "MCCL_"];

/// Added to the deadline of a call: the first one connects the ranks.
const CONNECT: Duration = Duration::from_secs(20);

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
        took.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take(line);
    });
    let mut not_told = match calls(setup, &sink, jobs) {
        Ok(()) => None,
        Err(Trouble::Stop(stop)) => return Err(stop),
        Err(Trouble::Lost { reason, .. }) => Some(reason.detail),
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
    let reasons = explain(known, &channels);
    Ok(TransportFacts {
        arm: None,
        channels,
        choices: log.choices,
        reasons,
        why: log.remarks,
        not_told,
    })
}

/// Opens, joins and calls.
fn calls(setup: &Setup<'_>, log: &LineSink, jobs: &[Job]) -> Result<(), Trouble> {
    let mut group = Group::joined(setup, None, Some(log))?;
    let mut called = BTreeSet::new();
    for job in jobs {
        if called.insert((job.kind, job.bytes_per_rank)) {
            group.all("a call whose log is read", CONNECT, |_| {
                RankRequest::Prepare { job: *job }
            })?;
        }
    }
    group.finish();
    Ok(())
}

/// The variables of this process that may decide the transport.
pub(super) fn variables() -> BTreeMap<String, String> {
    let decides = |name: &String| DECIDE.iter().any(|prefix| name.starts_with(prefix));
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| decides(name))
        .collect()
}

/// The most devices that one host has of the communicator: the library counts those of each host for itself. `hosts` are those of
/// the ranks; none for one host.
pub(super) fn most_on_a_host(devices: usize, hosts: &[String]) -> usize {
    let of = |host: &String| hosts.iter().filter(|other| *other == host).count();
    hosts.iter().map(of).max().unwrap_or(devices)
}

/// Every pair of ranks of this host, which is rank 0's, whose devices are on the PCI bus: of other hosts nothing is read here.
pub(super) fn pairs(
    devices: &[LinkDevice],
    hosts: &[String],
    machine: &Machine,
    sysfs: &Sysfs,
) -> Vec<Pair> {
    let is_here = |rank: usize| hosts.get(rank) == hosts.first();
    let ranks: Vec<usize> = (0..devices.len()).filter(|rank| is_here(*rank)).collect();
    let all = ranks
        .iter()
        .flat_map(|a| ranks.iter().map(move |b| (*a, *b)));
    all.filter(|(a, b)| a < b)
        .filter_map(|(a, b)| {
            let (one, other) = (devices[a].address?, devices[b].address?);
            Some(Pair {
                ranks: [u32::try_from(a).ok()?, u32::try_from(b).ok()?],
                path: machine.path_type(one, other),
                around: peer_surroundings(machine, sysfs, one, other),
            })
        })
        .collect()
}
