//! The points of a run: cases x ends x sizes, in the order in which they run and print.

use std::collections::BTreeSet;

use record::Endpoint::{self, All, Device, Host};
use record::unit::ByteCount;

use crate::cases::{Case, Pattern, Stream};

/// One point to measure; ends are positions in the list of chosen devices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Planned {
    pub(crate) case: &'static Case,
    pub(crate) from: Endpoint,
    pub(crate) to: Endpoint,
    pub(crate) bytes: ByteCount,
    /// How many devices were chosen: those that [`Endpoint::All`] stands for.
    pub(crate) all: usize,
    /// Where memory and thread are wanted, where that is what is measured; else near the device.
    pub(crate) place: Option<Place>,
}

/// The nodes on which memory and the issuing thread are wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) memory: Option<u32>,
    pub(crate) thread: Option<u32>,
}

impl Planned {
    /// The positions of the devices that take part, the source first.
    pub(crate) fn devices(&self) -> Vec<usize> {
        match (self.from, self.to) {
            (Device(from), Device(to)) if from != to => vec![from, to],
            (Device(one), _) | (_, Device(one)) => vec![one],
            _ => (0..self.all).collect(),
        }
    }

    /// The node on which memory is wanted.
    pub(crate) fn memory(&self) -> Option<u32> {
        self.place.and_then(|place| place.memory)
    }

    /// The node on which the issuing thread is wanted.
    pub(crate) fn thread(&self) -> Option<u32> {
        self.place.and_then(|place| place.thread)
    }

    /// The two devices of a pair.
    pub(super) fn pair(&self) -> Option<(usize, usize)> {
        match (self.from, self.to) {
            (Device(from), Device(to)) if from != to => Some((from, to)),
            _ => None,
        }
    }

    /// Whether several devices take part at once that are not simply a pair.
    pub(super) fn is_group(&self) -> bool {
        [self.from, self.to].contains(&All)
    }

    /// What it moves, by position.
    pub(super) fn streams(&self) -> Vec<Stream> {
        let all: Vec<usize> = (0..self.all).collect();
        self.case.streams(self.from, self.to, &all)
    }

    /// The accesses to peer memory that it makes, by position: the accessing device and the owner of the memory.
    pub(super) fn accesses(&self) -> BTreeSet<(usize, usize)> {
        self.case.accesses(&self.streams())
    }

    /// Bytes of host memory that it takes, one buffer at each end of each stream and one to fill and compare in; device memory counts
    /// where `device_is_host`.
    pub(crate) fn host_bytes(&self, device_is_host: bool) -> u64 {
        let streams = self.streams();
        let ends = streams.iter().flat_map(|stream| [stream.from, stream.to]);
        let buffers = ends.filter(|end| device_is_host || *end == Host).count() as u64;
        (buffers + 1).saturating_mul(self.bytes.0)
    }
}

/// Every point of the cases on `devices` devices at these sizes.
pub(crate) fn plan(cases: &[&'static Case], devices: usize, sizes: &[ByteCount]) -> Vec<Planned> {
    let mut planned = Vec::new();
    for case in cases {
        let fixed = case.fixed_bytes().map(ByteCount);
        let sizes = fixed.as_ref().map_or(sizes, std::slice::from_ref);
        for (from, to) in ends(case.pattern, devices) {
            planned.extend(sizes.iter().map(|bytes| Planned {
                case,
                from,
                to,
                bytes: *bytes,
                all: devices,
                place: None,
            }));
        }
    }
    planned
}

fn ends(pattern: Pattern, devices: usize) -> Vec<(Endpoint, Endpoint)> {
    let each = |ends: fn(usize) -> (Endpoint, Endpoint)| (0..devices).map(ends).collect();
    let pairs = |is_one: fn(&(usize, usize)) -> bool| {
        let pairs = (0..devices).flat_map(|a| (0..devices).map(move |b| (a, b)));
        let ones = pairs.filter(is_one);
        ones.map(|(a, b)| (Device(a), Device(b))).collect()
    };
    match pattern {
        Pattern::HostToDevice(_) | Pattern::HostBothWays(_) => each(|i| (Host, Device(i))),
        Pattern::DeviceToHost(_) => each(|i| (Device(i), Host)),
        Pattern::Local => each(|i| (Device(i), Device(i))),
        Pattern::Peer(_) | Pattern::Staged => pairs(|(a, b)| a != b),
        Pattern::PeerBothWays(_) => pairs(|(a, b)| a < b),
        // With one device there is no other, and what a group moves is what the device alone does.
        _ if devices < 2 => Vec::new(),
        Pattern::HostToAll => vec![(Host, All)],
        Pattern::AllToHost => vec![(All, Host)],
        Pattern::Ring | Pattern::AllPairs => vec![(All, All)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases;

    fn of(key: &str, devices: usize) -> Vec<Planned> {
        let sizes = [ByteCount(1), ByteCount(2)];
        plan(&cases::matching(key).unwrap(), devices, &sizes)
    }

    #[test]
    fn the_buffers_in_host_memory_are_counted() {
        let bytes = |key, device_is_host| of(key, 4)[0].host_bytes(device_is_host);
        // One to compare, and: one pinned; two of the device's own; 2 pinned and 2 of the device.
        assert_eq!(bytes("h2d_pinned_ce", false), 2);
        assert_eq!(bytes("local_ce", true), 3);
        assert_eq!(bytes("host_bidir_pinned_ce", true), 5);
        assert_eq!(bytes("d2d_bidir_read_sm", false), 1);
        // One to compare, and for 4 devices: 4 of each kind; 4 * 3 streams of 2.
        assert_eq!(bytes("host_to_all_ce", true), 9);
        assert_eq!(bytes("host_to_all_ce", false), 5);
        assert_eq!(bytes("all_pairs_ce", true), 25);
    }
}
