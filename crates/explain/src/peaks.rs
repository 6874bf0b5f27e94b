//! Peak rates of GPUs by name, from one file with the source of each.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use tp_plan::WeightFormat;

const FILE: &str = include_str!("../gpus.toml");

/// The entries of that file, read once; none where it does not read, which a test excludes.
static PEAKS: LazyLock<Vec<Peak>> =
    LazyLock::new(|| toml::from_str(FILE).map_or_else(|_| Vec::new(), |file: File| file.gpu));

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    gpu: Vec<Peak>,
}

/// What a GPU's maker says that it does at most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peak {
    /// Part of the GPU's name in lower case.
    pub gpu: String,
    /// Memory bandwidth, GB/s.
    pub memory_gbps: f64,
    /// Dense multiplications of bf16, TFLOP/s.
    pub bf16_tflops: f64,
    /// The same of FP8; `None` where the GPU has no units for it.
    pub fp8_tflops: Option<f64>,
    /// Memory as drivers report it, GiB.
    pub memory_gib: u64,
    /// Whether boards of several have NVLink or xGMI between all pairs.
    #[serde(default)]
    pub fabric: bool,
    /// Where that is said.
    pub source: String,
}

impl Peak {
    /// The entry for a GPU of that name; `None` where there is none.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let of_this = PEAKS.iter().filter(|peak| is_word(&name, &peak.gpu));
        of_this.max_by_key(|peak| peak.gpu.len()).cloned()
    }

    /// Whether two names are of two GPUs that are known.
    pub(crate) fn differ(a: &str, b: &str) -> bool {
        let both = Self::of(a).zip(Self::of(b));
        both.is_some_and(|(a, b)| a.gpu != b.gpu)
    }

    /// The rate at which weights of that format are multiplied, TFLOP/s: FP8 where weights and GPU have it, else bf16.
    #[must_use]
    pub fn tflops(&self, weights: WeightFormat) -> f64 {
        let narrow = match weights {
            WeightFormat::Fp8 | WeightFormat::Int8 | WeightFormat::Nvfp4 => self.fp8_tflops,
            WeightFormat::Bf16 | WeightFormat::F16 | WeightFormat::Mxfp4 | WeightFormat::Int4 => {
                None
            }
        };
        narrow.unwrap_or(self.bf16_tflops)
    }
}

/// Whether `key` is in `name` and does not end inside a word: an L40S is no L40, nor is it an L4.
fn is_word(name: &str, key: &str) -> bool {
    name.match_indices(key).any(|(at, _)| {
        let before = name[..at].chars().next_back();
        let after = name[at + key.len()..].chars().next();
        let ends = |c: Option<char>| !c.is_some_and(char::is_alphanumeric);
        ends(before) && ends(after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_reads_and_every_entry_has_rates_and_a_source() {
        let file: File = toml::from_str(FILE).unwrap();
        for peak in file.gpu {
            assert!(
                peak.memory_gbps > 0.0 && peak.bf16_tflops > 0.0,
                "{}",
                peak.gpu
            );
            assert!(peak.source.len() > 10, "{}", peak.gpu);
            assert_eq!(peak.gpu, peak.gpu.to_ascii_lowercase());
        }
    }

    #[test]
    fn names_as_drivers_give_them_find_their_entry() {
        for (name, gbps) in [
            ("NVIDIA H100 80GB HBM3", 3350.0),
            ("NVIDIA H100 PCIe", 2000.0),
            ("NVIDIA L40", 864.0),
            ("NVIDIA L4", 300.0),
            ("NVIDIA A100-PCIE-80GB", 1935.0),
            ("NVIDIA A100-SXM4-80GB", 2039.0),
            ("NVIDIA RTX Pro 6000 Blackwell DC-4-96Q", 1792.0),
            ("AMD Radeon AI PRO R9700", 640.0),
        ] {
            assert_eq!(Peak::of(name).unwrap().memory_gbps, gbps, "{name}");
        }
        assert_eq!(Peak::of("NVIDIA L40S").unwrap().bf16_tflops, 362.0);
        assert!(Peak::differ("2x NVIDIA L40", "2x L40S") && !Peak::differ("L40", "NVIDIA L40"));
        assert_eq!(Peak::of("a GPU of a test"), None);
        assert_eq!(Peak::of("NVIDIA A1000"), None);
    }

    #[test]
    fn a_gpu_without_fp8_multiplies_it_as_bf16() {
        assert_eq!(Peak::of("A100").unwrap().tflops(WeightFormat::Fp8), 312.0);
        assert_eq!(Peak::of("H100").unwrap().tflops(WeightFormat::Fp8), 1979.0);
    }
}
