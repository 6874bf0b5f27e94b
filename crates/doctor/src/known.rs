//! What is known of versions and devices that hang, fail or fall behind together, each with its source.
//!
//! Only what an issue, a release note or a vendor's document says; a row that does not apply says nothing about the box.

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
    pub(crate) what: &'static str,
    pub(crate) source: &'static str,
    /// A variable that avoids it, by name and value.
    pub(crate) avoided_by: Option<(&'static str, &'static str)>,
    pub(crate) todo: &'static str,
}

/// Every known problem of versions.
pub(crate) const PROBLEMS: &[Problem] = &[
    Problem {
        component: "ROCm",
        from: &[7, 2],
        below: Some(&[7, 3]),
        unless: Some(("RCCL", &[2, 28, 3])),
        on: |facts| has_device(facts, 0x1002, &[0x7550, 0x7551, 0x7590]),
        verdict: Verdict::Bad,
        what: "RCCL of ROCm 7.2 chooses the protocol LL on gfx12 without the memory ordering that it needs there: all-reduces of two \
               and more GPUs hang with the GPUs at 100 %",
        source: "ROCm/rocm-systems#5480, vllm-project/vllm#40980",
        avoided_by: Some(("NCCL_PROTO", "Simple")),
        todo: "export NCCL_PROTO=Simple, or use RCCL 2.28.3 or newer",
    },
    Problem {
        component: "ROCm",
        from: &[7, 2],
        below: Some(&[7, 3]),
        unless: None,
        on: |facts| has_device(facts, 0x1002, &[0x744c]),
        verdict: Verdict::Warn,
        what: "collectives of two Radeon RX 7900 XTX were reported to fail with RCCL 2.27.7 of ROCm 7.2.1",
        source: "ROCm/legacy-rocm-build#6074",
        avoided_by: None,
        todo: "try them with a deadline: allreduce-bench --backend hip",
    },
    Problem {
        component: "NCCL",
        from: &[2],
        below: Some(&[2, 29, 3]),
        unless: None,
        on: |facts| match &facts.machine.cpus.model {
            Some(model) => Fact::Known(model.starts_with("Arm implementer")),
            None => Fact::Unknown("/proc/cpuinfo does not name the processor".to_owned()),
        },
        verdict: Verdict::Warn,
        what: "NCCL that was compiled by a gcc before version 10 can hang on Arm processors",
        source: "NCCL's release notes of 2.29.3",
        avoided_by: None,
        todo: "use NCCL 2.29.3 or newer",
    },
    Problem {
        component: "NCCL",
        from: &[2, 26, 3],
        below: None,
        unless: Some(("NVIDIA driver", &[595])),
        on: has_memory_only_node,
        verdict: Verdict::Warn,
        what: "with a NUMA node that has memory and no processor, ranks can disagree on how host memory is shared, or crash",
        source: "NVIDIA/nccl#2190, NVIDIA/nccl#2106",
        avoided_by: Some(("NCCL_CUMEM_HOST_ENABLE", "0")),
        todo: "export NCCL_CUMEM_HOST_ENABLE=0, or use a driver of R595 or newer",
    },
    Problem {
        component: "NCCL",
        from: &[2],
        below: Some(&[2, 31]),
        unless: None,
        on: has_mig,
        verdict: Verdict::Warn,
        what: "NCCL before 2.31 does not support MIG; it works where every rank has a GPU of its own, through host memory",
        source: "NVIDIA/nccl#1716",
        avoided_by: None,
        todo: "use NCCL 2.31 or newer, or switch MIG off where the instance is the whole GPU",
    },
    Problem {
        component: "NVIDIA driver",
        from: &[450],
        below: Some(&[570]),
        unless: None,
        on: has_mig,
        verdict: Verdict::Warn,
        what: "drivers before R570 show one MIG instance to a process, so one process cannot use two",
        source: "NVIDIA's MIG user guide",
        avoided_by: None,
        todo: "use one process for each instance, or a driver of R570 or newer",
    },
];

impl Problem {
    /// Whether these numbers of a version are in the range.
    pub(crate) fn holds_for(&self, numbers: &[u32]) -> bool {
        !numbers.is_empty()
            && numbers >= self.from
            && self.below.is_none_or(|below| numbers < below)
    }
}

fn has_device(facts: &Facts, vendor: u16, ids: &[u16]) -> Fact<bool> {
    let is_one = |gpu: &&crate::Gpu| {
        gpu.vendor == Some(vendor) && gpu.device_id.is_some_and(|id| ids.contains(&id))
    };
    Fact::Known(facts.gpus.iter().filter(is_one).count() > 1)
}

fn has_mig(facts: &Facts) -> Fact<bool> {
    if facts.gpus.iter().any(|gpu| gpu.mig == Some(true)) {
        return Fact::Known(true);
    }
    if facts.has_vendor(0x10de) && facts.gpus.iter().any(|gpu| gpu.mig.is_none()) {
        return Fact::Unknown("no management library says whether there is MIG".to_owned());
    }
    Fact::Known(false)
}

fn has_memory_only_node(facts: &Facts) -> Fact<bool> {
    let nodes = &facts.machine.nodes;
    Fact::Known(
        nodes
            .iter()
            .any(|node| node.cpus.is_empty() && node.memory_bytes.is_some_and(|bytes| bytes > 0)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_compared_number_by_number() {
        let rccl = PROBLEMS[0];
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
}
