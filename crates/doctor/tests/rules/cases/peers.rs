//! Cases of rules on how GPUs reach each other: MIG, IOMMU, ACS, windows, AMD's peer links, NCCL's level, guests.

use doctor::Verdict::{Bad, CannotTell, Ok, Warn};

use super::{Case, case, sound};
use crate::bench::{Bench, GPUS, PORTS, version};

pub(super) const CASES: &[Case] = &[
    case(
        "peer-access-forbidden",
        Ok,
        "two whole GPUs",
        sound,
        "neither a MIG instance",
    ),
    case(
        "peer-access-forbidden",
        Bad,
        "a MIG instance",
        |b| b.given.devices[1].mig = Some(true),
        "is a MIG instance",
    ),
    case(
        "peer-access-forbidden",
        Bad,
        "a virtual GPU on a MIG instance",
        |b| b.given.devices[0].name = Some("NVIDIA RTX Pro 6000 Blackwell DC-4-96Q".to_owned()),
        "profile 96Q",
    ),
    case(
        "peer-access-forbidden",
        CannotTell,
        "a virtual GPU that shares by time",
        |b| b.given.devices[0].name = Some("NVIDIA L40-48Q".to_owned()),
        "profile 48Q",
    ),
    case(
        "peer-access-forbidden",
        CannotTell,
        "no management library",
        |b| b.given.devices[0].mig = None,
        "management library",
    ),
    case(
        "iommu-translates",
        Ok,
        "iommu=pt on the command line",
        sound,
        "identity",
    ),
    case(
        "iommu-translates",
        Warn,
        "groups that translate",
        |b| iommu_group(b, "DMA-FQ"),
        "translates",
    ),
    case(
        "iommu-translates",
        CannotTell,
        "nothing says it",
        |b| b.set("proc/cmdline", "quiet"),
        "/sys/class/iommu",
    ),
    case(
        "acs-redirect",
        Ok,
        "ACS is off",
        sound,
        "nothing at 2 ports",
    ),
    case(
        "acs-redirect",
        Warn,
        "through the root complex",
        |b| b.acs(PORTS[0], 0x1d),
        "0000:20:01.1",
    ),
    case(
        "acs-redirect",
        Bad,
        "below a switch",
        below_a_switch,
        "0000:24:00.0, 0000:24:01.0",
    ),
    case(
        "acs-redirect",
        Bad,
        "with a translating IOMMU",
        |b| {
            b.acs(PORTS[0], 0x1d);
            iommu_group(b, "DMA");
        },
        "0000:20:01.1",
    ),
    case(
        "acs-redirect",
        CannotTell,
        "not root: 64 bytes",
        |b| b.pci(PORTS[1], "config", "0123456789abcdef"),
        "needs root",
    ),
    case("large-bar", Ok, "64 GiB", sound, "large (65536 MiB)"),
    case(
        "large-bar",
        Warn,
        "256 MiB of an NVIDIA card",
        // 0xe0000000 to 0xefffffff are 2^28 bytes.
        |b| {
            b.pci(
                GPUS[0],
                "resource",
                "0x00000000e0000000 0x00000000efffffff 0x000000000014220c",
            )
        },
        "small (256 MiB)",
    ),
    case(
        "large-bar",
        Bad,
        "256 MiB of 32 GiB of an AMD card",
        |b| {
            b.r9700();
            b.pci(GPUS[1], "mem_info_vis_vram_total", "268435456");
            b.pci(GPUS[1], "mem_info_vram_total", "34359738368");
        },
        "small (256 MiB of 32768 MiB)",
    ),
    case(
        "large-bar",
        CannotTell,
        "no windows",
        |b| b.remove("sys/bus/pci/devices/0000:21:00.0/resource"),
        "not shown",
    ),
    case(
        "amd-peer-links",
        Ok,
        "both have one",
        Bench::r9700,
        "1 of 1 pairs of 2 GPUs",
    ),
    case(
        "amd-peer-links",
        Warn,
        "only links to the host",
        |b| {
            b.r9700();
            b.remove("sys/class/kfd/kfd/topology/nodes/1/p2p_links");
            b.remove("sys/class/kfd/kfd/topology/nodes/2/p2p_links");
        },
        "0 of 1 pairs",
    ),
    // Of four GPUs' 6 pairs only 1-2 and 3-4 have a link, although each GPU has one.
    case(
        "amd-peer-links",
        Warn,
        "two islands of two",
        two_islands,
        "2 of 6 pairs of 4 GPUs",
    ),
    case(
        "amd-peer-links",
        CannotTell,
        "no KFD",
        |b| {
            b.r9700();
            b.remove("sys/class/kfd");
        },
        "KFD is not shown",
    ),
    // Two root complexes of one node are NODE; NCCL goes up to SYS for two GPUs on AMD's processors and to PXB on Intel's.
    case(
        "nccl-p2p-level",
        Ok,
        "two GPUs on an EPYC",
        sound,
        "the path is NODE. TP2 goes directly, within SYS",
    ),
    // Two of four make a communicator of two, for which the level is another one: engines do so at TP2.
    case(
        "nccl-p2p-level",
        Warn,
        "four GPUs on an EPYC",
        four_l40,
        "TP2 with these two goes directly, within SYS (its default for 2 GPUs on AMD's x86 CPUs); TP4 with all goes through host memory, \
         as direct access goes up to PXB",
    ),
    // NCCL's commit of 2.23.4 says "Set P2P level to PXB on AMD CPUs when using more than 2 GPUs per node".
    case(
        "nccl-p2p-level",
        Ok,
        "four GPUs on an EPYC with an older NCCL",
        |b| {
            four_l40(b);
            b.given.versions = vec![version("NCCL", "2.22.3")];
        },
        "TP2 with these two and TP4 with all go directly, within SYS",
    ),
    case(
        "nccl-p2p-level",
        Warn,
        "two GPUs on a Xeon",
        |b| {
            b.set(
                "proc/cpuinfo",
                "vendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) Gold\nflags\t\t: fpu",
            )
        },
        "up to PXB",
    ),
    case(
        "nccl-p2p-level",
        Warn,
        "a level that was set",
        |b| b.variable("NCCL_P2P_LEVEL", "PIX"),
        "NCCL_P2P_LEVEL=PIX",
    ),
    case(
        "nccl-p2p-level",
        Warn,
        "direct access is switched off",
        |b| b.variable("NCCL_P2P_DISABLE", "1"),
        "no pair is reached directly",
    ),
    case(
        "nccl-p2p-level",
        CannotTell,
        "two H200, which may have NVLink",
        |b| {
            b.variable("NCCL_P2P_LEVEL", "PIX");
            for device in &mut b.given.devices {
                device.name = Some("NVIDIA H200".to_owned());
            }
        },
        "NVLink",
    ),
    case(
        "nccl-p2p-level",
        Ok,
        "RCCL on an EPYC",
        Bench::r9700,
        "directly, within SYS (its default on AMD's x86 CPUs)",
    ),
    case(
        "nccl-p2p-level",
        Warn,
        "RCCL on a Xeon",
        |b| r9700_on_xeon(b, "2.27.7"),
        "up to PXB (its default on Intel's CPUs)",
    ),
    case(
        "nccl-p2p-level",
        Warn,
        "RCCL on a Xeon that does not take the level",
        |b| {
            r9700_on_xeon(b, "2.30.4");
            b.variable("NCCL_P2P_LEVEL", "SYS");
        },
        "which outranks NCCL_P2P_LEVEL=SYS",
    ),
    case(
        "nccl-p2p-level",
        CannotTell,
        "RCCL on a Xeon of which it is not known whether it takes the level",
        |b| {
            r9700_on_xeon(b, "2.27.7");
            b.variable("NCCL_P2P_LEVEL", "SYS");
        },
        "whether RCCL 2.27.7 heeds NCCL_P2P_LEVEL=SYS",
    ),
    case(
        "nccl-p2p-level",
        CannotTell,
        "RCCL on a Xeon of which it is not known whether it takes the switch",
        |b| {
            r9700_on_xeon(b, "2.27.7");
            b.variable("NCCL_P2P_DISABLE", "1");
        },
        "NCCL_P2P_DISABLE=1",
    ),
    case(
        "nccl-p2p-level",
        CannotTell,
        "a library without a published rule",
        |b| {
            for gpu in GPUS {
                b.pci(gpu, "vendor", "0x9999");
            }
        },
        "MCCL's default is not published",
    ),
    case("guest", Ok, "bare metal", sound, "no hypervisor"),
    case(
        "guest",
        Warn,
        "the flag hypervisor",
        |b| b.replace("proc/cpuinfo", "fpu sse2", "fpu hypervisor"),
        "under a hypervisor",
    ),
    case(
        "guest",
        CannotTell,
        "Arm",
        |b| b.set("proc/cpuinfo", "CPU implementer\t: 0x41\nCPU part\t: 0xd4f"),
        "does not say",
    ),
];

