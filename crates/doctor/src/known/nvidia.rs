//! Known problems of NVIDIA's driver and NCCL.

use topology::Fact;
use topology::vendor::NVIDIA;

use super::{Problem, is_named, several};
use crate::{Facts, Verdict};

/// Device numbers of GB202: GeForce RTX 5090 and RTX PRO 6000 Blackwell among them.
const GB202: std::ops::RangeInclusive<u16> = 0x2b80..=0x2bff;

pub(super) const PROBLEMS: &[Problem] = &[
    Problem {
        code: "nccl-arm-old-gcc",
        component: "NCCL",
        from: &[2],
        below: Some(&[2, 29, 3]),
        unless: None,
        on: |facts| match &facts.machine.cpus.model {
            Some(model) => Fact::Known(model.starts_with("Arm implementer")),
            None => Fact::Unknown("/proc/cpuinfo does not name the processor".to_owned()),
        },
        verdict: Verdict::Warn,
        avoided_by: None,
    },
    Problem {
        code: "nccl-2-25-shared-memory",
        component: "NCCL",
        from: &[2, 25],
        below: Some(&[2, 26, 2]),
        unless: None,
        on: |facts| several(facts, NVIDIA, |id| GB202.contains(&id)),
        verdict: Verdict::Bad,
        avoided_by: None,
    },
    Problem {
        code: "nccl-2-26-2-illegal-access",
        component: "NCCL",
        from: &[2, 26, 2],
        below: Some(&[2, 26, 3]),
        unless: None,
        on: |facts| several(facts, NVIDIA, |id| GB202.contains(&id)),
        verdict: Verdict::Warn,
        avoided_by: None,
    },
    Problem {
        code: "nccl-gb10-load-hang",
        component: "NCCL",
        from: &[2, 30, 4],
        below: None,
        unless: None,
        on: |facts| is_named(facts, &["GB10"]),
        verdict: Verdict::Warn,
        avoided_by: None,
    },
    Problem {
        code: "nccl-memory-only-node",
        component: "NCCL",
        from: &[2, 26, 3],
        below: None,
        unless: Some(("NVIDIA driver", &[595])),
        on: has_memory_only_node,
        verdict: Verdict::Warn,
        avoided_by: Some(("NCCL_CUMEM_HOST_ENABLE", "0")),
    },
    Problem {
        code: "nccl-mig",
        component: "NCCL",
        from: &[2],
        below: Some(&[2, 31]),
        unless: None,
        on: has_mig,
        verdict: Verdict::Warn,
        avoided_by: None,
    },
    Problem {
        code: "driver-one-mig-instance",
        component: "NVIDIA driver",
        from: &[450],
        below: Some(&[570]),
        unless: None,
        on: has_mig,
        verdict: Verdict::Warn,
        avoided_by: None,
    },
    Problem {
        code: "driver-r535-false-p2p",
        component: "NVIDIA driver",
        from: &[535],
        below: Some(&[536]),
        unless: None,
        on: has_several,
        verdict: Verdict::Warn,
        avoided_by: Some(("VLLM_SKIP_P2P_CHECK", "0")),
    },
    Problem {
        code: "driver-r560-p2p-hang",
        component: "NVIDIA driver",
        from: &[560],
        below: Some(&[570]),
        unless: None,
        on: has_several,
        verdict: Verdict::Warn,
        avoided_by: Some(("NCCL_P2P_DISABLE", "1")),
    },
];

fn has_several(facts: &Facts) -> Fact<bool> {
    several(facts, NVIDIA, |_| true)
}

fn has_mig(facts: &Facts) -> Fact<bool> {
    if facts.gpus.iter().any(|gpu| gpu.mig == Some(true)) {
        return Fact::Known(true);
    }
    if facts.has_vendor(NVIDIA) && facts.gpus.iter().any(|gpu| gpu.mig.is_none()) {
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
