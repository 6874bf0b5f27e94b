//! Cases of rules on the machine: processors, memory, boot options, the kernel's log.

use doctor::Verdict::{Bad, CannotTell, Ok, Warn};
use topology::Fact;

use super::{Case, case, sound};

pub(super) const CASES: &[Case] = &[
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
        |b| {
            b.remove("sys/devices/system/cpu/cpufreq/policy");
            b.set(
                "proc/cpuinfo",
                "vendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 9334\nflags\t\t: fpu hypervisor",
            );
        },
        "no frequency scaling, as in a guest",
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