/// Both GPUs below one switch: root port, the switch's upstream port, a downstream port for each.
pub(super) fn below_a_switch(bench: &mut Bench) {
    let up = "pci0000:20/0000:20:01.1/0000:23:00.0";
    bench
        .functions
        .retain(|(address, _)| !GPUS.contains(&address.as_str()));
    bench
        .functions
        .push(("0000:23:00.0".to_owned(), up.to_owned()));
    for (gpu, port) in GPUS.iter().zip(["0000:24:00.0", "0000:24:01.0"]) {
        bench
            .functions
            .push((port.to_owned(), format!("{up}/{port}")));
        bench
            .functions
            .push(((*gpu).to_owned(), format!("{up}/{port}/{gpu}")));
        bench.function(port, ["0x1000", "0xc030", "0x060400"]);
        bench.acs(port, 0x1d);
    }
    bench.function("0000:23:00.0", ["0x1000", "0xc030", "0x060400"]);
}

fn iommu_group(bench: &mut Bench, kind: &str) {
    for gpu in GPUS {
        bench.pci(gpu, "iommu_group/type", kind);
    }
}

/// Two more L40 below root ports of their own.
fn four_l40(bench: &mut Bench) {
    for (place, gpu, port) in [
        (2, "0000:25:00.0", "0000:20:05.1"),
        (3, "0000:65:00.0", "0000:60:05.1"),
    ] {
        let root = &port[..7];
        let below = format!("pci{root}/{port}");
        bench
            .functions
            .push((gpu.to_owned(), format!("{below}/{gpu}")));
        bench.functions.push((port.to_owned(), below));
        bench.function(port, ["0x1022", "0x14ab", "0x060400"]);
        bench.function(gpu, ["0x10de", "0x26b5", "0x030200"]);
        let mut device = bench.given.devices[0].clone();
        device.label = format!("GPU{place}");
        device.address = Some(gpu.parse().unwrap());
        bench.given.devices.push(device);
    }
}

fn r9700_on_xeon(bench: &mut Bench, rccl: &str) {
    bench.r9700();
    bench.given.versions = vec![version("RCCL", rccl)];
    bench.set(
        "proc/cpuinfo",
        "vendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) Gold\nflags\t\t: fpu",
    );
}

/// Two more GPUs in the KFD, with links between them and none to the others.
fn two_islands(bench: &mut Bench) {
    bench.r9700();
    let nodes = "sys/class/kfd/kfd/topology/nodes";
    for (node, place, to) in [(3, 0x2500, 4), (4, 0x6500, 3)] {
        let text = format!("simd_count 128\ndomain 0\nlocation_id {place}");
        bench.set(&format!("{nodes}/{node}/properties"), &text);
        bench.set(
            &format!("{nodes}/{node}/p2p_links/0/properties"),
            &format!("type 2\nnode_to {to}"),
        );
    }
}
