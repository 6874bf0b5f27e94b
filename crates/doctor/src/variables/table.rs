//! [`ALL`]: every variable that is looked at, with what it does and who says so. When a value counts is decided one level up.

use topology::vendor::{AMD, NVIDIA};

use super::Known;
use super::When::{self, AtLeast, Below, Exactly, Is, IsNot, Set};
use crate::Verdict::{self, Bad, Warn};

const NCCL_ENV: &str = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html";
const CUDA_ENV: &str = "CUDA C++ Programming Guide, environment variables";
const HIP_ENV: &str =
    "https://rocm.docs.amd.com/projects/HIP/en/latest/reference/env_variables.html";
const ROCR_ENV: &str = "https://rocm.docs.amd.com/projects/ROCR-Runtime/en/latest/api-reference/environment_variables.html";
const RCCL_ENV: &str =
    "https://rocm.docs.amd.com/projects/rccl/en/docs-10.2.0/api-reference/env-variables.html";
const RCCL_CHANGES: &str = "projects/rccl/CHANGELOG.md of ROCm/rocm-systems";
const RCCL_TOPO: &str =
    "RCCL's src/graph/topo.cc, topoPathTypeStr, and src/graph/paths.cc, ncclGetLevel";
const RCCL_INIT: &str = "RCCL's src/init.cc";
const FLAGCX: &str = "FlagCX's tuner for MCCL, and NCCL's documentation of the same name";
const VLLM_ENV: &str = "https://docs.vllm.ai/en/latest/configuration/env_vars.html";

const fn known(
    names: &'static [&'static str],
    when: When,
    verdict: Verdict,
    effect: &'static str,
    source: &'static str,
) -> Known {
    Known {
        names,
        when,
        verdict,
        effect,
        source,
        vendor: None,
    }
}

impl Known {
    /// The same of the GPUs of one vendor only.
    const fn of(mut self, vendor: u16) -> Self {
        self.vendor = Some(vendor);
        self
    }
}

/// The levels that NCCL or RCCL has words or numbers for.
const LEVELS: &[&str] = &[
    "LOC", "NVL", "XGMI", "C2C", "NVB", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS", "0", "1", "2",
    "3", "4", "5", "6", "7", "8", "9",
];

