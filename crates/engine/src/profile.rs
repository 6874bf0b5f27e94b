//! The figures that a step's duration is made of, with their defaults for a described box.
//!
//! The defaults are this engine's own. They are set so that one simulated box answers about as a real one did, and they are
//! no evidence about any GPU; whatever explains a measurement must bring its own figures.

use boxfile::BoxFile;
use serde::{Deserialize, Serialize};
use tp_plan::{ModelFacts, WeightFormat};

use crate::EngineError;

/// Part of the box's copy rate, read and written, at which matrix products read weights.
///
/// Assumed, from one serving result of `rtxpro6000-mig`: Qwen2.5-72B FP8 at 16 sequences takes 61.4 ms a token with one
/// GPU; 72.7 GB at 0.915 x 1360 GB/s are 58.4 ms, and the parts below make up the other 3.0 ms.
const WEIGHT_READ_PART: f64 = 0.915;
/// Arithmetic in FLOP for each byte of the copy rate, at 16 bits a weight; twice that at 8 bits.
///
/// Assumed: it gives an L40 about 90 TFLOP/s, half of its data sheet's 181 at 864 GB/s.
const FLOP_PER_BYTE: f64 = 140.0;
/// What a matrix product gains from half the width.
///
/// Assumed, between 1.72 (vLLM 0.19) and 1.93 (vLLM 0.24): the four FP8 products of a Qwen2.5-72B layer at 16 tokens on an
/// RTX PRO 6000 in ai-dynamo/aiconfigurator, systems/data/rtx_pro_6000_server.
const GEMM_SPEEDUP: f64 = 1.8;
/// Shortest attention kernel, us. Assumed; the tables named above show 11 to 13 us whether a GPU holds all heads or half.
const ATTENTION_FLOOR_US: f64 = 12.0;
/// Norms, rotary embedding, quantisation and residuals of a layer, us. Assumed.
const ELEMENTWISE_US: f64 = 10.0;
/// Host time of a step that the GPU does not hide, us. Assumed.
const HOST_US: f64 = 400.0;
/// Launch time of a layer that shows without captured graphs, us. Assumed.
const EAGER_HOST_US: f64 = 10.0;

/// What a step's duration is made of. Rates are those of one GPU, decimal; times are microseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Rate at which matrix products read weights, GB/s.
    pub weight_gb_per_s: f64,
    /// Rate at which attention reads the key-value cache, GB/s.
    pub kv_gb_per_s: f64,
    /// Arithmetic of matrix products, TFLOP/s.
    pub compute_tflop_per_s: f64,
    /// What matrix products gain each time the ranks double: 2 would be ideal, 1 nothing.
    pub gemm_speedup_per_doubling: f64,
    /// Attention of one layer beside the bytes that it reads, us; the same at every tensor parallel size.
    pub attention_floor_us_per_layer: f64,
    /// Norms, rotary embedding, quantisation and residuals of one layer, us; the same at every tensor parallel size.
    pub elementwise_us_per_layer: f64,
    /// Host time of one step that the GPU does not hide, us.
    pub host_us: f64,
    /// Host time of one layer that is added without captured graphs, us.
    pub eager_host_us_per_layer: f64,
    /// Planted time of every all-reduce whatever its size, us; `None` takes the box's curve.
    pub all_reduce_us: Option<f64>,
    /// Planted time of every all-gather whatever its size, us; `None` takes the box's curve.
    pub all_gather_us: Option<f64>,
    /// Coefficient of variation of a step: its duration is multiplied by 1 + cv z, z normal and cut at 3.
    pub noise_cv: f64,
    /// Seed of the noise.
    pub noise_seed: u64,
}

impl Profile {
    /// The default for a model on a box: rates follow the first device's `local` figure and noise follows `[noise]`; all
    /// else is the same for every box and assumed.
    ///
    /// # Errors
    /// The box has no device.
    pub fn of_box(described: &BoxFile, model: &ModelFacts) -> Result<Self, EngineError> {
        let device = described
            .device
            .first()
            .ok_or_else(|| EngineError::TooFewDevices {
                name: described.name.clone(),
                devices: 0,
                ranks: 1,
            })?;
        // A copy counts its payload once and both reads and writes it.
        let memory_gb_per_s = 2.0 * device.local.value;
        let width = match model.weights {
            WeightFormat::Fp8 | WeightFormat::Int8 => 2.0,
            // 4-bit weights are widened before they are multiplied.
            _ => 1.0,
        };
        Ok(Self {
            weight_gb_per_s: WEIGHT_READ_PART * memory_gb_per_s,
            kv_gb_per_s: memory_gb_per_s,
            compute_tflop_per_s: FLOP_PER_BYTE * width * memory_gb_per_s / 1e3,
            gemm_speedup_per_doubling: GEMM_SPEEDUP,
            attention_floor_us_per_layer: ATTENTION_FLOOR_US,
            elementwise_us_per_layer: ELEMENTWISE_US,
            host_us: HOST_US,
            eager_host_us_per_layer: EAGER_HOST_US,
            all_reduce_us: None,
            all_gather_us: None,
            noise_cv: described.noise.as_ref().map_or(0.0, |noise| noise.cv),
            noise_seed: described.noise.as_ref().map_or(0, |noise| noise.seed),
        })
    }

    /// The profile of one GPU that serves a rank's share of a model as a model of its own: its matrix products are as narrow as
    /// those of one of so many ranks, and gain as little.
    ///
    /// A step of `ranks` GPUs takes the time of the whole divided by gain^log2(ranks), and the share has one part in `ranks` of
    /// the work: gain^log2(ranks) / ranks of the rates make the two equal.
    #[must_use]
    pub fn of_share(self, ranks: u32) -> Self {
        let ranks = f64::from(ranks);
        let kept = self.gemm_speedup_per_doubling.powf(ranks.log2()) / ranks;
        Self {
            weight_gb_per_s: self.weight_gb_per_s * kept,
            compute_tflop_per_s: self.compute_tflop_per_s * kept,
            ..self
        }
    }

