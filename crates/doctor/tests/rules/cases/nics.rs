//! Cases of rules on network cards.

use doctor::Verdict::{CannotTell, Ok, Warn};

use super::{Case, case, sound};
use crate::bench::{GPUS, NIC};

pub(super) const CASES: &[Case] = &[
    case("gpu-nic-memory", Ok, "the module", sound, "nvidia_peermem"),
    case(
        "gpu-nic-memory",
        Ok,
        "dma-buf",
        |b| b.remove("sys/module/nvidia_peermem"),
        "dma-buf",
    ),
    case(
        "gpu-nic-memory",
        Warn,
        "an older kernel",
        |b| {
            b.remove("sys/module/nvidia_peermem");
            b.set("proc/sys/kernel/osrelease", "5.10.0-30-amd64");
        },
        "5.10.0",
    ),
    case(
        "gpu-nic-memory",
        Warn,
        "the closed module",
        |b| {
            b.remove("sys/module/nvidia_peermem");
            b.replace("proc/driver/nvidia/version", "Open ", "");
        },
        "not the open one",
    ),
    case(
        "gpu-nic-memory",
        CannotTell,
        "no driver",
        |b| {
            b.remove("sys/module/nvidia_peermem");
            b.remove("proc/driver");
        },
        "not shown",
    ),
    case("nic-link", Ok, "a link", sound, "ACTIVE"),
    case(
        "nic-link",
        Warn,
        "no link",
        |b| b.set(&format!("{NIC}/ports/1/state"), "1: DOWN"),
        "DOWN",
    ),
    case(
        "nic-link",
        CannotTell,
        "no state",
        |b| b.remove(&format!("{NIC}/ports/1/state")),
        "not shown",
    ),
    case("gid-index", Ok, "one of RoCE v2", sound, "indexes 3"),
    case(
        "gid-index",
        Ok,
        "the one that is asked for",
        |b| b.variable("NCCL_IB_GID_INDEX", "3"),
        "3 is of RoCE v2",
    ),
    case(
        "gid-index",
        Warn,
        "another one",
        |b| b.variable("NCCL_IB_GID_INDEX", "0"),
        "NCCL_IB_GID_INDEX=0",
    ),
    case(
        "gid-index",
        Warn,
        "version 1 only",
        |b| b.set(&format!("{NIC}/ports/1/gid_attrs/types/3"), "IB/RoCE v1"),
        "no identifier",
    ),
    case(
        "gid-index",
        CannotTell,
        "no types",
        |b| b.remove(&format!("{NIC}/ports/1/gid_attrs")),
        "not shown",
    ),
    // GPU 0 and the card are below two ports of one root complex: PHB. GPU 1 is below another one of the node: NODE.
    case("gpu-nic-distance", Ok, "one node", sound, "PHB"),
    case(
        "gpu-nic-distance",
        Warn,
        "the other node",
        |b| b.pci(GPUS[1], "numa_node", "1"),
        "another NUMA node",
    ),
    case(
        "gpu-nic-distance",
        CannotTell,
        "no node",
        |b| b.pci(GPUS[1], "numa_node", "-1"),
        "not shown",
    ),
];
