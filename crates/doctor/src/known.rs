//! What is known of versions and devices that hang, fail or fall behind together, each with its source.
//!
//! Only what an issue, a release note or a vendor's document says; a row that does not apply says nothing about the box.

mod amd;
mod nvidia;

use topology::Fact;

use crate::{Facts, Verdict};

/// Devices that are known to take the host down by direct peer copies.
#[derive(Debug, Clone, Copy)]
pub struct HostHang {
    /// Part of the device's name.
    pub name: &'static str,
    /// From this many devices in the box on, however many are chosen.
    pub devices: usize,
    /// What was seen, with its source.
    pub why: &'static str,
}

/// Every known one.
pub const HOST_HANGS: [HostHang; 1] = [HostHang {
    name: "R9700",
    devices: 4,
    why: "direct PCIe peer copies hung the host on four R9700 (ROCm/rocm-systems#11348)",
}];

/// Versions of a component that misbehave on some boxes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Problem {
    /// The code whose page says what happens, who reported it and what to do.
    pub(crate) code: &'static str,
    /// Whose version: as in [`crate::Version::component`].
    pub(crate) component: &'static str,
    /// The first version that has it.
    pub(crate) from: &'static [u32],
    /// The first version that has it no more; `None` where none is known.
    pub(crate) below: Option<&'static [u32]>,
    /// A component that makes up for it from this version on.
    pub(crate) unless: Option<(&'static str, &'static [u32])>,
    /// The boxes that it happens on.
    pub(crate) on: fn(&Facts) -> Fact<bool>,
    pub(crate) verdict: Verdict,
    /// A variable that avoids it, by name and value.
    pub(crate) avoided_by: Option<(&'static str, &'static str)>,
}

/// Every known problem of versions.
pub(crate) fn problems() -> impl Iterator<Item = &'static Problem> {
    nvidia::PROBLEMS.iter().chain(amd::PROBLEMS)
}

impl Problem {
    /// Whether these numbers of a version are in the range.
    pub(crate) fn holds_for(&self, numbers: &[u32]) -> bool {
        !numbers.is_empty()
            && numbers >= self.from
            && self.below.is_none_or(|below| numbers < below)
    }
}

/// Whether the driver calls any of the GPUs so, in part.
fn is_named(facts: &Facts, parts: &[&str]) -> Fact<bool> {
    let names = || facts.gpus.iter().filter_map(|gpu| gpu.name.as_deref());
    if names().any(|name| parts.iter().any(|part| name.contains(part))) {
        Fact::Known(true)
    } else if names().count() < facts.gpus.len() {
        Fact::Unknown("the driver does not name the devices".to_owned())
    } else {
        Fact::Known(false)
    }
}

/// Whether several GPUs are of a vendor, and their device numbers are among these.
fn several(facts: &Facts, vendor: u16, is_one: impl Fn(u16) -> bool) -> Fact<bool> {
    let counts =
        |gpu: &&crate::Gpu| gpu.vendor == Some(vendor) && gpu.device_id.is_some_and(&is_one);
    Fact::Known(facts.gpus.iter().filter(counts).count() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_compared_number_by_number() {
        let rccl = &amd::PROBLEMS[0];
        for (numbers, holds) in [
            (&[7, 2][..], true),
            (&[7, 2, 4], true),
            (&[7, 1, 1], false),
            (&[7, 3], false),
            (&[10, 0], false),
            (&[], false),
        ] {
            assert_eq!(rccl.holds_for(numbers), holds, "{numbers:?}");
        }
    }

    #[test]
    fn every_variable_that_avoids_a_problem_is_read_and_every_range_has_a_first_version() {
        for problem in problems() {
            if let Some((name, _)) = problem.avoided_by {
                assert!(crate::variables::is_known(name), "{name}");
            }
            assert!(!problem.from.is_empty());
            assert!(problem.below.is_none_or(|below| problem.from < below));
        }
    }
}
