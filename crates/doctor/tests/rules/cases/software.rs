//! Cases of rules on versions that are known to hang or to be slow, and variables.

use doctor::Verdict::{Bad, Ok, Unknown, Warn};
use topology::Fact;

use super::{Case, case, sound};
use crate::bench::{Bench, GPUS, version};

pub(super) const CASES: &[Case] = &[
    case("known-versions", Ok, "nothing known", sound),
    case("known-versions", Bad, "RCCL of ROCm 7.2.1 on R9700", |b| {
        rocm(b, "7.2.1", "2.27.7")
    }),
    case("known-versions", Ok, "ROCm 7.1.1", |b| {
        rocm(b, "7.1.1", "2.27.7")
    }),
    case("known-versions", Ok, "a newer RCCL", |b| {
        rocm(b, "7.2.1", "2.28.3")
    }),
    case(
        "known-versions",
        Ok,
        "with the variable that avoids it",
        |b| {
            rocm(b, "7.2.1", "2.27.7");
            b.variable("NCCL_PROTO", "Simple");
        },
    ),
    case("known-versions", Warn, "NCCL 2.28 on Arm", |b| {
        b.set("proc/cpuinfo", "CPU implementer\t: 0x41\nCPU part\t: 0xd4f")
    }),
    case("known-versions", Warn, "MIG with an older NCCL", |b| {
        b.given.devices[0].mig = Some(true)
    }),
    case("known-versions", Warn, "a node without processors", |b| {
        b.set("sys/devices/system/node/node1/cpulist", "")
    }),
    case(
        "known-versions",
        Bad,
        "NCCL 2.25 on Blackwell without NVLink",
        |b| blackwell(b, "2.25.1"),
    ),
    case(
        "known-versions",
        Warn,
        "NCCL 2.26.2 on Blackwell without NVLink",
        |b| blackwell(b, "2.26.2"),
    ),
    case(
        "known-versions",
        Ok,
        "a newer NCCL on Blackwell without NVLink",
        |b| blackwell(b, "2.31.2"),
    ),
    case("known-versions", Warn, "NCCL 2.30.4 on GB10", |b| {
        named(b, "NVIDIA GB10", "2.30.4")
    }),
    case("known-versions", Ok, "NCCL 2.30.3 on GB10", |b| {
        named(b, "NVIDIA GB10", "2.30.3")
    }),
    case(
        "known-versions",
        Unknown,
        "NCCL 2.30.4 on GPUs without names",
        |b| {
            named(b, "NVIDIA L40", "2.30.4");
            b.given.devices[0].name = None;
        },
    ),
    case("known-versions", Warn, "a driver of R535", |b| {
        b.given.versions = vec![version("NVIDIA driver", "535.183.01")]
    }),
    case(
        "known-versions",
        Ok,
        "a driver of R535 whose word vLLM does not take",
        |b| {
            b.given.versions = vec![version("NVIDIA driver", "535.183.01")];
            b.variable("VLLM_SKIP_P2P_CHECK", "0");
        },
    ),
    case("known-versions", Warn, "a driver of R560", |b| {
        b.given.versions = vec![version("NVIDIA driver", "560.35.03")]
    }),
    case(
        "known-versions",
        Warn,
        "two RX 7900 XTX with ROCm 7.2.1",
        |b| rx7900(b, "7.2.1"),
    ),
    case(
        "known-versions",
        Ok,
        "two RX 7900 XTX with ROCm 7.2.0",
        |b| rx7900(b, "7.2.0"),
    ),
    case(
        "known-versions",
        Warn,
        "ROCm 6.4.1, which crashes when it splits",
        |b| rocm(b, "6.4.1", "2.22.3"),
    ),
    case("known-versions", Ok, "ROCm 6.4.1 without MSCCL", |b| {
        rocm(b, "6.4.1", "2.22.3");
        b.variable("RCCL_MSCCL_ENABLE", "0");
    }),
    case("known-versions", Warn, "MI300X with ROCm 6.3", |b| {
        rocm(b, "6.3.4", "2.21.5");
        b.given.devices[0].name = Some("AMD Instinct MI300X".to_owned());
    }),
    case(
        "known-versions",
        Warn,
        "RCCL 2.27.7 with an older HIP",
        |b| {
            rocm(b, "7.1.1", "2.27.7");
            b.given.versions[2] = version("HIP", "6.3.42134");
        },
    ),
    case(
        "known-versions",
        Warn,
        "several communicators on MI250",
        |b| {
            rocm(b, "7.14.0", "2.30.4");
            b.given.devices[0].name = Some("AMD Instinct MI250X".to_owned());
        },
    ),
    case("known-versions", Unknown, "no library", |b| {
        b.given.unversioned = vec!["no collective library answers".to_owned()]
    }),
    case("host-hang", Ok, "two L40", sound),
    case("host-hang", Ok, "two R9700", Bench::r9700),
    case("host-hang", Bad, "four R9700", four_r9700),
    case("host-hang", Ok, "four R9700 without peer copies", |b| {
        four_r9700(b);
        b.variable("NCCL_P2P_DISABLE", "1");
    }),
    case("host-hang", Bad, "four R9700 without a name", |b| {
        four_r9700(b);
        b.given.devices[0].name = None;
    }),
    case("variables", Ok, "none", sound),
    case("variables", Bad, "no direct access", |b| {
        b.variable("NCCL_P2P_DISABLE", "1")
    }),
    case("variables", Ok, "set to nothing that counts", |b| {
        b.variable("NCCL_P2P_DISABLE", "0")
    }),
    case("variables", Warn, "a level that is none", |b| {
        b.variable("NCCL_P2P_LEVEL", "FOO")
    }),
    case("variables", Warn, "a level by its number", |b| {
        b.variable("NCCL_P2P_LEVEL", "3")
    }),
    case("variables", Warn, "a protocol", |b| {
        b.variable("NCCL_PROTO", "Simple")
    }),
    case(
        "variables",
        Ok,
        "a protocol that a known problem asks for",
        |b| {
            rocm(b, "7.2.1", "2.27.7");
            b.variable("NCCL_PROTO", "Simple");
        },
    ),
    case("variables", Ok, "four R9700 without peer copies", |b| {
        four_r9700(b);
        b.variable("NCCL_P2P_DISABLE", "1");
    }),
    case(
        "variables",
        Warn,
        "the old way to share memory on AMD's GPUs",
        |b| {
            b.r9700();
            b.variable("HSA_ENABLE_IPC_MODE_LEGACY", "1");
        },
    ),
    case(
        "variables",
        Ok,
        "a variable of AMD's on NVIDIA's GPUs",
        |b| b.variable("HSA_ENABLE_IPC_MODE_LEGACY", "1"),
    ),
    case("variables", Warn, "no cuMem on NVIDIA's GPUs", |b| {
        b.variable("NCCL_CUMEM_ENABLE", "0")
    }),
    // RCCL has it off by default.
    case("variables", Ok, "no cuMem on AMD's GPUs", |b| {
        b.r9700();
        b.variable("NCCL_CUMEM_ENABLE", "0");
    }),
    case("variables", Warn, "a word that RCCL does not know", |b| {
        b.r9700();
        b.variable("NCCL_P2P_LEVEL", "NVL");
    }),
    case("variables", Bad, "chunks that gave wrong results", |b| {
        b.variable("NCCL_CHUNK_SIZE", "2097152")
    }),
    case("rccl-fine-grain", Ok, "as RCCL's page asks", |b| {
        b.r9700();
        b.variable("HSA_FORCE_FINE_GRAIN_PCIE", "1");
    }),
    case("rccl-fine-grain", Warn, "not set", Bench::r9700),
    case("rccl-fine-grain", Unknown, "another machine's tree", |b| {
        b.r9700();
        b.given.variables = Fact::Unknown("a folder is read".to_owned());
    }),
    case("variables", Unknown, "another machine's tree", |b| {
        b.given.variables = Fact::Unknown("a folder is read".to_owned())
    }),
];

fn rocm(bench: &mut Bench, rocm: &str, rccl: &str) {
    bench.r9700();
    bench.given.versions = vec![
        version("ROCm", rocm),
        version("RCCL", rccl),
        version("HIP", rocm),
    ];
}

/// The GPUs become RTX PRO 6000 Blackwell Server Edition, 0x2bb5.
fn blackwell(bench: &mut Bench, nccl: &str) {
    for gpu in GPUS {
        bench.pci(gpu, "device", "0x2bb5");
    }
    named(bench, "NVIDIA RTX PRO 6000 Blackwell Server Edition", nccl);
}

fn named(bench: &mut Bench, name: &str, nccl: &str) {
    for device in &mut bench.given.devices {
        device.name = Some(name.to_owned());
    }
    bench.given.versions = vec![version("NCCL", nccl)];
}

fn rx7900(bench: &mut Bench, release: &str) {
    rocm(bench, release, "2.27.7");
    for gpu in GPUS {
        bench.pci(gpu, "device", "0x744c");
    }
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
