//! Where a record comes from: machine, program, arguments and the environment that matters.
//!
//! The environment is an allow-list, never the whole: other tools' result files were seen to carry tokens.

mod redact;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use redact::{is_secret, redacted_arguments};

/// Names, beginnings and ends of names of variables that change what is measured.
pub const ALLOWED_ENVIRONMENT: [&str; 16] = [
    "*_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_MODULE_LOADING",
    "MACA_MPS_MODE",
    "GPU_FORCE_BLIT_COPY_SIZE",
    "GPU_MAX_HW_QUEUES",
    "GPU_PINNED_MIN_XFER_SIZE",
    "GPU_STAGING_BUFFER_SIZE",
    "HIP_HOST_COHERENT",
    "ROC_P2P_SDMA_SIZE",
    "NCCL_*",
    "RCCL_*",
    "MCCL_*",
    "HSA_*",
    "OMP_NUM_THREADS",
];

/// The variables of the allow-list that are set, secrets left out.
#[must_use]
pub fn allowed_environment(
    variables: impl IntoIterator<Item = (String, String)>,
) -> BTreeMap<String, String> {
    let allowed = |name: &str| is_listed(name, &ALLOWED_ENVIRONMENT) && !is_secret(name);
    variables
        .into_iter()
        .filter(|(name, _)| allowed(name))
        .collect()
}

/// Whether a variable's name stands in a list of names, beginnings such as `NCCL_*` and ends such as `*_VISIBLE_DEVICES`.
#[must_use]
pub fn is_listed(name: &str, list: &[&str]) -> bool {
    let is = |entry: &&str| match (entry.strip_suffix('*'), entry.strip_prefix('*')) {
        (Some(beginning), _) => name.starts_with(beginning),
        (None, Some(end)) => name.ends_with(end),
        (None, None) => name == *entry,
    };
    list.iter().any(is)
}

/// Where and how a record was made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// UTC start, RFC 3339.
    pub started: String,
    /// The kernel's host name; `None` where it could not be read.
    pub host: Option<String>,
    /// Kernel release and machine, such as `6.1.0 x86_64`.
    pub kernel: Option<String>,
    /// The boot this ran in, from the kernel's boot id.
    pub boot_id: Option<String>,
    /// Arguments without secrets, program name first.
    pub arguments: Vec<String>,
    /// Variables of the allow-list that were set.
    pub environment: BTreeMap<String, String>,
    /// SHA-256 of the running binary, hexadecimal; `None` with a reason in the caveats where unreadable.
    pub binary_sha256: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn only_allowed_variables_without_secrets_are_kept() {
        let kept = allowed_environment(pairs(&[
            ("HF_TOKEN", "canary"),
            ("NCCL_P2P_DISABLE", "1"),
            ("NCCL_API_KEY", "canary"),
            ("PATH", "/bin"),
            ("ACME_VISIBLE_DEVICES", "1"),
            ("VISIBLE_DEVICES_OF", "2"),
        ]));
        assert_eq!(
            kept.keys().collect::<Vec<_>>(),
            ["ACME_VISIBLE_DEVICES", "NCCL_P2P_DISABLE"]
        );
    }
}
