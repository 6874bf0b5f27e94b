//! What a case moves on its ends: the streams that run at once, the peer access and the buffers that they need.
//!
//! Devices are numbers of any kind: positions in the record for the parent, ordinals of the driver for the worker. Streams
//! over several devices are named by position in either case.

use record::Endpoint;

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
    /// The device that reaches memory of another one, and that one.
    fn access(&self) -> Option<(usize, usize)> {
        match (self.from, self.to) {
            (Endpoint::Device(from), Endpoint::Device(to)) if from != to => {
                Some((self.issuer, if self.issuer == from { to } else { from }))
            }
            _ => None,
        }
    }

    /// The end whose memory a pointer chase walks through: the one that is not the kernel's own, where there is one.
    pub(crate) fn walked(&self) -> Endpoint {
        if self.from == Endpoint::Device(self.issuer) {
            self.to
        } else {
            self.from
        }
    }
}

impl Case {
    /// The streams of this case between two ends; `all` are the devices that [`Endpoint::All`] stands for.
    pub(crate) fn streams(&self, from: Endpoint, to: Endpoint, all: &[usize]) -> Vec<Stream> {
        let moves = moves(self.pattern, from, to, all);
        let stream = |(name, from, to)| {
            let issuer = issuer(self.pattern.issuer(), from, to)?;
            Some(Stream {
                name,
                from,
                to,
                issuer,
            })
        };
        moves.into_iter().filter_map(stream).collect()
    }

    /// The accesses to peer memory that the streams need: the accessing device and the owner of the memory, each once.
    pub(crate) fn accesses(&self, streams: &[Stream]) -> Vec<(usize, usize)> {
        if !self.pattern.uses_peer_access() {
            return Vec::new();
        }
        let mut accesses: Vec<_> = streams.iter().filter_map(Stream::access).collect();
        accesses.sort_unstable();
        accesses.dedup();
        accesses
    }
}

fn issuer(issuer: Issuer, from: Endpoint, to: Endpoint) -> Option<usize> {
    match (from, to, issuer) {
        (Endpoint::Device(from), Endpoint::Device(_), Issuer::Source) => Some(from),
        (Endpoint::Device(_), Endpoint::Device(to), Issuer::Destination) => Some(to),
        (Endpoint::Device(device), _, _) | (_, Endpoint::Device(device), _) => Some(device),
        _ => None,
    }
}

fn moves(
    pattern: Pattern,
    from: Endpoint,
    to: Endpoint,
    all: &[usize],
) -> Vec<(String, Endpoint, Endpoint)> {
    use Endpoint::{Device, Host};
    let both = |from, to| {
        vec![
            ("forward".to_owned(), from, to),
            ("back".to_owned(), to, from),
        ]
    };
    let share = |position: usize| format!("share_{position}");
    let members = || all.iter().copied().map(Device).enumerate();
    match pattern {
        Pattern::HostToDevice(_)
        | Pattern::DeviceToHost(_)
        | Pattern::Local
        | Pattern::Peer(_)
        | Pattern::Staged
        | Pattern::DriverStaged => vec![("bandwidth".to_owned(), from, to)],
        Pattern::HostBothWays(_) | Pattern::PeerBothWays(_) => both(from, to),
        Pattern::HostToAll => members()
            .map(|(position, device)| (share(position), Host, device))
            .collect(),
        Pattern::AllToHost => members()
            .map(|(position, device)| (share(position), device, Host))
            .collect(),
        Pattern::Ring => members()
            .map(|(position, device)| {
                let next = Device(all[(position + 1) % all.len()]);
                (share(position), device, next)
            })
            .collect(),
        Pattern::AllPairs => members()
            .flat_map(|(i, from)| {
                members()
                    .filter(move |(j, _)| i != *j)
                    .map(move |(j, to)| (format!("share_{i}_{j}"), from, to))
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Endpoint::{All, Device, Host};

    fn streams(key: &str, from: Endpoint, to: Endpoint) -> Vec<Stream> {
        // Ordinals that are no positions.
        Case::of(key).unwrap().streams(from, to, &[5, 3, 7])
    }

    fn names(key: &str, from: Endpoint, to: Endpoint) -> Vec<String> {
        let streams = streams(key, from, to);
        streams.into_iter().map(|stream| stream.name).collect()
    }

    fn accesses(key: &str, from: Endpoint, to: Endpoint) -> Vec<(usize, usize)> {
        Case::of(key).unwrap().accesses(&streams(key, from, to))
    }

    #[test]
    fn shares_are_named_by_position() {
        assert_eq!(
            names("host_to_all_ce", Host, All),
            ["share_0", "share_1", "share_2"]
        );
        assert_eq!(
            names("all_pairs_ce", All, All),
            [
                "share_0_1",
                "share_0_2",
                "share_1_0",
                "share_1_2",
                "share_2_0",
                "share_2_1"
            ]
        );
    }

    #[test]
    fn the_issuer_needs_access_to_the_other_ends_memory() {
        assert_eq!(accesses("d2d_write_ce", Device(3), Device(5)), [(3, 5)]);
        assert_eq!(accesses("d2d_read_ce", Device(3), Device(5)), [(5, 3)]);
        // A chase from 3 walks through memory of 5.
        assert_eq!(accesses("d2d_chase_sm", Device(3), Device(5)), [(3, 5)]);
        assert_eq!(accesses("d2d_staged_ce", Device(3), Device(5)), []);
        assert_eq!(accesses("local_sm", Device(3), Device(3)), []);
        assert_eq!(accesses("all_pairs_sm", All, All).len(), 6);
        assert_eq!(accesses("host_to_all_sm", Host, All), []);
    }
}
