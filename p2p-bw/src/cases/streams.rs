//! What a case moves on its ends: the streams that run at once, the peer access and the buffers that they need.
//!
//! Devices are numbers of any kind: positions in the record for the parent, ordinals of the driver for the worker. Streams
//! over several devices are named by position in either case.

use std::collections::BTreeSet;

use record::Endpoint::{self, Device, Host};

use super::{Case, Issuer, Pattern};

/// One stream of copies, or the loads of a pointer chase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stream {
    /// The quantity's name: `bandwidth`, `forward`, `back`, or a share with the positions of its devices.
    pub(crate) name: String,
    /// Host memory or a device.
    pub(crate) from: Endpoint,
    /// Host memory or a device.
    pub(crate) to: Endpoint,
    /// The device whose stream issues the copies, or whose kernel loads.
    pub(crate) issuer: usize,
}

impl Stream {
    /// The end whose memory a pointer chase walks through: the one that is not the kernel's own, where there is one.
    pub(crate) fn walked(&self) -> Endpoint {
        match self.from == Endpoint::Device(self.issuer) {
            true => self.to,
            false => self.from,
        }
    }
}

impl Case {
    /// The streams of this case between two ends; `all` are the devices that [`Endpoint::All`] stands for.
    pub(crate) fn streams(&self, from: Endpoint, to: Endpoint, all: &[usize]) -> Vec<Stream> {
        let moves = self.moves(from, to, all).into_iter();
        let by_destination = matches!(
            self.pattern,
            Pattern::Peer(Issuer::Destination) | Pattern::PeerBothWays(Issuer::Destination)
        );
        let stream = |(name, from, to)| {
            let issuer = match (from, to) {
                (Device(_), Device(to)) if by_destination => to,
                (Device(device), _) | (_, Device(device)) => device,
                _ => return None,
            };
            Some(Stream {
                name,
                from,
                to,
                issuer,
            })
        };
        moves.filter_map(stream).collect()
    }

    fn moves(
        &self,
        from: Endpoint,
        to: Endpoint,
        all: &[usize],
    ) -> Vec<(String, Endpoint, Endpoint)> {
        let members = || all.iter().copied().map(Device).enumerate();
        let each = |ends: &dyn Fn(usize, Endpoint) -> (Endpoint, Endpoint)| {
            let share = |(position, device)| {
                let (from, to) = ends(position, device);
                (format!("share_{position}"), from, to)
            };
            members().map(share).collect()
        };
        match self.pattern {
            Pattern::HostBothWays(_) | Pattern::PeerBothWays(_) => {
                vec![
                    ("forward".to_owned(), from, to),
                    ("back".to_owned(), to, from),
                ]
            }
            Pattern::HostToAll => each(&|_, device| (Host, device)),
            Pattern::AllToHost => each(&|_, device| (device, Host)),
            Pattern::Ring => each(&|at, device| (device, Device(all[(at + 1) % all.len()]))),
            Pattern::AllPairs => {
                let pairs = members().flat_map(|from| members().map(move |to| (from, to)));
                let others = pairs.filter(|((i, _), (j, _))| i != j);
                others
                    .map(|((i, from), (j, to))| (format!("share_{i}_{j}"), from, to))
                    .collect()
            }
            _ => vec![("bandwidth".to_owned(), from, to)],
        }
    }

    /// The accesses to peer memory that the streams need: the accessing device and the owner of the memory, each once.
    pub(crate) fn accesses(&self, streams: &[Stream]) -> BTreeSet<(usize, usize)> {
        let access = |stream: &Stream| match (stream.from, stream.to) {
            (Device(from), Device(to)) if from != to => {
                let other = if stream.issuer == from { to } else { from };
                Some((stream.issuer, other))
            }
            _ => None,
        };
        let streams = streams.iter().filter(|_| self.pattern.uses_peer_access());
        streams.filter_map(access).collect()
    }
}
