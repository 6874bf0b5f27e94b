//! [`RULES`]: every rule, in the order in which findings of one verdict are shown.

mod boot;
mod container;
mod cpu;
mod judge;
mod limits;
mod links;
mod log;
mod memory;
mod nics;
mod peers;
mod repairs;
mod transport;
mod variables;
mod versions;

use crate::{Facts, Finding};

pub use judge::judge;

/// One thing that can be wrong.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// A name that stays.
    pub id: &'static str,
    /// What it looks at, in words.
    pub title: &'static str,
    /// What is read.
    pub reads: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// Who says so.
    pub source: &'static str,
    /// What it says of these facts: nothing where there is nothing that it could apply to.
    pub judge: fn(&Facts) -> Vec<Finding>,
}

/// NCCL's page on what goes wrong with PCI Express.
const NCCL_PCI: &str = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/gpu_troubleshooting.html";
/// NCCL's page on what goes wrong with limits.
const NCCL_RUNTIME: &str = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/runtime_and_mpi_issues.html";
/// NCCL's variables.
const NCCL_ENV: &str = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html";
/// The libraries' decision about each pair.
const NCCL: &str =
    "src/graph/paths.cc, ncclTopoCheckP2p, of NCCL 2.18.5 to 2.30.7 and of RCCL 2.21.5 and 2.30.4";
/// Docker's page on system calls.
const SECCOMP: &str = "https://docs.docker.com/engine/security/seccomp/";
/// The kernel's pages on its parameters.
const KERNEL_PARAMETERS: &str = "Documentation/admin-guide/kernel-parameters.txt of Linux";
const KERNEL_PM: &str = "Documentation/admin-guide/pm/cpufreq.rst of Linux";
const KERNEL_CGROUP: &str = "Documentation/admin-guide/cgroup-v2.rst of Linux";
/// What no document says stands here.
const OWN: &str = "a choice of this program";

/// The subject of what is the machine's.
const MACHINE: &str = "this machine";
/// The subject of what is the process's.
const PROCESS: &str = "this process";

