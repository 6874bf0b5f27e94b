//! The jobs of a run: cases x ends x sizes, in the order in which they run and print.

use record::Endpoint;
use record::unit::ByteCount;

use super::health::Suspect;
use crate::cases::{Case, Ends, Pattern, Stream};

/// One point to measure; ends are positions in the list of chosen devices.
#[derive(Debug, Clone, Copy)]
pub(super) struct Planned {
    pub(super) case: &'static Case,
    pub(super) from: Endpoint,
    pub(super) to: Endpoint,
    pub(super) bytes: ByteCount,
    /// How many devices were chosen: those that [`Endpoint::All`] stands for.
    pub(super) all: usize,
}

impl Planned {
    /// The positions of the devices that take part, the source first.
    pub(super) fn devices(&self) -> Vec<usize> {
        let mut devices = Vec::new();
        for end in [self.from, self.to] {
            if let Endpoint::Device(position) = end {
                devices.push(position);
            }
        }
        if self.is_group() {
            devices.extend(0..self.all);
        }
        let mut seen = Vec::new();
        devices.retain(|position| {
            let new = !seen.contains(position);
            seen.push(*position);
            new
        });
        devices
    }

    /// The two devices of a pair.
    pub(super) fn pair(&self) -> Option<(usize, usize)> {
        match (self.from, self.to) {
            (Endpoint::Device(from), Endpoint::Device(to)) if from != to => Some((from, to)),
            _ => None,
        }
    }

    /// Whether several devices take part at once that are not simply a pair.
    pub(super) fn is_group(&self) -> bool {
        self.from == Endpoint::All || self.to == Endpoint::All
    }

    /// What its failure speaks against, the nearest last.
    pub(super) fn suspects(&self) -> Vec<Suspect> {
        let mut suspects: Vec<Suspect> = self.devices().into_iter().map(Suspect::Device).collect();
        suspects.extend(self.pair().map(|(from, to)| Suspect::Pair(from, to)));
        suspects.extend(self.is_group().then_some(Suspect::Group(self.case.key)));
        suspects
    }

    /// What it moves, by position.
    pub(super) fn streams(&self) -> Vec<Stream> {
        let all: Vec<usize> = (0..self.all).collect();
        self.case.streams(self.from, self.to, &all)
    }

    /// The accesses to peer memory that it makes, by position: the accessing device and the owner of the memory.
    pub(super) fn accesses(&self) -> Vec<(usize, usize)> {
        self.case.accesses(&self.streams())
    }
}

/// Every point of the cases on `devices` devices at these sizes.
pub(super) fn plan(cases: &[&'static Case], devices: usize, sizes: &[ByteCount]) -> Vec<Planned> {
    let mut planned = Vec::new();
    for case in cases {
        let fixed = case.fixed_bytes().map(ByteCount);
        let sizes = fixed.as_ref().map_or(sizes, std::slice::from_ref);
        for (from, to) in ends(case, devices) {
            planned.extend(sizes.iter().map(|bytes| Planned {
                case,
                from,
                to,
                bytes: *bytes,
                all: devices,
            }));
        }
    }
    planned
}

fn ends(case: &Case, devices: usize) -> Vec<(Endpoint, Endpoint)> {
    use Endpoint::{All, Device, Host};
    match case.ends() {
        Ends::Device => (0..devices)
            .map(|i| match case.pattern {
                Pattern::DeviceToHost(_) => (Device(i), Host),
                Pattern::Local => (Device(i), Device(i)),
                _ => (Host, Device(i)),
            })
            .collect(),
        Ends::OrderedPair => pairs(devices)
            .filter(|(a, b)| a != b)
            .map(|(a, b)| (Device(a), Device(b)))
            .collect(),
        Ends::Pair => pairs(devices)
            .filter(|(a, b)| a < b)
            .map(|(a, b)| (Device(a), Device(b)))
            .collect(),
        // With one device there is no other, and what a group moves is what the device alone does.
        Ends::Group if devices < 2 => Vec::new(),
        Ends::Group => vec![match case.pattern {
            Pattern::HostToAll => (Host, All),
            Pattern::AllToHost => (All, Host),
            _ => (All, All),
        }],
    }
}

fn pairs(devices: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..devices).flat_map(move |a| (0..devices).map(move |b| (a, b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases;

    fn count(key: &str, devices: usize) -> usize {
        plan(
            &cases::matching(key).unwrap(),
            devices,
            &[ByteCount(1), ByteCount(2)],
        )
        .len()
    }

    #[test]
    fn every_end_gets_every_size() {
        // 4 devices x 2 sizes; 4 * 3 ordered pairs x 2; 4 * 3 / 2 pairs x 2.
        assert_eq!(count("h2d_pinned_ce", 4), 8);
        assert_eq!(count("d2d_write_ce", 4), 24);
        assert_eq!(count("d2d_bidir_read_ce", 4), 12);
        assert_eq!(count("d2d_write_ce", 1), 0);
    }

    #[test]
    fn groups_are_one_point_a_size() {
        // All at once x 2 sizes; nothing with one device.
        assert_eq!(count("host_to_all_ce", 4), 2);
        assert_eq!(count("all_pairs_sm", 4), 2);
        for key in ["host_to_all_ce", "ring_ce"] {
            assert_eq!(count(key, 1), 0, "{key}");
        }
    }

    #[test]
    fn a_group_of_two_is_no_pair() {
        let ring = plan(&cases::matching("ring_ce").unwrap(), 2, &[ByteCount(1)])[0];
        assert_eq!((ring.devices(), ring.pair()), (vec![0, 1], None));
    }
}
