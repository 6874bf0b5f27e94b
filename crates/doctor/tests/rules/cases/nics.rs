//! Cases of rules on network cards.

use doctor::Verdict::{Ok, Unknown, Warn};

use super::{Case, case, sound};
use crate::bench::{GPUS, NIC};

pub(super) const CASES: &[Case] = &[
    case("gpu-nic-memory", Ok, "the module", sound),
    case("gpu-nic-memory", Ok, "dma-buf", |b| {
        b.remove("sys/module/nvidia_peermem")
    }),
    case("gpu-nic-memory", Warn, "an older kernel", |b| {
        b.remove("sys/module/nvidia_peermem");
        b.set("proc/sys/kernel/osrelease", "5.10.0-30-amd64");
    }),
    case("gpu-nic-memory", Warn, "the closed module", |b| {
        b.remove("sys/module/nvidia_peermem");
        b.replace("proc/driver/nvidia/version", "Open ", "");
    }),
    case("gpu-nic-memory", Unknown, "no driver", |b| {
        b.remove("sys/module/nvidia_peermem");
        b.remove("proc/driver");
    }),
    case("nic-link", Ok, "a link", sound),
    case("nic-link", Warn, "no link", |b| {
        b.set(&format!("{NIC}/ports/1/state"), "1: DOWN")
    }),
    case("nic-link", Unknown, "no state", |b| {
        b.remove(&format!("{NIC}/ports/1/state"))
    }),
    case("gid-index", Ok, "one of RoCE v2", sound),
    case("gid-index", Ok, "the one that is asked for", |b| {
        b.variable("NCCL_IB_GID_INDEX", "3")
    }),
    case("gid-index", Warn, "another one", |b| {
        b.variable("NCCL_IB_GID_INDEX", "0")
    }),
    case("gid-index", Warn, "version 1 only", |b| {
        b.set(&format!("{NIC}/ports/1/gid_attrs/types/3"), "IB/RoCE v1")
    }),
    case("gid-index", Unknown, "no types", |b| {
        b.remove(&format!("{NIC}/ports/1/gid_attrs"))
    }),
    // GPU 0 and the card are below two ports of one root complex: PHB. GPU 1 is below another one of the node: NODE.
    case("gpu-nic-distance", Ok, "one node", sound),
    case("gpu-nic-distance", Warn, "the other node", |b| {
        b.pci(GPUS[1], "numa_node", "1")
    }),
    case("gpu-nic-distance", Unknown, "no node", |b| {
        b.pci(GPUS[1], "numa_node", "-1")
    }),
];
