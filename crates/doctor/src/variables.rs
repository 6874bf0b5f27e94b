//! Variables that switch something off or mislead: which there are, when they count, and what they do.
//!
//! Only these are ever read, so that no secret gets into a finding.

use crate::Verdict;

const NCCL_ENV: &str = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html";
const CUDA_ENV: &str = "CUDA C++ Programming Guide, environment variables";
const HIP_ENV: &str =
    "https://rocm.docs.amd.com/projects/HIP/en/latest/reference/env_variables.html";
const FLAGCX: &str = "FlagCX's tuner for MCCL, and NCCL's documentation of the same name";
const VLLM_ENV: &str = "https://docs.vllm.ai/en/latest/configuration/env_vars.html";

/// A variable that counts with some values.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// The names it has, one for each library.
    pub names: &'static [&'static str],
    /// With which values it counts.
    pub when: When,
    /// How much.
    pub verdict: Verdict,
    /// What it does.
    pub effect: &'static str,
    /// Who says so.
    pub source: &'static str,
}

/// With which values a variable counts.
#[derive(Debug, Clone, Copy)]
pub enum When {
    /// Any at all.
    Set,
    /// One of these.
    Is(&'static [&'static str]),
    /// One of these, written so.
    Exactly(&'static [&'static str]),
    /// Anything but one of these, written so.
    IsNot(&'static [&'static str]),
    /// A number below this one.
    Below(u32),
}

impl When {
    /// Whether a value counts.
    #[must_use]
    pub fn holds(self, value: &str) -> bool {
        match self {
            Self::Set => !value.is_empty(),
            Self::Is(values) => values.iter().any(|known| known.eq_ignore_ascii_case(value)),
            Self::Exactly(values) => values.contains(&value),
            Self::IsNot(values) => !value.is_empty() && !values.contains(&value),
            Self::Below(limit) => value.parse().is_ok_and(|number: u32| number < limit),
        }
    }
}

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
    }
}

use Verdict::{Bad, Warn};
use When::{Below, Exactly, Is, IsNot, Set};

/// The levels that NCCL has words or numbers for.
const LEVELS: &[&str] = &[
    "LOC", "NVL", "C2C", "NVB", "PIX", "PXB", "PXN", "PHB", "SYS", "0", "1", "2", "3", "4", "5",
    "6", "7", "8", "9",
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
        Exactly(&["NVL", "PIX", "PXB", "PXN", "PHB", "1", "2", "3"]),
        Warn,
        "it outranks what the library would choose on this box; pairs farther away go through host memory",
        NCCL_ENV,
    ),
    known(
        &["NCCL_P2P_LEVEL", "MCCL_P2P_LEVEL"],
        IsNot(LEVELS),
        Warn,
        "it is none of LOC, NVL, PIX, PXB, PHB and SYS: what the library makes of it depends on its version, mostly its default",
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
    ),
    known(
        &["NCCL_CUMEM_HOST_ENABLE"],
        Is(&["0"]),
        Warn,
        "host buffers are files in /dev/shm, whose size then counts, and not on the GPU's NUMA node",
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
        &["RCCL_MSCCL_ENABLE", "RCCL_MSCCLPP_ENABLE"],
        Is(&["0"]),
        Warn,
        "RCCL's own small-message algorithms are off",
        "https://rocm.docs.amd.com/projects/rccl/en/latest/",
    ),
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
        &["CUDA_DEVICE_MAX_CONNECTIONS", "GPU_MAX_HW_QUEUES"],
        Below(2),
        Warn,
        "all streams of a device share one queue, so copies and kernels wait for each other",
        CUDA_ENV,
    ),
    known(
        &["HSA_ENABLE_SDMA"],
        Is(&["0"]),
        Warn,
        "copies are done by kernels instead of the copy engines",
        HIP_ENV,
    ),
    known(
        &["HSA_ENABLE_PEER_SDMA"],
        Is(&["0"]),
        Warn,
        "peer copies are done by kernels instead of the copy engines",
        HIP_ENV,
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
        "vLLM takes the driver's word for peer access and tries none; check with p2p-bw",
        VLLM_ENV,
    ),
];

/// Names that rules look at by themselves.
const OTHERS: &[&str] = &[
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "MACA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "NCCL_IB_GID_INDEX",
    "NCCL_IB_HCA",
    "MCCL_P2P_LEVEL",
    "NCCL_P2P_LEVEL",
];

/// Whether a variable is looked at; no other one may be given to the rules.
#[must_use]
pub fn is_known(name: &str) -> bool {
    OTHERS.contains(&name) || ALL.iter().any(|known| known.names.contains(&name))
}

/// The variables that a configuration file of NCCL sets, which are looked at: lines of `NAME=VALUE`.
#[must_use]
pub fn in_file(text: &str, source: &str) -> Vec<crate::Variable> {
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.trim(), value.trim()))
        .filter(|(name, _)| is_known(name))
        .map(|(name, value)| crate::Variable {
            name: name.to_owned(),
            value: value.to_owned(),
            source: source.to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_count_as_the_table_says() {
        assert!(Is(&["1"]).holds("1") && !Is(&["1"]).holds("0"));
        assert!(Is(&["LOC"]).holds("loc"));
        assert!(Below(4).holds("3") && !Below(4).holds("4") && !Below(4).holds("many"));
        assert!(IsNot(&["SYS"]).holds("FOO") && !IsNot(&["SYS"]).holds("SYS"));
        assert!(!IsNot(&["SYS"]).holds(""));
        assert!(Set.holds("Simple") && !Set.holds(""));
    }

    #[test]
    fn nothing_but_what_is_known_is_taken_from_a_file() {
        let text = "# NCCL_ALGO=Tree\nNCCL_P2P_DISABLE = 1\nHF_TOKEN=canary\nNCCL_SECRET=canary\n";
        let found = in_file(text, "/etc/nccl.conf");
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].name.as_str(), found[0].value.as_str()),
            ("NCCL_P2P_DISABLE", "1")
        );
        assert_eq!(found[0].source, "/etc/nccl.conf");
    }

    #[test]
    fn no_name_of_the_table_may_hold_a_secret() {
        for name in ALL.iter().flat_map(|known| known.names).chain(OTHERS) {
            assert!(!measure::record::is_secret(name), "{name}");
        }
    }
}
