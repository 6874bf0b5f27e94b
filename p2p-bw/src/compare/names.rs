//! What a comparison calls devices and numbers: as the tables of a run do, by A's labels.

use std::collections::{BTreeMap, BTreeSet};

use measure::import::links::{LinkEnds, LinkFile};
use measure::record::{Endpoint, stream};

/// What devices and numbers are called.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// The labels of devices by the numbers that endpoints carry.
    labels: BTreeMap<usize, String>,
    /// The tests in which data goes both ways.
    both_ways: BTreeSet<String>,
}

impl Names {
    /// Those of A, and of B for devices that only B has; B carries A's numbers already.
    pub(super) fn of(a: &LinkFile, b: &LinkFile) -> Self {
        let devices = b.devices.iter().chain(&a.devices);
        let numbers = a.values.iter().chain(&b.values).map(|value| &value.ends);
        Self {
            labels: devices
                .map(|device| (device.ordinal, device.label.clone()))
                .collect(),
            both_ways: numbers
                .filter(|number| number.role() == "back")
                .map(|number| number.test.clone())
                .collect(),
        }
    }

    pub(super) fn device(&self, number: usize) -> String {
        let known = self.labels.get(&number).filter(|label| !label.is_empty());
        known.cloned().unwrap_or_else(|| format!("GPU{number}"))
    }

    /// `GPU0 and GPU1`.
    pub(super) fn pair(&self, (one, other): (usize, usize)) -> String {
        format!("{} and {}", self.device(one), self.device(other))
    }

    fn end(&self, end: Endpoint) -> String {
        match end {
            Endpoint::Host => "host".to_owned(),
            Endpoint::All => "all".to_owned(),
            Endpoint::Device(number) => self.device(number),
        }
    }

    /// The ends of a number in the direction that it stands for, such as `GPU0 to GPU1` or `GPU1 loads from host`.
    pub(super) fn place(&self, number: &LinkEnds) -> String {
        let (from, to) = ends(number);
        let is_stream = (from, to) != (number.from, number.to);
        let (one, other) = (self.end(from), self.end(to));
        let way = if one == other {
            one.clone()
        } else {
            format!("{one} to {other}")
        };
        match number.name.as_str() {
            _ if is_stream => way,
            "bandwidth" | "value" | "forward" => way,
            "back" => format!("{other} to {one}"),
            "total" if !self.both_ways.contains(&number.test) => format!("{way}, total"),
            "total" | "sum" => format!("{one} and {other}, {}", number.name),
            // A load goes from the kernel to the memory; its data comes the other way.
            "latency" if one == other => way,
            "latency" if from == Endpoint::Host => format!("{other} loads from {one}"),
            "latency" => format!("{one} loads from {other}"),
            name => format!("{way}, {name}"),
        }
    }
}

/// The ends of a number; of one of several streams those of its stream.
pub(super) fn ends(number: &LinkEnds) -> (Endpoint, Endpoint) {
    // The names of numbers carry the backend's own numbers, of which there is no highest.
    stream(&number.name, number.from, number.to, usize::MAX).unwrap_or((number.from, number.to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Endpoint::{All, Device, Host};

    #[test]
    fn a_number_is_called_as_in_the_tables() {
        let names = Names {
            labels: BTreeMap::from([(0, "MIG0".to_owned())]),
            both_ways: BTreeSet::from(["bidir".to_owned()]),
        };
        for (from, to, name, expected) in [
            (Host, Device(0), "bandwidth", "host to MIG0"),
            (Host, Device(0), "back", "MIG0 to host"),
            (Device(0), Device(0), "bandwidth", "MIG0"),
            (Host, Device(0), "latency", "MIG0 loads from host"),
            // One that no list of devices has.
            (Device(0), Device(1), "latency", "MIG0 loads from GPU1"),
            (Host, All, "share_1", "host to GPU1"),
            (All, All, "share_1_0", "GPU1 to MIG0"),
            (Host, All, "back_1", "GPU1 to host"),
            (All, All, "total", "all, total"),
            (Host, Device(0), "pace", "host to MIG0, pace"),
        ] {
            assert_eq!(names.place(&number("one way", from, to, name)), expected);
        }
        let total = number("bidir", Host, All, "total");
        assert_eq!(names.place(&total), "host and all, total");
    }

    fn number(test: &str, from: Endpoint, to: Endpoint, name: &str) -> LinkEnds {
        LinkEnds {
            test: test.to_owned(),
            from,
            to,
            name: name.to_owned(),
        }
    }
}
