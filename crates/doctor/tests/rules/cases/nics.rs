//! Cases of rules on network cards.

use doctor::Verdict::{Bad, Ok, Unknown, Warn};
use topology::Fact;

use super::{Case, case, sound};
use crate::bench::{Bench, GPUS, NIC};

const CARD: &str = "0000:22:00.0";

fn rails(bench: &mut Bench) {
    bench.rail(0);
    bench.rail(1);
}

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
    case("gid-index", Warn, "another one for Mooncake", |b| {
        b.variable("MC_GID_INDEX", "1")
    }),
    // Gen4 x16 carries 16 * 16 * 128/130 = 252 Gbit/s.
    case("nic-slot", Ok, "200 of 252 Gbit/s", sound),
    case("nic-slot", Warn, "400 of 252 Gbit/s", |b| {
        b.set(&format!("{NIC}/ports/1/rate"), "400 Gb/sec (4X NDR)")
    }),
    case("nic-slot", Bad, "half of the lanes", |b| {
        b.pci(CARD, "current_link_width", "8")
    }),
    case("nic-slot", Unknown, "no rate", |b| {
        b.remove(&format!("{NIC}/ports/1/rate"))
    }),
    case("nic-mtu", Ok, "large packets", sound),
    case("nic-mtu", Warn, "Ethernet's own", |b| {
        b.pci(CARD, "net/mlx5_0/mtu", "1500")
    }),
    case("nic-mtu", Unknown, "no interface", |b| {
        b.remove("sys/bus/pci/devices/0000:22:00.0/net")
    }),
    case("nic-errors", Ok, "none", sound),
    case("nic-errors", Warn, "some", |b| {
        b.set(&format!("{NIC}/ports/1/hw_counters/packet_seq_err"), "12")
    }),
    case("nic-errors", Unknown, "no counters", |b| {
        b.remove(&format!("{NIC}/ports/1/counters"));
        b.remove(&format!("{NIC}/ports/1/hw_counters"));
    }),
    case("gpu-nic-pairing", Ok, "a card below each switch", rails),
    case(
        "gpu-nic-pairing",
        Warn,
        "both cards far from one GPU",
        |b| b.rail(0),
    ),
    case("gpu-nic-pairing", Warn, "one port without a link", |b| {
        rails(b);
        b.set("sys/class/infiniband/mlx5_2/ports/1/state", "1: DOWN");
    }),
    case("gpu-nic-pairing", Unknown, "a GPU that is not shown", |b| {
        rails(b);
        b.remove("sys/bus/pci/devices/0000:61:00.0/vendor");
    }),
    case("gpu-nic-acs", Ok, "no redirect", rails),
    case("gpu-nic-acs", Bad, "redirect at the switch", |b| {
        b.rail(0);
        b.acs("0000:81:01.0", 0x1d);
    }),
    // The other card is at the other node.
    case(
        "gpu-nic-distance",
        Warn,
        "the card of its switch is down",
        |b| {
            b.rail(1);
            b.pci(GPUS[1], "numa_node", "1");
            b.set("sys/class/infiniband/mlx5_2/ports/1/state", "1: DOWN");
        },
    ),
    case("gpu-nic-acs", Unknown, "nobody but root may read it", |b| {
        b.rail(0);
        b.remove("sys/bus/pci/devices/0000:81:00.0/config");
    }),
    case("transfer-devices", Ok, "nothing is set", sound),
    case("transfer-devices", Ok, "a card that is there", |b| {
        b.variable("UCX_NET_DEVICES", "mlx5_0:1");
        b.variable("NCCL_IB_HCA", "mlx5_0");
    }),
    case("transfer-devices", Bad, "a card that is not", |b| {
        b.variable("MOONCAKE_DEVICE", "mlx5_0,mlx5_9")
    }),
    case("transfer-devices", Warn, "NCCL's alone", |b| {
        b.variable("NCCL_IB_HCA", "mlx5_0")
    }),
    case("transfer-devices", Warn, "sockets only", |b| {
        b.variable("UCX_TLS", "tcp,cuda_copy")
    }),
    case("transfer-devices", Unknown, "no variables", |b| {
        b.given.variables = Fact::Unknown("not asked".to_owned())
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
