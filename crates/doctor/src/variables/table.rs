//! [`ALL`]: every variable that is looked at, with its code; the page of a code says what the variable does, and who says so. When a value counts is decided one level up.

use topology::vendor::{AMD, NVIDIA};

use super::Known;
use super::When::{self, AtLeast, Below, Exactly, Is, IsNot, Set};
use crate::Verdict::{self, Bad, Warn};

const fn known(
    code: &'static str,
    names: &'static [&'static str],
    when: When,
    verdict: Verdict,
) -> Known {
    Known {
        code,
        names,
        when,
        verdict,
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
        "env-nccl-p2p-disable",
        &["NCCL_P2P_DISABLE", "MCCL_P2P_DISABLE"],
        Is(&["1"]),
        Bad,
    ),
    known(
        "env-nccl-p2p-level-off",
        &["NCCL_P2P_LEVEL", "MCCL_P2P_LEVEL"],
        Exactly(&["LOC", "0"]),
        Bad,
    ),
    known(
        "env-nccl-p2p-level-nvl",
        &["NCCL_P2P_LEVEL"],
        Exactly(&["NVL"]),
        Warn,
    )
    .of(AMD),
    known(
        "env-nccl-p2p-level-narrow",
        &["NCCL_P2P_LEVEL"],
        Exactly(&[
            "NVL", "XGMI", "PIX", "PXB", "P2C", "PXN", "PHB", "1", "2", "3",
        ]),
        Warn,
    ),
    known(
        "env-nccl-p2p-level-unknown",
        &["NCCL_P2P_LEVEL", "MCCL_P2P_LEVEL"],
        IsNot(LEVELS),
        Warn,
    ),
    known(
        "env-nccl-p2p-direct-disable",
        &["NCCL_P2P_DIRECT_DISABLE"],
        Is(&["1"]),
        Warn,
    ),
    known(
        "env-nccl-shm-disable",
        &["NCCL_SHM_DISABLE"],
        Is(&["1"]),
        Bad,
    ),
    known("env-nccl-proto", &["NCCL_PROTO", "MCCL_PROTO"], Set, Warn),
    known("env-nccl-algo", &["NCCL_ALGO", "MCCL_ALGO"], Set, Warn),
    known(
        "env-nccl-max-nchannels",
        &["NCCL_MAX_NCHANNELS", "MCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS"],
        Below(4),
        Warn,
    ),
    known(
        "env-nccl-buffsize",
        &["NCCL_BUFFSIZE"],
        Below(1 << 20),
        Warn,
    ),
    known(
        "env-nccl-ib-disable",
        &["NCCL_IB_DISABLE"],
        Is(&["1"]),
        Warn,
    ),
    known(
        "env-nccl-net-gdr-level",
        &["NCCL_NET_GDR_LEVEL", "MCCL_NET_GDR_LEVEL"],
        Is(&["LOC", "0"]),
        Warn,
    ),
    known(
        "env-nccl-cumem-enable",
        &["NCCL_CUMEM_ENABLE"],
        Is(&["0"]),
        Warn,
    )
    .of(NVIDIA),
    known(
        "env-nccl-cumem-enable-amd",
        &["NCCL_CUMEM_ENABLE"],
        Is(&["1"]),
        Warn,
    )
    .of(AMD),
    known(
        "env-nccl-cumem-host-enable",
        &["NCCL_CUMEM_HOST_ENABLE"],
        Is(&["0"]),
        Warn,
    )
    .of(NVIDIA),
    known(
        "env-nccl-nvls-enable",
        &["NCCL_NVLS_ENABLE"],
        Is(&["0"]),
        Warn,
    )
    .of(NVIDIA),
    known(
        "env-nccl-p2p-use-cuda-memcpy",
        &["NCCL_P2P_USE_CUDA_MEMCPY"],
        Is(&["1"]),
        Warn,
    ),
    known(
        "env-nccl-chunk-size",
        &["NCCL_CHUNK_SIZE"],
        AtLeast(1 << 20),
        Bad,
    ),
    known(
        "env-nccl-check-pointers",
        &["NCCL_CHECK_POINTERS"],
        Is(&["1"]),
        Warn,
    ),
    known(
        "env-nccl-ignore-cpu-affinity",
        &["NCCL_IGNORE_CPU_AFFINITY"],
        Is(&["1"]),
        Warn,
    ),
    known(
        "env-nccl-debug",
        &["NCCL_DEBUG", "MCCL_DEBUG"],
        Is(&["TRACE"]),
        Warn,
    ),
    known(
        "env-nccl-check-mode",
        &["NCCL_CHECK_MODE"],
        Is(&["DEBUG_LOCAL", "DEBUG_GLOBAL"]),
        Warn,
    )
    .of(AMD),
    known(
        "env-rccl-msccl-enable",
        &["RCCL_MSCCL_ENABLE"],
        Is(&["0"]),
        Warn,
    )
    .of(AMD),
    known(
        "env-rccl-mscclpp-enable",
        &["RCCL_MSCCLPP_ENABLE"],
        Is(&["0"]),
        Warn,
    )
    .of(AMD),
    known(
        "env-rccl-override-proto",
        &["RCCL_OVERRIDE_PROTO", "RCCL_OVERRIDE_ALGO"],
        Set,
        Warn,
    )
    .of(AMD),
    known(
        "env-rccl-ll128-force-enable",
        &["RCCL_LL128_FORCE_ENABLE"],
        Is(&["1"]),
        Warn,
    )
    .of(AMD),
    known(
        "env-hsa-enable-ipc-mode-legacy",
        &["HSA_ENABLE_IPC_MODE_LEGACY"],
        Is(&["1"]),
        Warn,
    )
    .of(AMD),
    known(
        "env-cuda-launch-blocking",
        &["CUDA_LAUNCH_BLOCKING", "HIP_LAUNCH_BLOCKING"],
        Is(&["1"]),
        Bad,
    ),
    known(
        "env-amd-serialize-kernel",
        &["AMD_SERIALIZE_KERNEL", "AMD_SERIALIZE_COPY"],
        Is(&["1", "2", "3"]),
        Bad,
    ),
    known(
        "env-cuda-device-max-connections",
        &["CUDA_DEVICE_MAX_CONNECTIONS"],
        Below(2),
        Warn,
    )
    .of(NVIDIA),
    known(
        "env-gpu-max-hw-queues",
        &["GPU_MAX_HW_QUEUES"],
        Below(2),
        Warn,
    )
    .of(AMD),
    known(
        "env-hsa-enable-sdma",
        &["HSA_ENABLE_SDMA"],
        Is(&["0"]),
        Warn,
    ),
    known(
        "env-hsa-enable-peer-sdma",
        &["HSA_ENABLE_PEER_SDMA"],
        Is(&["0"]),
        Warn,
    ),
    known(
        "env-hsa-override-gfx-version",
        &["HSA_OVERRIDE_GFX_VERSION"],
        Set,
        Warn,
    ),
    known(
        "env-vllm-nccl-so-path",
        &["VLLM_NCCL_SO_PATH", "VLLM_MCCL_SO_PATH"],
        Set,
        Warn,
    ),
    known(
        "env-vllm-skip-p2p-check",
        &["VLLM_SKIP_P2P_CHECK"],
        Is(&["1"]),
        Warn,
    ),
];
