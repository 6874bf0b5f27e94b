//! Cases of rules on how GPUs reach each other: MIG, IOMMU, ACS, windows, AMD's peer links, NCCL's level, guests.

use doctor::Verdict::{Bad, Ok, Unknown, Warn};

use super::{Case, case, sound};
use crate::bench::{Bench, GPUS, PORTS, version};

pub(super) const CASES: &[Case] = &[
    case("peer-access-forbidden", Ok, "two whole GPUs", sound),
    case("peer-access-forbidden", Bad, "a MIG instance", |b| {
        b.given.devices[1].mig = Some(true)
    }),
    case(
        "peer-access-forbidden",
        Bad,
        "a virtual GPU on a MIG instance",
        |b| b.given.devices[0].name = Some("NVIDIA RTX Pro 6000 Blackwell DC-4-96Q".to_owned()),
    ),
    case(
        "peer-access-forbidden",
        Unknown,
        "a virtual GPU that shares by time",
        |b| b.given.devices[0].name = Some("NVIDIA L40-48Q".to_owned()),
    ),
    case(
        "peer-access-forbidden",
        Unknown,
        "no management library",
        |b| b.given.devices[0].mig = None,
    ),
    case(
        "iommu-translates",
        Ok,
        "iommu=pt on the command line",
        sound,
    ),
    case("iommu-translates", Warn, "groups that translate", |b| {
        iommu_group(b, "DMA-FQ")
    }),
    case("iommu-translates", Unknown, "nothing says it", |b| {
        b.set("proc/cmdline", "quiet")
    }),
    case("acs-redirect", Ok, "ACS is off", sound),
    case("acs-redirect", Warn, "through the root complex", |b| {
        b.acs(PORTS[0], 0x1d)
    }),
    case("acs-redirect", Bad, "below a switch", below_a_switch),
    case("acs-redirect", Bad, "with a translating IOMMU", |b| {
        b.acs(PORTS[0], 0x1d);
        iommu_group(b, "DMA");
    }),
    case("acs-redirect", Unknown, "not root: 64 bytes", |b| {
        b.pci(PORTS[1], "config", "0123456789abcdef")
    }),
    case("large-bar", Ok, "64 GiB", sound),
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
    ),
    case("large-bar", Bad, "256 MiB of 32 GiB of an AMD card", |b| {
        b.r9700();
        b.pci(GPUS[1], "mem_info_vis_vram_total", "268435456");
        b.pci(GPUS[1], "mem_info_vram_total", "34359738368");
    }),
    case("large-bar", Unknown, "no windows", |b| {
        b.remove("sys/bus/pci/devices/0000:21:00.0/resource")
    }),
    case("amd-peer-links", Ok, "both have one", Bench::r9700),
    case("amd-peer-links", Warn, "only links to the host", |b| {
        b.r9700();
        b.remove("sys/class/kfd/kfd/topology/nodes/1/p2p_links");
        b.remove("sys/class/kfd/kfd/topology/nodes/2/p2p_links");
    }),
    // Of four GPUs' 6 pairs only 1-2 and 3-4 have a link, although each GPU has one.
    case("amd-peer-links", Warn, "two islands of two", two_islands),
    case("amd-peer-links", Unknown, "no KFD", |b| {
        b.r9700();
        b.remove("sys/class/kfd");
    }),
    // Two root complexes of one node are NODE; NCCL goes up to SYS for two GPUs on AMD's processors and to PXB on Intel's.
    case("nccl-p2p-level", Ok, "two GPUs on an EPYC", sound),
    // Two of four make a communicator of two, for which the level is another one: engines do so at TP2.
    case("nccl-p2p-level", Warn, "four GPUs on an EPYC", four_l40),
    // NCCL's commit of 2.23.4 says "Set P2P level to PXB on AMD CPUs when using more than 2 GPUs per node".
    case(
        "nccl-p2p-level",
        Unknown,
        "four GPUs on an EPYC with an older NCCL",
        |b| {
            four_l40(b);
            b.given.versions = vec![version("NCCL", "2.22.3")];
        },
    ),
    case("nccl-p2p-level", Warn, "two GPUs on a Xeon", |b| {
        b.set(
            "proc/cpuinfo",
            "vendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) Gold\nflags\t\t: fpu",
        )
    }),
    case("nccl-p2p-level", Warn, "a level that was set", |b| {
        b.variable("NCCL_P2P_LEVEL", "PIX")
    }),
    case(
        "nccl-p2p-level",
        Warn,
        "direct access is switched off",
        |b| b.variable("NCCL_P2P_DISABLE", "1"),
    ),
    case(
        "nccl-p2p-level",
        Unknown,
        "two H200, which may have NVLink",
        |b| {
            b.variable("NCCL_P2P_LEVEL", "PIX");
            for gpu in GPUS {
                b.pci(gpu, "device", "0x2335");
            }
        },
    ),
    case("nccl-p2p-level", Ok, "RCCL on an EPYC", Bench::r9700),
    case("nccl-p2p-level", Warn, "RCCL on a Xeon", |b| {
        r9700_on_xeon(b, "2.27.7")
    }),
    case(
        "nccl-p2p-level",
        Warn,
        "RCCL on a Xeon that does not take the level",
        |b| {
            r9700_on_xeon(b, "2.30.4");
            b.variable("NCCL_P2P_LEVEL", "SYS");
        },
    ),
    case(
        "nccl-p2p-level",
        Unknown,
        "RCCL on a Xeon of which it is not known whether it takes the level",
        |b| {
            r9700_on_xeon(b, "2.27.7");
            b.variable("NCCL_P2P_LEVEL", "SYS");
        },
    ),
    case(
        "nccl-p2p-level",
        Unknown,
        "RCCL on a Xeon of which it is not known whether it takes the switch",
        |b| {
            r9700_on_xeon(b, "2.27.7");
            b.variable("NCCL_P2P_DISABLE", "1");
        },
    ),
    case(
        "nccl-p2p-level",
        Unknown,
        "a library without a published rule",
        |b| {
            for gpu in GPUS {
                b.pci(gpu, "vendor", "0x9999");
            }
        },
    ),
    case("guest", Ok, "bare metal", sound),
    case("guest", Warn, "the flag hypervisor", |b| {
        b.replace("proc/cpuinfo", "fpu sse2", "fpu hypervisor")
    }),
    case("guest", Unknown, "Arm", |b| {
        b.set("proc/cpuinfo", "CPU implementer\t: 0x41\nCPU part\t: 0xd4f")
    }),
];

/// Both GPUs below one switch: root port, the switch's upstream port, a downstream port for each.
fn below_a_switch(bench: &mut Bench) {
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
