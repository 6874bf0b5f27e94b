//! Cases of rules on the machine: processors, memory, the kernel's log.

use doctor::Verdict::{Bad, Ok, Unknown, Warn};
use topology::Fact;

use super::{Case, case, sound};

pub(super) const CASES: &[Case] = &[
    case("cpu-governor", Ok, "performance", sound),
    case("cpu-governor", Ok, "a preference", |b| {
        b.set(
            "sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
            "powersave",
        );
        b.set(
            "sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference",
            "performance",
        );
    }),
    case("cpu-governor", Warn, "one of two policies", |b| {
        b.set(
            "sys/devices/system/cpu/cpufreq/policy4/scaling_governor",
            "schedutil",
        )
    }),
    case("cpu-governor", Unknown, "a guest", |b| {
        b.remove("sys/devices/system/cpu/cpufreq/policy");
        b.set(
            "proc/cpuinfo",
            "vendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 9334\nflags\t\t: fpu hypervisor",
        );
    }),
    case("cpu-boost", Ok, "allowed", sound),
    case("cpu-boost", Warn, "Intel's switch", |b| {
        b.set("sys/devices/system/cpu/intel_pstate/no_turbo", "1")
    }),
    case("cpu-boost", Unknown, "no file", |b| {
        b.remove("sys/devices/system/cpu/cpufreq/boost")
    }),
    case("numa-balancing", Ok, "off", sound),
    case("numa-balancing", Warn, "on, with two nodes", |b| {
        b.set("proc/sys/kernel/numa_balancing", "2")
    }),
    case("numa-balancing", Unknown, "no file", |b| {
        b.remove("proc/sys/kernel/numa_balancing")
    }),
    case("kernel-log", Ok, "nothing", sound),
    case("kernel-log", Bad, "a lost GPU", |b| {
        b.given.kernel_log = Fact::Known(vec![
            "NVRM: Xid (PCI:0000:21:00): 79, pid=1, GPU has fallen off the bus.".to_owned(),
        ])
    }),
    case("kernel-log", Warn, "a limited link", |b| {
        b.given.kernel_log = Fact::Known(vec!["pci 0000:21:00.0: 126.016 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x8 link".to_owned()])
    }),
    case("kernel-log", Unknown, "not root", |b| {
        b.given.kernel_log = Fact::Unknown("/dev/kmsg: Operation not permitted".to_owned())
    }),
];