/// Every rule.
pub const RULES: &[Rule] = &[
    Rule {
        id: "peer-access-forbidden",
        title: "MIG and virtual GPUs that have no peer access",
        reads: "the management library, the device's name",
        why: "MIG instances have no peer access over PCIe or NVLink, and MIG-backed virtual GPUs none either: what they exchange goes \
              through host memory",
        source: "NVIDIA/nccl#1716; NVIDIA AI Enterprise, vGPU features, P2P CUDA transfers",
        judge: peers::forbidden,
    },
    Rule {
        id: "iommu-translates",
        title: "IOMMU on the way between GPUs",
        reads: "/sys/kernel/iommu_groups, /sys/class/iommu, /proc/cmdline",
        why: "an IOMMU that translates sends peer copies up to the root complex: slower, on some boxes hung or with wrong data",
        source: NCCL_PCI,
        judge: peers::iommu,
    },
    Rule {
        id: "acs-redirect",
        title: "ports that send peer requests up (ACS)",
        reads: "/sys/bus/pci/devices/*/config",
        why: "a port with ACS redirect sends requests between GPUs up to the root complex instead of across: below a switch that halves \
              the bandwidth, with a translating IOMMU it has hung boxes",
        source: "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/gpu_troubleshooting.html, NVIDIA/nccl#2079, \
                 vllm-project/vllm#51513",
        judge: peers::acs,
    },
    Rule {
        id: "large-bar",
        title: "windows to GPU memory (large BAR)",
        reads: "/sys/bus/pci/devices/*/resource, mem_info_vis_vram_total",
        why: "peers and the CPU reach no more of a GPU's memory than its window shows; AMD's driver allows no peer access without a window \
              to all of it",
        source: "Linux drivers/gpu/drm/amd/amdgpu/amdgpu_device.c, amdgpu_device_is_peer_accessible",
        judge: peers::large_bar,
    },
    Rule {
        id: "amd-peer-links",
        title: "peer links of AMD's kernel driver",
        reads: "/sys/class/kfd/kfd/topology/nodes/*/p2p_links",
        why: "AMD's driver lists a link between two GPUs only where the kernel lets them reach each other (CONFIG_HSA_AMD_P2P, \
              CONFIG_PCI_P2PDMA, a large BAR and a host bridge that is known to forward); without it copies go through host memory \
              and nobody says so",
        source: "Linux drivers/gpu/drm/amd/amdkfd/kfd_topology.c and drivers/gpu/drm/amd/amdgpu/amdgpu_device.c, \
                 amdgpu_device_is_peer_accessible",
        judge: peers::kfd,
    },
    Rule {
        id: "nccl-p2p-level",
        title: "how far the collective library goes directly, with two GPUs and with all",
        reads: "the PCI tree, /proc/cpuinfo, the library's version, NCCL_P2P_LEVEL, NCCL_P2P_DISABLE",
        why: "beyond this level the library exchanges data through host memory although the GPUs may reach each other; NCCL's depends on \
              how many GPUs a communicator has, so that TP2 and TP4 on the same box go different ways",
        source: NCCL,
        judge: transport::level,
    },
    Rule {
        id: "guest",
        title: "virtual machines",
        reads: "/proc/cpuinfo",
        why: "a hypervisor keeps ACS on for what it passes through, so peer copies go up to the root complex; links, ACS and IOMMU of the \
              host are not shown to the guest",
        source: NCCL_PCI,
        judge: transport::guest,
    },
    Rule {
        id: "slot-link",
        title: "the link between a card and its slot, lanes and rate",
        reads: "/sys/bus/pci/devices/*/current_link_width, current_link_speed, max_link_width, max_link_speed",
        why: "every copy of this GPU crosses this link, and half the lanes are half the bandwidth",
        source: "PCI Express Base Specification, link capabilities and status",
        judge: links::link,
    },
    Rule {
        id: "slot-below-card",
        title: "slots that can do less than the card",
        reads: "/sys/bus/pci/devices/*/max_link_speed, max_link_width",
        why: "the card never gets more than its slot gives",
        source: "PCI Express Base Specification, link capabilities",
        judge: links::slot,
    },
    Rule {
        id: "link-errors",
        title: "error counters of the links (AER)",
        reads: "/sys/bus/pci/devices/*/aer_dev_*",
        why: "packets that are sent again cost time, and errors that are not mended lose the device; a port above may count what its \
              device caused",
        source: "Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats of Linux",
        judge: links::errors,
    },
    Rule {
        id: "memory-repairs",
        title: "repairs of the GPUs' memory: remapped rows, retired pages",
        reads: "the management library, /sys/bus/pci/devices/*/ras/gpu_vram_bad_pages",
        why: "memory that was repaired lost data or was about to; what waits for a reset is in use until then, and for what could not be \
              repaired a vendor takes the card back",
        source: "https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/, Documentation/gpu/amdgpu/ras.rst of Linux",
        judge: repairs::memory,
    },
    Rule {
        id: "aspm",
        title: "power saving of the links (ASPM)",
        reads: "/sys/module/pcie_aspm/parameters/policy, /sys/bus/pci/devices/*/link/*_aspm",
        why: "a link that sleeps between small messages wakes up for each of them",
        source: "Documentation/ABI/testing/sysfs-bus-pci of Linux",
        judge: links::aspm,
    },
    Rule {
        id: "cpu-governor",
        title: "what sets the processors' clocks",
        reads: "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor",
        why: "launches, copies of pageable memory and collectives through host memory run at the processor's clock",
        source: KERNEL_PM,
        judge: cpu::governor,
    },
    Rule {
        id: "cpu-boost",
        title: "clocks above the nominal one",
        reads: "/sys/devices/system/cpu/cpufreq/boost, intel_pstate/no_turbo",
        why: "a thread that launches kernels gains by the highest clock",
        source: KERNEL_PM,
        judge: cpu::boost,
    },
    Rule {
        id: "numa-balancing",
        title: "automatic NUMA balancing",
        reads: "/proc/sys/kernel/numa_balancing",
        why: "the kernel unmaps pages to see who uses them, and moves them: jitter in what the host does for collectives",
        source: "RCCL's src/init.cc, deepseek-ai/DeepEP#644",
        judge: memory::balancing,
    },
    Rule {
        id: "transparent-huge-pages",
        title: "transparent huge pages",
        reads: "/sys/kernel/mm/transparent_hugepage/enabled",
        why: "without huge pages pinned host buffers have 512 times the pages to pin and to translate",
        source: "Documentation/admin-guide/mm/transhuge.rst of Linux",
        judge: memory::transparent_huge_pages,
    },
    Rule {
        id: "reserved-huge-pages",
        title: "memory that reserved huge pages hold",
        reads: "/proc/meminfo",
        why: "programs that do not ask for them cannot use this memory, pinned buffers of engines among them",
        source: "Documentation/admin-guide/mm/hugetlbpage.rst of Linux; the limit of a half is a choice of this program",
        judge: memory::reserved_huge_pages,
    },
    Rule {
        id: "shm-size",
        title: "size of /dev/shm",
        reads: "the file system at /dev/shm",
        why: "NCCL and vLLM exchange data between processes through files there, and fail to start, or mid-run, where they do not fit",
        source: NCCL_RUNTIME,
        judge: memory::shared_memory,
    },
    Rule {
        id: "memlock",
        title: "limit of locked memory",
        reads: "/proc/self/limits, /proc/self/status",
        why: "RDMA and locked host buffers count against it, and fail beyond",
        source: NCCL_RUNTIME,
        judge: limits::memlock,
    },
    Rule {
        id: "open-files",
        title: "limit of open files",
        reads: "/proc/self/limits",
        why: "every connection of a client and every exchanged buffer is an open file; an engine of eight GPUs ended at 1024, and vLLM \
              asks for 65535",
        source: "pytorch/pytorch#137695, vllm-project/vllm#11530",
        judge: limits::open_files,
    },
    Rule {
        id: "cgroup-cpu",
        title: "processor time of the control group",
        reads: "cpu.max or cpu.cfs_quota_us in /sys/fs/cgroup",
        why: "a group that has used up its share stands still until the next period, in the middle of a step",
        source: KERNEL_CGROUP,
        judge: container::cpu,
    },
    Rule {
        id: "cgroup-memory",
        title: "memory of the control group",
        reads: "memory.max or memory.limit_in_bytes in /sys/fs/cgroup",
        why: "pinned buffers and /dev/shm count against it, and beyond it the kernel kills",
        source: "Documentation/admin-guide/cgroup-v2.rst of Linux; the limit of 8 GiB a GPU is a choice of this program",
        judge: container::memory,
    },
    Rule {
        id: "cgroup-pids",
        title: "processes and threads of the control group",
        reads: "pids.max in /sys/fs/cgroup",
        why: "every rank brings threads of its engine, driver and collective library; beyond the limit none can be made",
        source: "vllm-project/vllm#13354; the limit of 512 a GPU is a choice of this program",
        judge: container::tasks,
    },
    Rule {
        id: "cpuset",
        title: "processors and memory nodes that this process may use",
        reads: "/proc/self/status",
        why: "a process that may not run on the node of its GPU, or not take memory there, does everything from afar",
        source: "Documentation/admin-guide/cgroup-v1/cpusets.rst of Linux",
        judge: container::cpuset,
    },
    Rule {
        id: "seccomp-numa",
        title: "system calls that bind memory",
        reads: "/proc/self/status",
        why: "Docker's default filter refuses mbind, set_mempolicy and get_mempolicy without CAP_SYS_NICE, and move_pages always: bindings \
              are then silently not there, and NCCL falls back to /dev/shm",
        source: SECCOMP,
        judge: container::seccomp,
    },
    Rule {
        id: "known-versions",
        title: "versions that are known to hang or to fail",
        reads: "drivers and collective libraries, asked in processes of their own",
        why: "what others reported of these versions happens here, too",
        source: OWN,
        judge: versions::known,
    },
    Rule {
        id: "host-hang",
        title: "devices that are known to take the host down",
        reads: "the devices' names",
        why: "direct peer copies of these devices hung whole machines",
        source: "ROCm/rocm-systems#11348",
        judge: versions::host_hang,
    },
    Rule {
        id: "variables",
        title: "variables that switch something off or mislead",
        reads: "the environment; /etc/nccl.conf and ~/.nccl.conf, of AMD's GPUs /etc/rccl.conf and ~/.rccl.conf",
        why: "a variable that was set for another box or to find a fault stays in force",
        source: NCCL_ENV,
        judge: variables::set,
    },
    Rule {
        id: "rccl-fine-grain",
        title: "what RCCL asks for to go directly by PCI Express",
        reads: "HSA_FORCE_FINE_GRAIN_PCIE",
        why: "RCCL's page asks for it where GPUs are joined by PCI Express; RCCL itself warns of its absence only where it was built without \
              uncached memory, so that a new one may do without",
        source: "https://rocm.docs.amd.com/projects/rccl/en/docs-10.1.0/how-to/rccl-usage-tips.html, RCCL's src/init.cc",
        judge: variables::fine_grain,
    },
    Rule {
        id: "device-order",
        title: "the order of the devices",
        reads: "*_VISIBLE_DEVICES, CUDA_DEVICE_ORDER",
        why: "devices then have other numbers in programs than in nvidia-smi and in this program's tables, so that bindings and pairs \
              are those of other devices",
        source: "CUDA C++ Programming Guide, environment variables",
        judge: variables::order,
    },
    Rule {
        id: "gpu-nic-memory",
        title: "network cards that reach GPU memory",
        reads: "/sys/module, /proc/driver/nvidia/version, /proc/sys/kernel/osrelease",
        why: "without nvidia_peermem or dma-buf every message to another host goes through host memory",
        source: "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-rdma.html",
        judge: nics::peer_memory,
    },
    Rule {
        id: "nic-link",
        title: "ports of network cards without a link",
        reads: "/sys/class/infiniband/*/ports/*/state",
        why: "collective libraries and engines take every RDMA card that they find unless they are told which",
        source: NCCL_ENV,
        judge: nics::link,
    },
    Rule {
        id: "gid-index",
        title: "identifiers of RoCE ports",
        reads: "/sys/class/infiniband/*/ports/*/gid_attrs/types/*",
        why: "an index without a RoCE v2 identifier connects to nobody beyond a router",
        source: NCCL_ENV,
        judge: nics::gid,
    },
    Rule {
        id: "gpu-nic-distance",
        title: "distance from a GPU to its nearest network card",
        reads: "the PCI tree",
        why: "a card on another NUMA node is reached across the sockets, and GPU memory then not directly",
        source: NCCL_ENV,
        judge: nics::distance,
    },
    Rule {
        id: "boot-options",
        title: "what the kernel was started with",
        reads: "/proc/cmdline",
        why: "words that were set for another purpose decide how devices reach each other and whether errors are counted",
        source: KERNEL_PARAMETERS,
        judge: boot::options,
    },
    Rule {
        id: "kernel-log",
        title: "what the kernel said since it started",
        reads: "/dev/kmsg",
        why: "devices that were lost, links that were limited and processes that were killed stand there and nowhere else",
        source: "https://docs.nvidia.com/deploy/xid-errors/, Linux drivers/pci/pci.c",
        judge: log::kernel,
    },
];

/// `CAP_SYS_ADMIN` of linux/capability.h, without which files of devices and the kernel's log are shown in part or not at all.
const SYS_ADMIN: u32 = 21;

/// Whether root would be shown more than this process is.
fn root_sees_more(facts: &Facts) -> bool {
    let process = facts.process.known();
    process.is_some_and(|process| process.has(SYS_ADMIN) != Some(true))
}

/// Whether there is a host beneath that can be looked at.
fn is_guest(facts: &Facts) -> bool {
    facts.machine.hypervisor == Some(true)
}
