//! Who does one all-reduce: the engine's own kernel, torch's symmetric memory, or the vendor's library.
//!
//! vLLM 0.13.0 asks in this order (`cuda_communicator.py`): custom all-reduce, symmetric memory, library. The limits are
//! those of `custom_all_reduce.py` and `all_reduce_utils.py`. What is off by default (NCCL with symmetric memory, quick
//! all-reduce on MI300) is not looked at. SGLang 0.5.6 has symmetric memory off by default.

use record::CollectivePath;
use record::unit::ByteCount;

use super::facts::{CustomAllReduce, Engine, EngineFacts, Vendor};

const MIB: u64 = 1 << 20;

/// Message limits where symmetric memory works, by architecture and ranks: of the custom kernel, and of symmetric memory, in bytes.
const SYMMETRIC: [(&str, u32, u64, u64); 8] = [
    ("sm_90", 2, 64 * MIB, 64 * MIB),
    ("sm_90", 4, 32 * MIB, 32 * MIB),
    ("sm_90", 6, MIB / 2, 64 * MIB),
    ("sm_90", 8, MIB / 4, 64 * MIB),
    ("sm_100", 2, 2 * MIB, 8 * MIB),
    ("sm_100", 4, 2 * MIB, 32 * MIB),
    ("sm_100", 6, MIB, 128 * MIB),
    ("sm_100", 8, MIB, 128 * MIB),
];

/// KiB of a message up to which vLLM fuses an all-reduce with the norm behind it, by architecture and ranks (vLLM
/// `collective_fusion.py`, `FI_ALLREDUCE_FUSION_MAX_SIZE_MB`).
const FUSED_KIB: [(&str, u32, u64); 6] = [
    ("sm_90", 2, 64 << 10),
    ("sm_90", 4, 2 << 10),
    ("sm_90", 8, 512),
    ("sm_10", 2, 64 << 10),
    ("sm_10", 4, 32 << 10),
    ("sm_10", 8, 1 << 10),
];

/// The first minor version of vLLM that fuses by default (`config/vllm.py`, `enable_allreduce_rms_fusion`).
const FUSES_FROM: u32 = 15;

impl EngineFacts {
    /// Bytes of a message up to which the engine reduces within a fused kernel of FlashInfer, with a norm; `None` where it does not.
    /// Of a vLLM without a version today's default holds.
    #[must_use]
    pub fn fuses_up_to(&self) -> Option<u64> {
        let is_active = self.custom_all_reduce == CustomAllReduce::Active && self.full_nvlink;
        let minor = self.version.as_deref().and_then(|version| {
            let mut parts = version.trim_start_matches('v').split('.');
            let (major, minor) = (parts.next()?, parts.next()?);
            (major == "0").then(|| minor.parse::<u32>().ok()).flatten()
        });
        let is_old = minor.is_some_and(|minor| minor < FUSES_FROM);
        if self.engine != Engine::Vllm || !is_active || is_old {
            return None;
        }
        let own = self.architecture.as_deref()?;
        let mut rows = FUSED_KIB.iter();
        let row = rows.find(|(family, ranks, _)| own.starts_with(family) && *ranks == self.tp);
        row.map(|(_, _, kib)| kib << 10)
    }

    /// Who does an all-reduce of that many bytes, and the rule that decides.
    #[must_use]
    pub fn all_reduce_path(&self, bytes: u64) -> (CollectivePath, String) {
        let symmetric = self.symmetric();
        let general = match (self.engine, self.vendor) {
            (Engine::Sglang, Vendor::Amd) => 16 * MIB,
            _ => 8 * MIB,
        };
        let limit = symmetric.map_or(general, |(custom, _)| custom.min(general));
        let size = ByteCount(bytes);
        let refused = match &self.custom_all_reduce {
            CustomAllReduce::Off { reason, .. } => format!("custom all-reduce is off: {reason}"),
            CustomAllReduce::Active if !bytes.is_multiple_of(16) => {
                format!("{size} is not a multiple of 16 B, which custom all-reduce needs")
            }
            CustomAllReduce::Active if bytes >= limit => format!(
                "{size} is not below custom all-reduce's limit of {}",
                ByteCount(limit)
            ),
            CustomAllReduce::Active => {
                return (
                    CollectivePath::Custom,
                    format!("below custom all-reduce's limit of {}", ByteCount(limit)),
                );
            }
        };
        match symmetric {
            Some((_, below)) if bytes < below && bytes.is_multiple_of(4) => (
                CollectivePath::Custom,
                format!(
                    "{refused}; torch symmetric memory takes it, below {}",
                    ByteCount(below)
                ),
            ),
            _ => (CollectivePath::Library, refused),
        }
    }

    /// Limits of the custom kernel and of symmetric memory, where the latter works: it needs multicast between all ranks.
    fn symmetric(&self) -> Option<(u64, u64)> {
        if self.engine != Engine::Vllm || self.vendor != Vendor::Nvidia || !self.full_nvlink {
            return None;
        }
        let architecture = self.architecture.as_deref()?.trim_end_matches('a');
        let mut rows = SYMMETRIC.iter();
        let row = rows.find(|(of, ranks, ..)| *of == architecture && *ranks == self.tp);
        row.map(|(_, _, custom, symmetric)| (*custom, *symmetric))
    }
}
