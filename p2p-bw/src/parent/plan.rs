//! The jobs of a run: cases x ends x sizes, in the order in which they run and print.

use measure::record::Endpoint;
use measure::unit::ByteCount;

use crate::cases::{Case, Ends};

/// One point to measure; ends are positions in the list of chosen devices.
#[derive(Debug, Clone, Copy)]
pub(super) struct Planned {
    pub(super) case: &'static Case,
    pub(super) from: Endpoint,
    pub(super) to: Endpoint,
    pub(super) bytes: ByteCount,
}

impl Planned {
    /// The positions of the devices that take part, the source first.
    pub(super) fn devices(&self) -> Vec<usize> {
        let position = |end| match end {
            Endpoint::Host => None,
            Endpoint::Device(position) => Some(position),
        };
        let mut devices: Vec<usize> = [self.from, self.to]
            .into_iter()
            .filter_map(position)
            .collect();
        devices.dedup();
        devices
    }

    /// The two devices of a pair.
    pub(super) fn pair(&self) -> Option<(usize, usize)> {
        match self.devices()[..] {
            [from, to] => Some((from, to)),
            _ => None,
        }
    }
}

/// Every point of the cases on `devices` devices at these sizes.
pub(super) fn plan(cases: &[&'static Case], devices: usize, sizes: &[ByteCount]) -> Vec<Planned> {
    let mut planned = Vec::new();
    for case in cases {
        for (from, to) in ends(case, devices) {
            planned.extend(sizes.iter().map(|bytes| Planned {
                case,
                from,
                to,
                bytes: *bytes,
            }));
        }
    }
    planned
}

fn ends(case: &Case, devices: usize) -> Vec<(Endpoint, Endpoint)> {
    use crate::cases::Pattern::{DeviceToHost, Local};
    use Endpoint::{Device, Host};
    match case.ends() {
        Ends::Device => (0..devices)
            .map(|i| match case.pattern {
                DeviceToHost(_) => (Device(i), Host),
                Local => (Device(i), Device(i)),
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
    fn a_local_copy_has_one_device_and_no_pair() {
        let local = plan(&cases::matching("local_ce").unwrap(), 2, &[ByteCount(1)])[1];
        assert_eq!((local.devices(), local.pair()), (vec![1], None));
    }
}
