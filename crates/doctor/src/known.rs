//! What is known of versions and devices that hang, fail or fall behind together: the rows of `known.csv`.
//!
//! Only what an issue, a release note or a vendor's document says; the page of a row's code names it. A row that does not apply says
//! nothing about the box.

use topology::vendor::{AMD, NVIDIA};
use topology::{Fact, Machine, PciAddress, PciDevice};

use crate::facts::numbers;
use crate::{Facts, Gpu, Verdict};

/// Devices that are known to take the host down by direct peer copies.
#[derive(Debug, Clone, Copy)]
pub struct HostHang {
    /// PCI vendor and device number: the driver's name of an AMD card may be empty or generic.
    pci: (u16, u16),
    /// From this many devices in the box on, however many are chosen.
    devices: usize,
    /// What was seen, with its source.
    pub why: &'static str,
}

/// Every known one.
const HOST_HANGS: [HostHang; 1] = [HostHang {
    pci: (AMD, 0x7551),
    devices: 4,
    why: "direct PCIe peer copies hung the host on four R9700 (ROCm/rocm-systems#11348)",
}];

impl HostHang {
    /// The combination in a machine that is known to take it down.
    #[must_use]
    pub fn of(machine: &Machine) -> Option<&'static Self> {
        HOST_HANGS
            .iter()
            .find(|hang| hang.parts(machine).count() >= hang.devices)
    }

    /// Whether a device of such a machine is one of them, or may be, as its address is not known.
    #[must_use]
    pub fn has(&self, machine: &Machine, at: Option<PciAddress>) -> bool {
        at.is_none_or(|at| self.parts(machine).any(|gpu| gpu.address == at))
    }

    fn parts<'a>(&self, machine: &'a Machine) -> impl Iterator<Item = &'a PciDevice> {
        let (gpus, pci) = (machine.gpus.iter(), self.pci);
        gpus.filter(move |gpu| (gpu.vendor, gpu.device_id) == pci)
    }
}

/// Versions of a component that misbehave on some boxes.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    /// The code whose page says what happens, who reported it and what to do.
    pub(crate) code: &'static str,
    /// Whose version: as in [`crate::Version::component`].
    pub(crate) component: &'static str,
    /// The first version that has it.
    from: Vec<u32>,
    /// The first version that has it no more; none where none is known.
    below: Vec<u32>,
    /// A component that makes up for it from this version on.
    pub(crate) unless: Option<(&'static str, Vec<u32>)>,
    /// The boxes that it happens on: a word, and what it is about.
    on: &'static str,
    pub(crate) verdict: Verdict,
    /// A variable that avoids it, by name and value.
    pub(crate) avoided_by: Option<(&'static str, &'static str)>,
}

/// Every known problem of versions.
pub(crate) fn problems() -> impl Iterator<Item = Problem> {
    include_str!("known.csv").lines().filter_map(|row| {
        let fields: Vec<&'static str> = row.split(';').collect();
        let [
            code,
            component,
            from,
            below,
            unless,
            on,
            verdict,
            avoided_by,
        ] = fields[..]
        else {
            return None;
        };
        let other = unless.rsplit_once(' ');
        Some(Problem {
            code,
            component,
            from: numbers(from),
            below: numbers(below),
            unless: other.map(|(component, from)| (component, numbers(from))),
            on,
            verdict: verdict.parse().ok()?,
            avoided_by: avoided_by.split_once('='),
        })
    })
}

impl Problem {
    /// Whether these numbers of a version are in the range.
    pub(crate) fn holds_for(&self, numbers: &[u32]) -> bool {
        let is_below = self.below.is_empty() || numbers < self.below.as_slice();
        !numbers.is_empty() && numbers >= self.from.as_slice() && is_below
    }

    /// Whether it happens on such a box.
    pub(crate) fn is_on(&self, facts: &Facts) -> Fact<bool> {
        let (word, rest) = self.on.split_once(' ').unwrap_or((self.on, ""));
        match word {
            "nvidia" => several(facts, NVIDIA, rest),
            "amd" => several(facts, AMD, rest),
            "named" => is_named(facts, rest),
            "mig" => has_mig(facts),
            "memory-only-node" => {
                let mut nodes = facts.machine.nodes.iter();
                Fact::Known(nodes.any(|node| {
                    node.cpus.is_empty() && node.memory_bytes.is_some_and(|bytes| bytes > 0)
                }))
            }
            _ => match &facts.machine.cpus.model {
                Some(model) => Fact::Known(model.starts_with("Arm implementer")),
                None => Fact::Unknown("/proc/cpuinfo does not name the processor".to_owned()),
            },
        }
    }
}

/// Whether the driver calls any of the GPUs so, in part.
fn is_named(facts: &Facts, parts: &str) -> Fact<bool> {
    let names = || {
        facts
            .gpus
            .iter()
            .filter_map(|gpu| gpu.device.name.as_deref())
    };
    if names().any(|name| parts.split(' ').any(|part| name.contains(part))) {
        Fact::Known(true)
    } else if names().count() < facts.gpus.len() {
        Fact::Unknown("the driver does not name the devices".to_owned())
    } else {
        Fact::Known(false)
    }
}

/// Whether several GPUs are of a vendor, and their device numbers are in these ranges of hexadecimal numbers.
fn several(facts: &Facts, vendor: u16, ranges: &str) -> Fact<bool> {
    let hex = |text: &str| u16::from_str_radix(text, 16).ok();
    let is_in = |id: u16, range: &str| {
        let ends = range.split_once('-');
        let ends = ends.and_then(|(first, last)| Some(hex(first)?..=hex(last)?));
        ends.is_some_and(|ends| ends.contains(&id))
    };
    let is_one = |gpu: &&Gpu| {
        let id = gpu.device_id().filter(|_| gpu.vendor() == Some(vendor));
        id.is_some_and(|id| ranges.split(' ').any(|range| is_in(id, range)))
    };
    Fact::Known(facts.gpus.iter().filter(is_one).count() > 1)
}

fn has_mig(facts: &Facts) -> Fact<bool> {
    if facts.gpus.iter().any(|gpu| gpu.device.mig == Some(true)) {
        return Fact::Known(true);
    }
    // Other vendors' GPUs have no MIG.
    if facts.has_vendor(NVIDIA) && facts.gpus.iter().any(|gpu| gpu.device.mig.is_none()) {
        return Fact::Unknown("no management library says whether there is MIG".to_owned());
    }
    Fact::Known(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_compared_number_by_number() {
        let rocm = problems().find(|row| row.code == "rocm-7-2-ll-hang");
        let rocm = rocm.unwrap();
        for (numbers, holds) in [
            (&[7, 2][..], true),
            (&[7, 2, 4], true),
            (&[7, 1, 1], false),
            (&[7, 3], false),
            (&[10, 0], false),
            (&[], false),
        ] {
            assert_eq!(rocm.holds_for(numbers), holds, "{numbers:?}");
        }
    }

    #[test]
    fn every_row_is_read_and_what_avoids_a_problem_is_looked_at() {
        assert_eq!(
            problems().count(),
            include_str!("known.csv").lines().count()
        );
        for problem in problems() {
            if let Some((name, _)) = problem.avoided_by {
                assert!(crate::variables::is_known(name), "{name}");
            }
            assert!(!problem.from.is_empty(), "{}", problem.code);
            assert!(problem.below.is_empty() || problem.from < problem.below);
        }
    }
}
