//! What a case moves: the list of transfers that run at once, with their ends, issuers and patterns.

use device::pattern::Pattern;
use device::{Backend, HostKind, Result};
use measure::record::Endpoint;

use super::bench::{Bench, End, Say};
use crate::cases::{self, Case, Issuer, Memory};
use crate::messages::Job;

/// One stream of copies.
pub(super) struct Transfer<B: Backend> {
    /// `bandwidth`, or `forward` and `back`.
    pub(super) name: &'static str,
    pub(super) from: End<B::Device>,
    pub(super) to: End<B::Device>,
    /// The device whose stream issues the copies.
    pub(super) issuer: usize,
    /// The device that takes the data up from host memory, where it is staged by us.
    pub(super) relay_to: Option<usize>,
    pub(super) pattern: Pattern,
}

/// The transfers of a job, with their buffers allocated and peer access set.
pub(super) fn of<B: Backend>(
    bench: &mut Bench<B>,
    case: &Case,
    job: &Job,
    node: Option<u32>,
    say: Say<'_>,
) -> Result<Vec<Transfer<B>>> {
    let first = ordinal(job.from).or(ordinal(job.to)).unwrap_or(0);
    let second = ordinal(job.to).unwrap_or(first);
    let host = |memory| match memory {
        Memory::Pinned => HostKind::Pinned,
        Memory::Pageable => HostKind::Pageable,
    };
    let seed = |forward: bool| {
        let (a, b) = (code(job.from), code(job.to));
        let (a, b) = if forward { (a, b) } else { (b, a) };
        Pattern::of(a, b, job.bytes)
    };
    let one = |from, to, issuer| Transfer {
        name: "bandwidth",
        from,
        to,
        issuer,
        relay_to: None,
        pattern: seed(true),
    };
    Ok(match case.pattern {
        cases::Pattern::HostToDevice(memory) => {
            let from = bench.host_end(first, 0, host(memory), node, say)?;
            vec![one(from, bench.device_end(first, 0, say)?, first)]
        }
        cases::Pattern::DeviceToHost(memory) => {
            let from = bench.device_end(first, 0, say)?;
            vec![one(
                from,
                bench.host_end(first, 0, host(memory), node, say)?,
                first,
            )]
        }
        cases::Pattern::HostBothWays(memory) => {
            let down = one(
                bench.host_end(first, 0, host(memory), node, say)?,
                bench.device_end(first, 0, say)?,
                first,
            );
            let up = one(
                bench.device_end(first, 1, say)?,
                bench.host_end(first, 1, host(memory), node, say)?,
                first,
            );
            vec![
                Transfer {
                    name: "forward",
                    ..down
                },
                Transfer {
                    name: "back",
                    pattern: seed(false),
                    ..up
                },
            ]
        }
        cases::Pattern::Local => vec![one(
            bench.device_end(first, 0, say)?,
            bench.device_end(first, 1, say)?,
            first,
        )],
        cases::Pattern::Peer(issuer) => {
            let (issuer, other) = if issuer == Issuer::Source {
                (first, second)
            } else {
                (second, first)
            };
            bench.enable_peer(issuer, other)?;
            vec![one(
                bench.device_end(first, 0, say)?,
                bench.device_end(second, 1, say)?,
                issuer,
            )]
        }
        cases::Pattern::PeerBothWays(issuer) => {
            bench.enable_peer(first, second)?;
            bench.enable_peer(second, first)?;
            let source = issuer == Issuer::Source;
            let there = one(
                bench.device_end(first, 0, say)?,
                bench.device_end(second, 1, say)?,
                if source { first } else { second },
            );
            let back = one(
                bench.device_end(second, 0, say)?,
                bench.device_end(first, 1, say)?,
                if source { second } else { first },
            );
            vec![
                Transfer {
                    name: "forward",
                    ..there
                },
                Transfer {
                    name: "back",
                    pattern: seed(false),
                    ..back
                },
            ]
        }
        cases::Pattern::Staged => {
            let transfer = one(
                bench.device_end(first, 0, say)?,
                bench.device_end(second, 1, say)?,
                first,
            );
            vec![Transfer {
                relay_to: Some(second),
                ..transfer
            }]
        }
        cases::Pattern::DriverStaged => {
            bench.disable_peer(first, second)?;
            vec![one(
                bench.device_end(first, 0, say)?,
                bench.device_end(second, 1, say)?,
                first,
            )]
        }
    })
}

/// The devices that take part in a job, each once.
pub(super) fn stations(job: &Job) -> Vec<usize> {
    let mut stations: Vec<usize> = [job.from, job.to].into_iter().filter_map(ordinal).collect();
    stations.dedup();
    stations
}

fn ordinal(end: Endpoint) -> Option<usize> {
    match end {
        Endpoint::Host => None,
        Endpoint::Device(ordinal) => Some(ordinal),
    }
}

/// A number for an end, so that every pair has its own pattern.
fn code(end: Endpoint) -> u64 {
    ordinal(end).map_or(0, |ordinal| ordinal as u64 + 1)
}
