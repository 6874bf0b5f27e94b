//! Where a record comes from: machine, program, arguments and the environment that matters.
//!
//! The environment is an allow-list, never the whole: other tools' result files were seen to carry tokens.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

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

/// Fragments of names whose values are never recorded, allowed or not.
const SECRET: [&str; 5] = ["TOKEN", "KEY", "SECRET", "PASS", "CREDENTIAL"];

/// The variables of the allow-list that are set, secrets left out.
#[must_use]
pub fn allowed_environment(
    variables: impl IntoIterator<Item = (String, String)>,
) -> BTreeMap<String, String> {
    let allowed = |name: &str| {
        let is = |entry: &&str| match (entry.strip_suffix('*'), entry.strip_prefix('*')) {
            (Some(beginning), _) => name.starts_with(beginning),
            (None, Some(end)) => name.ends_with(end),
            (None, None) => name == *entry,
        };
        ALLOWED_ENVIRONMENT.iter().any(is)
    };
    variables
        .into_iter()
        .filter(|(name, _)| allowed(name) && !is_secret(name))
        .collect()
}

/// Whether a variable or flag of this name may hold a secret, so that its value must not be recorded.
#[must_use]
pub fn is_secret(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    SECRET.iter().any(|fragment| upper.contains(fragment))
}

/// Whether the value of a flag must not be recorded. Flags that count tokens, such as `--output-tokens 128`, hold none.
fn hides(flag: &str, value: &str) -> bool {
    let is_count = flag.ends_with("-tokens") && value.bytes().all(|byte| byte.is_ascii_digit());
    is_secret(flag) && !is_count
}

/// The arguments with the value of every flag that names a secret replaced.
#[must_use]
pub fn redacted_arguments(arguments: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut before = String::new();
    let mut redact = |argument: String| {
        let flag = std::mem::take(&mut before);
        if flag.starts_with("--") && hides(&flag, &argument) {
            return "<redacted>".to_owned();
        }
        match argument.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") && hides(flag, value) => {
                format!("{flag}=<redacted>")
            }
            Some(_) => argument,
            None => {
                argument.clone_into(&mut before);
                argument
            }
        }
    };
    arguments.into_iter().map(&mut redact).collect()
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

    #[test]
    fn values_of_secret_flags_are_redacted() {
        let arguments = [
            "p",
            "--api-key",
            "canary",
            "--gpus",
            "0,1",
            "--token=canary",
        ]
        .map(str::to_owned);
        assert!(!redacted_arguments(arguments).join(" ").contains("canary"));
        // Flags that count tokens hold no secret.
        let counts = ["--output-tokens", "128", "--input-tokens=8"].map(str::to_owned);
        assert_eq!(redacted_arguments(counts.clone()), counts);
    }
}
