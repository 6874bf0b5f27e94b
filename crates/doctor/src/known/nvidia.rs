//! Known problems of NVIDIA's driver and NCCL.

use topology::Fact;
use topology::vendor::NVIDIA;

use super::{Problem, is_named, several};
use crate::{Facts, Verdict};

/// Device numbers of GB202: GeForce RTX 5090 and RTX PRO 6000 Blackwell among them.
const GB202: std::ops::RangeInclusive<u16> = 0x2b80..=0x2bff;

pub(super) const PROBLEMS: &[Problem] = &[
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
        what: "NCCL that was compiled by a gcc before version 10 can hang on Arm processors, as the wheels on PyPI up to 2.29.2 did",
        source: "NCCL's release notes of 2.29.3, NVIDIA/nccl#2353, vllm-project/vllm#42354",
        avoided_by: None,
        todo: "use NCCL 2.29.3 or newer",
    },
    Problem {
        component: "NCCL",
        from: &[2, 25],
        below: Some(&[2, 26, 2]),
        unless: None,
        on: |facts| several(facts, NVIDIA, |id| GB202.contains(&id)),
        verdict: Verdict::Bad,
        what: "kernels of NCCL 2.25 ask for more shared memory than GeForce RTX 5090 and its like have: collectives fail",
        source: "NVIDIA/nccl#1637, NVIDIA/nccl-tests#291",
        avoided_by: None,
        todo: "use NCCL 2.26.2 or newer",
    },
    Problem {
        component: "NCCL",
        from: &[2, 26, 2],
        below: Some(&[2, 26, 3]),
        unless: None,
        on: |facts| several(facts, NVIDIA, |id| GB202.contains(&id)),
        verdict: Verdict::Warn,
        what: "collectives of 512 KiB and more ended in illegal memory accesses on two RTX PRO 6000 Blackwell, and not with NCCL 2.31.2; \
               versions in between were not tried",
        source: "NVIDIA/nccl#2418",
        avoided_by: None,
        todo: "use a newer NCCL, and try it: allreduce-bench",
    },
    Problem {
        component: "NCCL",
        from: &[2, 30, 4],
        below: None,
        unless: None,
        on: |facts| is_named(facts, &["GB10"]),
        verdict: Verdict::Warn,
        what: "engines were reported to hang now and then while they loaded mixture-of-experts models on GB10, two runs of three, and not with NCCL 2.30.3 in one",
        source: "NVIDIA/nccl#2167",
        avoided_by: None,
        todo: "where it hangs, try NCCL 2.30.3",
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
    Problem {
        component: "NVIDIA driver",
        from: &[535],
        below: Some(&[536]),
        unless: None,
        on: has_several,
        verdict: Verdict::Warn,
        what: "drivers of R535 can say that GPUs reach each other where they do not: vLLM's own all-reduce then hangs, and newer vLLM \
               takes the driver's word",
        source: "vLLM's vllm/envs.py, VLLM_SKIP_P2P_CHECK",
        avoided_by: Some(("VLLM_SKIP_P2P_CHECK", "0")),
        todo: "export VLLM_SKIP_P2P_CHECK=0, or use a newer driver; p2p-bw tries the access itself",
    },
    Problem {
        component: "NVIDIA driver",
        from: &[560],
        below: Some(&[570]),
        unless: None,
        on: has_several,
        verdict: Verdict::Warn,
        what: "NCCL was seen to hang with direct access between GPUs with a driver of R560, and not with R570",
        source: "dmlc/xgboost#11242",
        avoided_by: Some(("NCCL_P2P_DISABLE", "1")),
        todo: "use a driver of R570 or newer; try direct access with p2p-bw, which has a deadline",
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
