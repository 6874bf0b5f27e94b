//! Cases of rules on what this process may use: shared memory, limits, control groups, system calls.

use doctor::SharedMemory;
use doctor::Verdict::{Bad, Ok, Unknown, Warn};
use topology::Fact;

use super::{Case, case, sound};

pub(super) const CASES: &[Case] = &[
    case("shm-size", Ok, "64 GiB", sound),
    case("shm-size", Bad, "what Docker gives", |b| {
        b.given.shared_memory = Fact::Known(SharedMemory {
            bytes: 64 << 20,
            free_bytes: 64 << 20,
        })
    }),
    case("shm-size", Warn, "half of what is asked for", |b| {
        b.given.shared_memory = Fact::Known(SharedMemory {
            bytes: 512 << 20,
            free_bytes: 512 << 20,
        })
    }),
    case("shm-size", Warn, "full", |b| {
        b.given.shared_memory = Fact::Known(SharedMemory {
            bytes: 64 << 30,
            free_bytes: 1 << 20,
        })
    }),
    case("shm-size", Unknown, "not mounted", |b| {
        b.given.shared_memory = Fact::Unknown("/dev/shm is not there".to_owned())
    }),
    case("memlock", Ok, "no limit", sound),
    case("memlock", Warn, "8 MiB", |b| {
        b.replace(
            "proc/self/limits",
            "unlimited            unlimited",
            "8388608              8388608  ",
        )
    }),
    case("memlock", Ok, "a capability", |b| {
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
    }),
    case("memlock", Unknown, "no file", |b| {
        b.remove("proc/self/limits")
    }),
    case("open-files", Ok, "as vLLM asks", sound),
    case("open-files", Ok, "can be raised", |b| {
        b.replace("proc/self/limits", "65535 ", "1024 ")
    }),
    case("open-files", Warn, "cannot be raised", |b| {
        b.replace(
            "proc/self/limits",
            "65535                1048576",
            "1024                 4096",
        )
    }),
    case("open-files", Unknown, "a simulated machine", |b| {
        b.own = Some("the machine is simulated".to_owned())
    }),
    case("cgroup-cpu", Ok, "no limit", sound),
    // 150 ms of processor time in 100 ms: one and a half of eight processors.
    case("cgroup-cpu", Warn, "a share of time", |b| {
        b.set("sys/fs/cgroup/user.slice/cpu.max", "150000 100000")
    }),
    case("cgroup-cpu", Unknown, "no control groups", |b| {
        b.remove("sys/fs/cgroup")
    }),
    case(
        "cgroup-cpu",
        Warn,
        "half a processor of a group above",
        |b| {
            b.set("proc/self/cgroup", "0::/user.slice/inner");
            b.set("sys/fs/cgroup/user.slice/cpu.max", "50000 100000");
        },
    ),
    case("cgroup-cpu", Warn, "version 1", |b| {
        b.remove("sys/fs/cgroup");
        let groups = "4:memory:/docker/1\n2:cpu,cpuacct:/docker/1";
        b.set("proc/self/cgroup", groups);
        b.set("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
        b.set("sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", "50000");
        b.set("sys/fs/cgroup/cpu/docker/1/cpu.cfs_period_us", "100000");
    }),
    case("cpuset", Ok, "all", sound),
    case("cpuset", Warn, "processors of the other node", |b| {
        b.replace(
            "proc/self/status",
            "Cpus_allowed_list:\t0-7",
            "Cpus_allowed_list:\t4-7",
        )
    }),
    case("cpuset", Warn, "memory of the other node", |b| {
        b.replace(
            "proc/self/status",
            "Mems_allowed_list:\t0-1",
            "Mems_allowed_list:\t1",
        )
    }),
    case("cpuset", Unknown, "no file", |b| {
        b.remove("proc/self/status")
    }),
    case("seccomp-numa", Ok, "no filter", sound),
    case("seccomp-numa", Warn, "a container", |b| {
        b.replace("proc/self/status", "Seccomp:\t0", "Seccomp:\t2")
    }),
    case(
        "seccomp-numa",
        Unknown,
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
    ),
    case("seccomp-numa", Unknown, "a kernel without", |b| {
        b.replace("proc/self/status", "Seccomp:\t0", "Threads:\t1")
    }),
];
