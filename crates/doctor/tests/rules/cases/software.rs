//! Cases of rules on versions that are known to hang or to be slow, and variables.

use doctor::Verdict::{Bad, CannotTell, Ok, Warn};
use topology::Fact;

use super::{Case, case, sound};
use crate::bench::{Bench, version};

pub(super) const CASES: &[Case] = &[
    case("known-versions", Ok, "nothing known", sound, "none of"),
    case(
        "known-versions",
        Bad,
        "RCCL of ROCm 7.2.1 on R9700",
        |b| rocm(b, "7.2.1", "2.27.7"),
        "7.2.1",
    ),
    case(
        "known-versions",
        Ok,
        "ROCm 7.1.1",
        |b| rocm(b, "7.1.1", "2.27.7"),
        "none of",
    ),
    case(
        "known-versions",
        Ok,
        "a newer RCCL",
        |b| rocm(b, "7.2.1", "2.28.3"),
        "none of",
    ),
    case(
        "known-versions",
        Ok,
        "with the variable that avoids it",
        |b| {
            rocm(b, "7.2.1", "2.27.7");
            b.variable("NCCL_PROTO", "Simple");
        },
        "NCCL_PROTO=Simple avoids",
    ),
    case(
        "known-versions",
        Warn,
        "NCCL 2.28 on Arm",
        |b| b.set("proc/cpuinfo", "CPU implementer\t: 0x41\nCPU part\t: 0xd4f"),
        "2.28.9",
    ),
    case(
        "known-versions",
        Warn,
        "MIG with an older NCCL",
        |b| b.given.devices[0].mig = Some(true),
        "2.28.9",
    ),
    case(
        "known-versions",
        Warn,
        "a node without processors",
        |b| b.set("sys/devices/system/node/node1/cpulist", ""),
        "2.28.9",
    ),
    case(
        "known-versions",
        CannotTell,
        "no library",
        |b| b.given.unversioned = vec!["no collective library answers".to_owned()],
        "no collective library",
    ),
    case("host-hang", Ok, "two L40", sound, "2 GPUs, NVIDIA L40"),
    case("host-hang", Ok, "two R9700", Bench::r9700, "2 GPUs"),
    case("host-hang", Bad, "four R9700", four_r9700, "4 GPUs"),
    case(
        "host-hang",
        Ok,
        "four R9700 without peer copies",
        |b| {
            four_r9700(b);
            b.variable("NCCL_P2P_DISABLE", "1");
        },
        "avoids",
    ),
    case(
        "host-hang",
        CannotTell,
        "no names",
        |b| b.given.devices[0].name = None,
        "does not name",
    ),
    case("variables", Ok, "none", sound, "none of"),
    case(
        "variables",
        Bad,
        "no direct access",
        |b| b.variable("NCCL_P2P_DISABLE", "1"),
        "NCCL_P2P_DISABLE=1",
    ),
    case(
        "variables",
        Ok,
        "set to nothing that counts",
        |b| b.variable("NCCL_P2P_DISABLE", "0"),
        "none of",
    ),
    case(
        "variables",
        Warn,
        "a level that is none",
        |b| b.variable("NCCL_P2P_LEVEL", "FOO"),
        "NCCL_P2P_LEVEL=FOO",
    ),
    case(
        "variables",
        Warn,
        "a protocol",
        |b| b.variable("NCCL_PROTO", "Simple"),
        "NCCL_PROTO=Simple",
    ),
    case(
        "variables",
        Ok,
        "a protocol that a known problem asks for",
        |b| {
            rocm(b, "7.2.1", "2.27.7");
            b.variable("NCCL_PROTO", "Simple");
        },
        "avoids a known problem",
    ),
    case(
        "variables",
        Ok,
        "four R9700 without peer copies",
        |b| {
            four_r9700(b);
            b.variable("NCCL_P2P_DISABLE", "1");
        },
        "avoids a known problem",
    ),
    case(
        "variables",
        CannotTell,
        "another machine's tree",
        |b| b.given.variables = Fact::Unknown("a folder is read".to_owned()),
        "a folder is read",
    ),
    case("device-order", Ok, "as they are", sound, "nothing puts"),
    case(
        "device-order",
        Ok,
        "the first ones in their order",
        |b| b.variable("CUDA_VISIBLE_DEVICES", "0,1"),
        "nothing puts",
    ),
    case(
        "device-order",
        Warn,
        "turned around",
        |b| b.variable("CUDA_VISIBLE_DEVICES", "1,0"),
        "1,0",
    ),
    case(
        "device-order",
        Warn,
        "two models",
        |b| b.given.devices[1].name = Some("NVIDIA L4".to_owned()),
        "different models",
    ),
    case(
        "device-order",
        Ok,
        "two models by address",
        |b| {
            b.given.devices[1].name = Some("NVIDIA L4".to_owned());
            b.variable("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
        },
        "nothing puts",
    ),
    case(
        "device-order",
        CannotTell,
        "the variables were left out",
        |b| b.given.unordered = Some("they are left out".to_owned()),
        "left out",
    ),
    case(
        "device-order",
        CannotTell,
        "no names",
        |b| b.given.devices[1].name = None,
        "alike",
    ),
];

fn rocm(bench: &mut Bench, rocm: &str, rccl: &str) {
    bench.r9700();
    bench.given.versions = vec![version("ROCm", rocm), version("RCCL", rccl)];
}

/// Two more cards than were asked for.
fn four_r9700(bench: &mut Bench) {
    bench.r9700();
    for (gpu, port) in [
        ("0000:25:00.0", "0000:20:05.1"),
        ("0000:65:00.0", "0000:60:05.1"),
    ] {
        let root = &port[..7];
        bench
            .functions
            .push((port.to_owned(), format!("pci{root}/{port}")));
        bench
            .functions
            .push((gpu.to_owned(), format!("pci{root}/{port}/{gpu}")));
        bench.function(port, ["0x1022", "0x14ab", "0x060400"]);
        bench.function(gpu, ["0x1002", "0x7551", "0x038000"]);
    }
}