/// Every variable that is looked at.
pub const ALL: &[Known] = &[
    known(
        &["NCCL_P2P_DISABLE"],
        Is(&["1"]),
        Bad,
        "no GPU reaches another directly, whatever the box can do: everything goes through host memory",
        NCCL_ENV,
    ),
    known(
        &["MCCL_P2P_DISABLE"],
        Is(&["1"]),
        Bad,
        "no GPU reaches another directly, whatever the box can do: everything goes through host memory",
        FLAGCX,
    ),
    known(
        &["NCCL_P2P_LEVEL"],
        Exactly(&["LOC", "0"]),
        Bad,
        "no GPU reaches another directly, whatever the box can do",
        NCCL_ENV,
    ),
    known(
        &["MCCL_P2P_LEVEL"],
        Exactly(&["LOC", "0"]),
        Bad,
        "no GPU reaches another directly, whatever the box can do",
        FLAGCX,
    ),
    known(
        &["NCCL_P2P_LEVEL"],
        Exactly(&["NVL"]),
        Warn,
        "RCCL has no such word, its own is XGMI: the level stays the default",
        RCCL_TOPO,
    )
    .of(AMD),
    known(
        &["NCCL_P2P_LEVEL"],
        Exactly(&["NVL", "XGMI", "PIX", "PXB", "P2C", "PXN", "PHB", "1", "2", "3"]),
        Warn,
        "it outranks what the library would choose on this box; pairs farther away go through host memory",
        NCCL_ENV,
    ),
    known(
        &["NCCL_P2P_LEVEL", "MCCL_P2P_LEVEL"],
        IsNot(LEVELS),
        Warn,
        "it is none of LOC, NVL (RCCL: XGMI), PIX, PXB, PHB and SYS: the level stays the default",
        NCCL_ENV,
    ),
    known(
        &["NCCL_P2P_DIRECT_DISABLE"],
        Is(&["1"]),
        Warn,
        "GPUs of one process do not reach each other's buffers directly",
        NCCL_ENV,
    ),
    known(
        &["NCCL_SHM_DISABLE"],
        Is(&["1"]),
        Bad,
        "where GPUs do not reach each other directly, network sockets are used instead of shared memory",
        NCCL_ENV,
    ),
    known(
        &["NCCL_PROTO", "MCCL_PROTO"],
        Set,
        Warn,
        "it forbids protocols: without LL small all-reduces, as decoding has them, take longer; with LL alone large ones lose bandwidth",
        NCCL_ENV,
    ),
    known(
        &["NCCL_ALGO", "MCCL_ALGO"],
        Set,
        Warn,
        "it outranks the algorithm that the library would choose for a size",
        NCCL_ENV,
    ),
    known(
        &["NCCL_MAX_NCHANNELS", "MCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS"],
        Below(4),
        Warn,
        "so few channels limit the bandwidth of large messages",
        NCCL_ENV,
    ),
    known(
        &["NCCL_BUFFSIZE"],
        Below(1 << 20),
        Warn,
        "the default is 4 MiB; smaller buffers cost bandwidth",
        NCCL_ENV,
    ),
    known(
        &["NCCL_IB_DISABLE"],
        Is(&["1"]),
        Warn,
        "other hosts are reached by sockets instead of RDMA",
        NCCL_ENV,
    ),
    known(
        &["NCCL_NET_GDR_LEVEL", "MCCL_NET_GDR_LEVEL"],
        Is(&["LOC", "0"]),
        Warn,
        "network cards never read GPU memory directly",
        NCCL_ENV,
    ),
    known(
        &["NCCL_CUMEM_ENABLE"],
        Is(&["0"]),
        Warn,
        "buffers are not allocated by cuMem, which some ways to a peer need",
        NCCL_ENV,
    )
    .of(NVIDIA),
    known(
        &["NCCL_CUMEM_ENABLE"],
        Is(&["1"]),
        Warn,
        "buffers come of virtual memory, which AMD has checked on gfx1250 only",
        RCCL_ENV,
    )
    .of(AMD),
    known(
        &["NCCL_CUMEM_HOST_ENABLE"],
        Is(&["0"]),
        Warn,
        "host buffers are files in /dev/shm, whose size then counts, and not on the GPU's NUMA node",
        NCCL_ENV,
    )
    .of(NVIDIA),
    known(
        &["NCCL_NVLS_ENABLE"],
        Is(&["0"]),
        Warn,
        "the sums are not made in NVSwitch, where the box has one",
        NCCL_ENV,
    )
    .of(NVIDIA),
    known(
        &["NCCL_P2P_USE_CUDA_MEMCPY"],
        Is(&["1"]),
        Warn,
        "peers are written by the copy engines, which has more latency and can hang",
        "NVIDIA/nccl#896",
    ),
    known(
        &["NCCL_CHUNK_SIZE"],
        AtLeast(1 << 20),
        Bad,
        "send and receive, and so all-to-all, gave wrong results with chunks larger than a step of the peer transport; there they were 1 MiB and more",
        "NVIDIA/nccl#2408",
    ),
    known(
        &["NCCL_CHECK_POINTERS"],
        Is(&["1"]),
        Warn,
        "the buffers of every call are checked, which takes time",
        NCCL_ENV,
    ),
    known(
        &["NCCL_IGNORE_CPU_AFFINITY"],
        Is(&["1"]),
        Warn,
        "the library's threads leave the processors that the launcher gave them",
        NCCL_ENV,
    ),
    known(
        &["NCCL_DEBUG", "MCCL_DEBUG"],
        Is(&["TRACE"]),
        Warn,
        "every call is logged, which takes time",
        NCCL_ENV,
    ),
    known(
        &["NCCL_CHECK_MODE"],
        Is(&["DEBUG_LOCAL", "DEBUG_GLOBAL"]),
        Warn,
        "the arguments of every call are checked, with DEBUG_GLOBAL by an exchange between all ranks",
        RCCL_ENV,
    )
    .of(AMD),
    known(
        &["RCCL_MSCCL_ENABLE"],
        Is(&["0"]),
        Warn,
        "MSCCL's algorithms, on by default before RCCL 2.28.3, are off; later versions have none",
        RCCL_CHANGES,
    )
    .of(AMD),
    known(
        &["RCCL_MSCCLPP_ENABLE"],
        Is(&["0"]),
        Warn,
        "MSCCL++'s kernels for gfx942, on by default from ROCm 6.3 to 7.0, are off; later versions have them off or not at all",
        RCCL_CHANGES,
    )
    .of(AMD),
    known(
        &["RCCL_OVERRIDE_PROTO", "RCCL_OVERRIDE_ALGO"],
        Set,
        Warn,
        "every collective takes it, whatever RCCL's model would choose, and fails where it cannot",
        RCCL_CHANGES,
    )
    .of(AMD),
    known(
        &["RCCL_LL128_FORCE_ENABLE"],
        Is(&["1"]),
        Warn,
        "the protocol LL128 is taken on GPUs on which RCCL does not take it by itself",
        RCCL_INIT,
    )
    .of(AMD),
    known(
        &["HSA_ENABLE_IPC_MODE_LEGACY"],
        Is(&["1"]),
        Warn,
        "processes share GPU memory by the old calls of AMD's own kernel driver: with the kernel's amdgpu, and on R9700 and RX 7900 XTX, \
         that was reported to fail, and with it RCCL with a process for each GPU",
        "ROCm/rocm-systems#2209, ROCm/ROCR-Runtime#270",
    )
    .of(AMD),
    known(
        &["CUDA_LAUNCH_BLOCKING", "HIP_LAUNCH_BLOCKING"],
        Is(&["1"]),
        Bad,
        "every launch waits for its end: nothing overlaps",
        CUDA_ENV,
    ),
    known(
        &["AMD_SERIALIZE_KERNEL", "AMD_SERIALIZE_COPY"],
        Is(&["1", "2", "3"]),
        Bad,
        "kernels or copies wait for each other: nothing overlaps",
        HIP_ENV,
    ),
    known(
        &["CUDA_DEVICE_MAX_CONNECTIONS"],
        Below(2),
        Warn,
        "all streams of a device share one queue, so copies and kernels wait for each other",
        CUDA_ENV,
    )
    .of(NVIDIA),
    known(
        &["GPU_MAX_HW_QUEUES"],
        Below(2),
        Warn,
        "all streams of a device share one queue, so copies and kernels wait for each other",
        HIP_ENV,
    )
    .of(AMD),
    known(
        &["HSA_ENABLE_SDMA"],
        Is(&["0"]),
        Warn,
        "copies are done by kernels instead of the copy engines",
        ROCR_ENV,
    ),
    known(
        &["HSA_ENABLE_PEER_SDMA"],
        Is(&["0"]),
        Warn,
        "peer copies are done by kernels instead of the copy engines",
        ROCR_ENV,
    ),
    known(
        &["HSA_OVERRIDE_GFX_VERSION"],
        Set,
        Warn,
        "the device passes for another one: kernels and tuning of that one are used",
        HIP_ENV,
    ),
    known(
        &["VLLM_NCCL_SO_PATH", "VLLM_MCCL_SO_PATH"],
        Set,
        Warn,
        "vLLM loads this library; versions found elsewhere say nothing of it",
        VLLM_ENV,
    ),
    known(
        &["VLLM_SKIP_P2P_CHECK"],
        Is(&["1"]),
        Warn,
        "vLLM takes the driver's word for peer access and tries none, as newer releases do by themselves; check with p2p-bw",
        VLLM_ENV,
    ),
];
