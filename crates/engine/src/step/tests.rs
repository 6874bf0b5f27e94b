//! The parts of steps against sums written here, and the model, engine and profile that the scheduler's tests share.

use super::*;
use record::CollectivePath;
use tp_plan::{CustomAllReduce, Engine, Experts, Vendor};

/// Ten layers of 1024 with two key-value heads of 128, 16 bits everywhere.
pub(crate) fn model() -> ModelFacts {
    let config = r#"{
        "model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 10, "num_attention_heads": 8, "num_key_value_heads": 2,
        "intermediate_size": 4096, "vocab_size": 32000, "tie_word_embeddings": false, "torch_dtype": "bfloat16"
    }"#;
    let mut model = ModelFacts::from_config_json(config, "test-217m").unwrap();
    // A layer: 2 x 1024 x 1024 + 2 x 1024 x 256 + 3 x 1024 x 4096 = 15 204 352; two vocabulary matrices of 32 000 x 1024; no norms.
    model.parameters = 217_579_520;
    model.weight_bytes = 435_159_040;
    model
}

pub(crate) fn facts(tp: u32, max_batched_tokens: u32, max_num_seqs: u32) -> EngineFacts {
    EngineFacts {
        engine: Engine::Vllm,
        version: None,
        tp,
        execution: Execution::Graph {
            capture_sizes: vec![1, 2, 4, 8, 16],
        },
        custom_all_reduce: CustomAllReduce::Off {
            reason: "test".to_owned(),
            cause: tp_plan::OffCause::Rule,
        },
        max_batched_tokens,
        max_num_seqs: Some(max_num_seqs),
        vendor: Vendor::Nvidia,
        architecture: None,
        full_nvlink: false,
        assumed: Vec::new(),
    }
}

/// Round figures without noise.
pub(crate) fn flat_profile() -> Profile {
    Profile {
        weight_gb_per_s: 1000.0,
        kv_gb_per_s: 500.0,
        compute_tflop_per_s: 100.0,
        gemm_speedup_per_doubling: 1.6,
        attention_floor_us_per_layer: 12.0,
        elementwise_us_per_layer: 8.0,
        host_us: 300.0,
        eager_host_us_per_layer: 5.0,
        all_reduce_us: None,
        all_gather_us: None,
        noise_cv: 0.0,
        noise_seed: 1,
    }
}

/// 20 us and 1 us for each KiB of an all-reduce, 50 us for every other operation.
pub(crate) fn curve() -> Curve {
    Curve::new(|kind, path, bytes| {
        assert_eq!(path, CollectivePath::Library);
        #[expect(clippy::cast_precision_loss, reason = "small sizes")]
        Some(match kind {
            CollectiveKind::AllReduce => 20.0 + bytes as f64 / 1024.0,
            _ => 50.0,
        })
    })
}

fn parts(tp: u32, profile: Profile, load: StepLoad) -> StepParts {
    StepTime::new(model(), facts(tp, 8192, 16), profile, curve())
        .unwrap()
        .parts(load)
        .unwrap()
}

fn near(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() <= 1e-6 * expected.abs().max(1.0),
        "{found} is not {expected}"
    );
}

/// Sixteen sequences decode at 100 tokens of context each.
const DECODE: StepLoad = StepLoad {
    sequences: 16,
    tokens: 16,
    context_tokens: 1600,
};

#[test]
fn a_decode_step_on_one_gpu_is_the_sum_written_here() {
    let parts = parts(1, flat_profile(), DECODE);
    // Weights but the input embedding: 435 159 040 - 32 000 x 1024 x 2 = 369 623 040 B; at 1000 GB/s, 1e6 B a us,
    // 369.6 us. The rows that are looked up (16 x 2 KiB) may be counted: below 0.04 us.
    assert!((parts.gemm_us - 369.623).abs() < 0.05, "{}", parts.gemm_us);
    // A token's keys and values: 2 x 10 x 2 x 128 x 2 B = 10 240 B; 1600 x 10 240 B at 500 GB/s = 32.768 us;
    // floor 10 x 12 us.
    near(parts.attention_us, 152.768);
    near(parts.elementwise_us, 80.0); // 10 x 8
    near(parts.host_us, 300.0);
    near(parts.all_reduce_us, 0.0);
    near(parts.all_gather_us, 0.0);
    near(parts.total_us(), parts.gemm_us + 152.768 + 80.0 + 300.0);
}