    /// This profile with the figures that a JSON object names put in their place; `origin` is what errors show.
    ///
    /// # Errors
    /// Not a JSON object, an unknown key, or a figure out of range.
    pub fn with_json(&self, text: &str, origin: &str) -> Result<Self, EngineError> {
        let bad = |reason: String| EngineError::Profile {
            origin: origin.to_owned(),
            reason,
        };
        let planted: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(text).map_err(|error| bad(error.to_string()))?;
        let mut whole = serde_json::to_value(self).map_err(|error| bad(error.to_string()))?;
        if let Some(figures) = whole.as_object_mut() {
            figures.extend(planted);
        }
        let profile: Self =
            serde_json::from_value(whole).map_err(|error| bad(error.to_string()))?;
        profile.check().map_err(bad)?;
        Ok(profile)
    }

    /// Says which figure is out of range.
    pub(crate) fn check(&self) -> Result<(), String> {
        let above_zero = [
            ("weight_gb_per_s", self.weight_gb_per_s),
            ("kv_gb_per_s", self.kv_gb_per_s),
            ("compute_tflop_per_s", self.compute_tflop_per_s),
            ("gemm_speedup_per_doubling", self.gemm_speedup_per_doubling),
        ];
        for (key, value) in above_zero {
            if !(value.is_finite() && value > 0.0) {
                return Err(format!("{key} = {value}: must be a number above 0"));
            }
        }
        let not_below_zero = [
            (
                "attention_floor_us_per_layer",
                self.attention_floor_us_per_layer,
            ),
            ("elementwise_us_per_layer", self.elementwise_us_per_layer),
            ("host_us", self.host_us),
            ("eager_host_us_per_layer", self.eager_host_us_per_layer),
            ("all_reduce_us", self.all_reduce_us.unwrap_or(0.0)),
            ("all_gather_us", self.all_gather_us.unwrap_or(0.0)),
        ];
        for (key, value) in not_below_zero {
            if !(value.is_finite() && value >= 0.0) {
                return Err(format!("{key} = {value}: must be 0 or more"));
            }
        }
        // At 3 standard deviations below the mean a step must still take time.
        if !(0.0..=0.3).contains(&self.noise_cv) {
            return Err(format!("noise_cv = {}: must be 0 to 0.3", self.noise_cv));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::tests::{flat_profile, model};

    #[test]
    fn a_box_gives_rates_and_noise() {
        let described = BoxFile::builtin("rtxpro6000-mig").unwrap();
        let profile = Profile::of_box(&described, &model()).unwrap();
        // local = 680 GB/s copied, so 1360 GB/s moved; 0.915 x 1360 = 1244.4; 140 x 1360 / 1000 = 190.4.
        assert!((profile.kv_gb_per_s - 1360.0).abs() < 1e-9);
        assert!((profile.weight_gb_per_s - 1244.4).abs() < 1e-9);
        assert!((profile.compute_tflop_per_s - 190.4).abs() < 1e-9);
        // The box file's [noise].
        assert!((profile.noise_cv - 0.01).abs() < 1e-12);
        assert_eq!(profile.noise_seed, 96);
        assert_eq!(profile.all_reduce_us, None);
    }

    #[test]
    fn a_share_runs_at_the_rates_of_its_ranks() {
        let whole = Profile {
            weight_gb_per_s: 1000.0,
            compute_tflop_per_s: 100.0,
            gemm_speedup_per_doubling: 1.8,
            ..flat_profile()
        };
        // Of two 1.8 / 2 = 0.9, of four 1.8 x 1.8 / 4 = 0.81.
        for (ranks, read, multiply) in [(1, 1000.0, 100.0), (2, 900.0, 90.0), (4, 810.0, 81.0)] {
            let share = whole.clone().of_share(ranks);
            assert!((share.weight_gb_per_s - read).abs() < 1e-9, "{share:?}");
            assert!((share.compute_tflop_per_s - multiply).abs() < 1e-9);
            // The cache is read as it is: a rank has its own part of it.
            assert!((share.kv_gb_per_s - whole.kv_gb_per_s).abs() < 1e-9);
        }
    }

    #[test]
    fn planted_figures_replace_defaults_and_nothing_else() {
        let planted = flat_profile()
            .with_json(r#"{"host_us": 7.5, "all_reduce_us": 0.0}"#, "a.json")
            .unwrap();
        assert_eq!(
            planted,
            Profile {
                host_us: 7.5,
                all_reduce_us: Some(0.0),
                ..flat_profile()
            }
        );
    }

    #[test]
    fn a_wrong_profile_names_its_key() {
        let error = |text: &str| {
            flat_profile()
                .with_json(text, "a.json")
                .unwrap_err()
                .to_string()
        };
        for (text, key) in [
            (r#"{"hots_us": 1}"#, "hots_us"),
            (r#"{"weight_gb_per_s": 0}"#, "weight_gb_per_s = 0"),
            (r#"{"host_us": -1}"#, "host_us = -1"),
            (r#"{"noise_cv": 0.4}"#, "noise_cv = 0.4"),
            (r#"{"all_reduce_us": -2}"#, "all_reduce_us = -2"),
            ("[1]", "invalid type"),
            ("{", "EOF"),
        ] {
            let error = error(text);
            assert!(
                error.starts_with("a.json: ") && error.contains(key),
                "{error}"
            );
        }
    }
}
