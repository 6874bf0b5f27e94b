//! [`CASES`]: for each rule, changes to the sound box and what it has to say of the changed one.
//!
//! Long because it is one table: every rule with each of its verdicts.

use doctor::SharedMemory;
use doctor::Verdict::{self, Bad, CannotTell, Ok, Warn};
use topology::Fact;

use crate::bench::{Bench, GPUS, NIC, PORTS, version};

/// One box.
pub(crate) struct Case {
    pub(crate) rule: &'static str,
    /// The worst verdict.
    pub(crate) verdict: Verdict,
    pub(crate) what: &'static str,
    pub(crate) change: fn(&mut Bench),
    /// Part of what the worst finding saw.
    pub(crate) says: &'static str,
}

const fn case(
    rule: &'static str,
    verdict: Verdict,
    what: &'static str,
    change: fn(&mut Bench),
    says: &'static str,
) -> Case {
    Case {
        rule,
        verdict,
        what,
        change,
        says,
    }
}

fn sound(_: &mut Bench) {}

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

fn rocm(bench: &mut Bench, rocm: &str, rccl: &str) {
    bench.r9700();
    bench.given.versions = vec![version("ROCm", rocm), version("RCCL", rccl)];
}

/// Every case.
pub(crate) const CASES: &[Case] = &[
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
        "NODE, within SYS",
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
        CannotTell,
        "a library without a published rule",
        Bench::r9700,
        "RCCL",
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
    case(
        "slot-link",
        Ok,
        "as its ends can",
        sound,
        "Gen4 x16, the best",
    ),
    case(
        "slot-link",
        Bad,
        "eight of sixteen lanes",
        |b| {
            for address in [GPUS[1], PORTS[1]] {
                b.pci(address, "current_link_width", "8");
            }
        },
        "Gen4 x8, and both its ends can do Gen4 x16",
    ),
    case(
        "slot-link",
        CannotTell,
        "an idle link",
        |b| {
            for address in [GPUS[1], PORTS[1]] {
                b.pci(address, "current_link_speed", "2.5 GT/s PCIe");
            }
        },
        "read without load",
    ),
    case(
        "slot-below-card",
        Ok,
        "Gen4 and Gen4",
        sound,
        "can do Gen4 x16",
    ),
    case(
        "slot-below-card",
        Warn,
        "a slot of eight lanes",
        |b| b.pci(PORTS[0], "max_link_width", "8"),
        "can do Gen4 x8, the card",
    ),
    case(
        "slot-below-card",
        CannotTell,
        "a card that says nothing",
        |b| b.remove("sys/bus/pci/devices/0000:61:00.0/max_link"),
        "is not shown",
    ),
    case(
        "link-errors",
        Ok,
        "no errors",
        sound,
        "0 mended, 0 not mended, 0 fatal",
    ),
    case(
        "link-errors",
        Warn,
        "three that were mended",
        |b| b.pci(GPUS[0], "aer_dev_correctable", "RxErr 3\nTOTAL_ERR_COR 3"),
        "3 mended",
    ),
    case(
        "link-errors",
        Warn,
        "one of the port that was not",
        |b| b.pci(PORTS[1], "aer_dev_nonfatal", "TLP 1\nTOTAL_ERR_NONFATAL 1"),
        "1 not mended, 0 fatal errors since the machine or the device started, its start included, at 0000:60:01.1",
    ),
    case(
        "link-errors",
        Bad,
        "a fatal one",
        |b| b.pci(PORTS[1], "aer_dev_fatal", "DLP 1\nTOTAL_ERR_FATAL 1"),
        "1 fatal errors",
    ),
    case(
        "link-errors",
        CannotTell,
        "no counters",
        |b| b.remove("sys/bus/pci/devices/0000:21:00.0/aer"),
        "no error counters",
    ),
    case("aspm", Ok, "no link saves", sound, "no power saving"),
    case(
        "aspm",
        Ok,
        "switched off at the start",
        |b| b.set("proc/cmdline", "pcie_aspm=off"),
        "pcie_aspm=off",
    ),
    case(
        "aspm",
        Warn,
        "the policy",
        |b| {
            b.set(
                "sys/module/pcie_aspm/parameters/policy",
                "default performance [powersave] powersupersave",
            )
        },
        "powersave",
    ),
    case(
        "aspm",
        Warn,
        "one link",
        |b| b.pci(GPUS[0], "link/l1_aspm", "1"),
        "0000:21:00.0 (L1)",
    ),
    case(
        "aspm",
        CannotTell,
        "no files of links",
        |b| {
            for address in [GPUS[0], PORTS[0]] {
                b.remove(&format!("sys/bus/pci/devices/{address}/link"));
            }
        },
        "the firmware decides",
    ),
    case(
        "cpu-governor",
        Ok,
        "performance",
        sound,
        "performance of acpi-cpufreq",
    ),
    case(
        "cpu-governor",
        Ok,
        "a preference",
        |b| {
            b.set(
                "sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
                "powersave",
            );
            b.set(
                "sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference",
                "performance",
            );
        },
        "prefers performance",
    ),
    case(
        "cpu-governor",
        Warn,
        "one of two policies",
        |b| {
            b.set(
                "sys/devices/system/cpu/cpufreq/policy4/scaling_governor",
                "schedutil",
            )
        },
        "schedutil",
    ),
    case(
        "cpu-governor",
        CannotTell,
        "a guest",
        |b| b.remove("sys/devices/system/cpu/cpufreq/policy"),
        "no frequency scaling",
    ),
    case("cpu-boost", Ok, "allowed", sound, "allowed"),
    case(
        "cpu-boost",
        Warn,
        "Intel's switch",
        |b| b.set("sys/devices/system/cpu/intel_pstate/no_turbo", "1"),
        "no_turbo: not allowed",
    ),
    case(
        "cpu-boost",
        CannotTell,
        "no file",
        |b| b.remove("sys/devices/system/cpu/cpufreq/boost"),
        "not shown",
    ),
    case("numa-balancing", Ok, "off", sound, ": 0"),
    case(
        "numa-balancing",
        Warn,
        "on, with two nodes",
        |b| b.set("proc/sys/kernel/numa_balancing", "2"),
        "2, and there are 2 nodes",
    ),
    case(
        "numa-balancing",
        CannotTell,
        "no file",
        |b| b.remove("proc/sys/kernel/numa_balancing"),
        "not shown",
    ),
    case("transparent-huge-pages", Ok, "madvise", sound, "madvise"),
    case(
        "transparent-huge-pages",
        Warn,
        "never",
        |b| {
            b.set(
                "sys/kernel/mm/transparent_hugepage/enabled",
                "always madvise [never]",
            )
        },
        "never",
    ),
    case(
        "transparent-huge-pages",
        CannotTell,
        "a kernel without",
        |b| b.remove("sys/kernel/mm"),
        "not shown",
    ),
    case("reserved-huge-pages", Ok, "none", sound, "0 of 1024 MiB"),
    // 300 pages of 2 MiB are 600 of 1024 MiB.
    case(
        "reserved-huge-pages",
        Warn,
        "more than a half",
        |b| {
            b.replace(
                "proc/meminfo",
                "HugePages_Total:       0",
                "HugePages_Total:     300",
            )
        },
        "600 of 1024 MiB",
    ),
    case(
        "reserved-huge-pages",
        CannotTell,
        "a kernel without",
        |b| b.set("proc/meminfo", "MemTotal:       1048576 kB"),
        "not understood",
    ),
    case("shm-size", Ok, "64 GiB", sound, "65536 MiB"),
    case(
        "shm-size",
        Bad,
        "what Docker gives",
        |b| {
            b.given.shared_memory = Fact::Known(SharedMemory {
                bytes: 64 << 20,
                free_bytes: 64 << 20,
            })
        },
        "64 MiB, of which",
    ),
    case(
        "shm-size",
        Warn,
        "half of what is asked for",
        |b| {
            b.given.shared_memory = Fact::Known(SharedMemory {
                bytes: 512 << 20,
                free_bytes: 512 << 20,
            })
        },
        "512 MiB",
    ),
    case(
        "shm-size",
        Warn,
        "full",
        |b| {
            b.given.shared_memory = Fact::Known(SharedMemory {
                bytes: 64 << 30,
                free_bytes: 1 << 20,
            })
        },
        "1 MiB are free",
    ),
    case(
        "shm-size",
        CannotTell,
        "not mounted",
        |b| b.given.shared_memory = Fact::Unknown("/dev/shm is not there".to_owned()),
        "not there",
    ),
    case("memlock", Ok, "no limit", sound, "no limit"),
    case(
        "memlock",
        Warn,
        "8 MiB",
        |b| {
            b.replace(
                "proc/self/limits",
                "unlimited            unlimited",
                "8388608              8388608  ",
            )
        },
        "8388608 bytes",
    ),
    case(
        "memlock",
        Ok,
        "a capability",
        |b| {
            b.replace(
                "proc/self/limits",
                "unlimited            unlimited",
                "65536                65536  ",
            );
            // Bit 14 is CAP_IPC_LOCK.
            b.replace(
                "proc/self/status",
                "CapEff:\t0000000000000000",
                "CapEff:\t0000000000004000",
            );
        },
        "CAP_IPC_LOCK",
    ),
    case(
        "memlock",
        CannotTell,
        "no file",
        |b| b.remove("proc/self/limits"),
        "not shown",
    ),
    case("open-files", Ok, "as vLLM asks", sound, "65535 files"),
    case(
        "open-files",
        Ok,
        "can be raised",
        |b| b.replace("proc/self/limits", "65535 ", "1024 "),
        "raises it by itself",
    ),
    case(
        "open-files",
        Warn,
        "cannot be raised",
        |b| {
            b.replace(
                "proc/self/limits",
                "65535                1048576",
                "1024                 4096",
            )
        },
        "at most 4096",
    ),
    case(
        "open-files",
        CannotTell,
        "a soft box",
        |b| b.own = Some("a soft box is played".to_owned()),
        "soft box",
    ),
    case("cgroup-cpu", Ok, "no limit", sound, "no limit"),
    // 150 ms of processor time in 100 ms: one and a half of eight processors.
    case(
        "cgroup-cpu",
        Warn,
        "a share of time",
        |b| b.set("sys/fs/cgroup/user.slice/cpu.max", "150000 100000"),
        "1.5 processors",
    ),
    case(
        "cgroup-cpu",
        CannotTell,
        "no control groups",
        |b| b.remove("sys/fs/cgroup"),
        "not shown",
    ),
    case("cgroup-memory", Ok, "no limit", sound, "no limit"),
    // Two GPUs ask for 16 GiB; of 10 GiB 1 MiB is taken.
    case(
        "cgroup-memory",
        Warn,
        "10 GiB of a group above",
        |b| {
            b.set("proc/self/cgroup", "0::/user.slice/inner");
            b.set("sys/fs/cgroup/user.slice/memory.max", "10737418240");
        },
        "user.slice/memory.max: 10240 MiB, of which 10239 MiB are free",
    ),
    case(
        "cgroup-memory",
        Warn,
        "version 1",
        |b| {
            b.remove("sys/fs/cgroup");
            b.set(
                "proc/self/cgroup",
                "4:memory:/docker/1\n2:cpu,cpuacct:/docker/1",
            );
            b.set(
                "sys/fs/cgroup/memory/memory.limit_in_bytes",
                "9223372036854771712",
            );
            b.set(
                "sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes",
                "1073741824",
            );
        },
        "memory.limit_in_bytes: 1024 MiB",
    ),
    case(
        "cgroup-memory",
        CannotTell,
        "no control groups",
        |b| b.remove("sys/fs/cgroup"),
        "not shown",
    ),
    case("cgroup-pids", Ok, "no limit", sound, "no limit"),
    // Two GPUs ask for 1024; of 512 100 are taken.
    case(
        "cgroup-pids",
        Warn,
        "512",
        |b| b.set("sys/fs/cgroup/user.slice/pids.max", "512"),
        "512, of which 412",
    ),
    case(
        "cgroup-pids",
        CannotTell,
        "no line of the process",
        |b| b.remove("proc/self/cgroup"),
        "not shown",
    ),
    case("cpuset", Ok, "all", sound, "processors 0-7"),
    case(
        "cpuset",
        Warn,
        "processors of the other node",
        |b| {
            b.replace(
                "proc/self/status",
                "Cpus_allowed_list:\t0-7",
                "Cpus_allowed_list:\t4-7",
            )
        },
        "none of the processors of node 0, that of GPU0",
    ),
    case(
        "cpuset",
        Warn,
        "memory of the other node",
        |b| {
            b.replace(
                "proc/self/status",
                "Mems_allowed_list:\t0-1",
                "Mems_allowed_list:\t1",
            )
        },
        "no memory of node 0",
    ),
    case(
        "cpuset",
        CannotTell,
        "no file",
        |b| b.remove("proc/self/status"),
        "not shown",
    ),
    case("seccomp-numa", Ok, "no filter", sound, "no filter"),
    case(
        "seccomp-numa",
        Warn,
        "a container",
        |b| b.replace("proc/self/status", "Seccomp:\t0", "Seccomp:\t2"),
        "without CAP_SYS_NICE",
    ),
    case(
        "seccomp-numa",
        CannotTell,
        "a container with the capability",
        |b| {
            b.replace("proc/self/status", "Seccomp:\t0", "Seccomp:\t2");
            // Bit 23 is CAP_SYS_NICE.
            b.replace(
                "proc/self/status",
                "CapEff:\t0000000000000000",
                "CapEff:\t0000000000800000",
            );
        },
        "which calls",
    ),
    case(
        "seccomp-numa",
        CannotTell,
        "a kernel without",
        |b| b.replace("proc/self/status", "Seccomp:\t0", "Threads:\t1"),
        "not understood",
    ),
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
    case("boot-options", Ok, "pass through", sound, "none of"),
    case(
        "boot-options",
        Ok,
        "switched on and passed through",
        |b| b.set("proc/cmdline", "intel_iommu=on iommu=pt"),
        "none of",
    ),
    case(
        "boot-options",
        Warn,
        "switched on",
        |b| b.set("proc/cmdline", "intel_iommu=on"),
        "intel_iommu=on",
    ),
    case(
        "boot-options",
        Warn,
        "no counting",
        |b| b.set("proc/cmdline", "pci=noaer"),
        "not counted",
    ),
    case(
        "boot-options",
        CannotTell,
        "no file",
        |b| b.remove("proc/cmdline"),
        "not shown",
    ),
    case("kernel-log", Ok, "nothing", sound, "none of 1 lines"),
    case(
        "kernel-log",
        Bad,
        "a lost GPU",
        |b| {
            b.given.kernel_log = Fact::Known(vec![
                "NVRM: Xid (PCI:0000:21:00): 79, pid=1, GPU has fallen off the bus.".to_owned(),
            ])
        },
        "fell off the bus",
    ),
    case(
        "kernel-log",
        Warn,
        "a limited link",
        |b| {
            b.given.kernel_log = Fact::Known(vec!["pci 0000:21:00.0: 126.016 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x8 link".to_owned()])
        },
        "narrower",
    ),
    case(
        "kernel-log",
        CannotTell,
        "not root",
        |b| b.given.kernel_log = Fact::Unknown("/dev/kmsg: Operation not permitted".to_owned()),
        "not permitted",
    ),
];

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