#[test]
fn two_gpus_halve_only_the_bytes_of_attention_and_add_collectives() {
    let one = parts(1, flat_profile(), DECODE);
    let two = parts(2, flat_profile(), DECODE);
    near(two.gemm_us, one.gemm_us / 1.6);
    near(two.attention_us, 136.384); // 32.768 / 2 + 120
    near(two.elementwise_us, 80.0);
    near(two.host_us, 300.0);
    // One for the embedding and two a layer, 16 x 1024 x 2 B = 32 KiB each: 21 x (20 + 32) = 1092 us.
    near(two.all_reduce_us, 1092.0);
    near(two.all_gather_us, 50.0);
}

#[test]
fn four_gpus_gain_twice_and_share_no_further_than_the_heads() {
    let one = parts(1, flat_profile(), DECODE);
    let four = parts(4, flat_profile(), DECODE);
    near(four.gemm_us, one.gemm_us / 2.56); // 1.6 x 1.6
    near(four.attention_us, 136.384); // two key-value heads
}

#[test]
fn a_long_chunk_is_bound_by_arithmetic() {
    let chunk = StepLoad {
        sequences: 1,
        tokens: 4096,
        context_tokens: 4096,
    };
    let parts = parts(2, flat_profile(), chunk);
    // 217 579 520 - 32 768 000 = 184 811 520 parameters; 2 x 184 811 520 x 4096 FLOP at 1e8 FLOP a us = 15 139.76 us;
    // 1.6 times faster on two.
    near(parts.gemm_us, 2.0 * 184_811_520.0 * 4096.0 / 1e8 / 1.6);
    // 4096 x 1024 x 2 B = 8 MiB: 21 x (20 + 8192) us.
    near(parts.all_reduce_us, 172_452.0);
}

#[test]
fn planted_collectives_replace_the_curve() {
    let planted = Profile {
        all_reduce_us: Some(100.0),
        all_gather_us: Some(0.0),
        ..flat_profile()
    };
    let parts = parts(2, planted, DECODE);
    near(parts.all_reduce_us, 2100.0); // 21 x 100
    near(parts.all_gather_us, 0.0);
}

#[test]
fn eager_steps_show_their_launches() {
    let eager = EngineFacts {
        execution: Execution::Eager,
        ..facts(1, 8192, 16)
    };
    let time = StepTime::new(model(), eager, flat_profile(), curve()).unwrap();
    near(time.parts(DECODE).unwrap().host_us, 350.0); // 300 + 10 x 5
}

#[test]
fn idle_experts_are_not_multiplied() {
    let experts = Experts {
        count: 8,
        per_token: 2,
        intermediate: 512,
        layers: 10,
        // 3 x 1024 x 512 x 2 B.
        expert_bytes: 3_145_728,
    };
    let mut sparse = model();
    sparse.experts = Some(experts);
    sparse.parameters = 400_000_000;
    // 6 idle x 3 x 1024 x 512 x 10 layers = 94 371 840; input embedding 32 768 000.
    near(active_parameters(&sparse), 272_860_160.0);
    sparse.tied_embeddings = true;
    near(active_parameters(&sparse), 305_628_160.0);
}

#[test]
fn a_missing_curve_is_an_error_with_its_name() {
    let time = StepTime::new(
        model(),
        facts(2, 8192, 16),
        flat_profile(),
        Curve::new(|_, _, _| None),
    )
    .unwrap();
    let error = time.parts(DECODE).unwrap_err().to_string();
    assert!(
        error.contains("all_reduce on 2 ranks by the library path"),
        "{error}"
    );
}
