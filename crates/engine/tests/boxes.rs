//! The engine on shipped boxes with shipped models: what the default figures add up to, against arithmetic written here.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use boxfile::BoxFile;
use engine::{
    Curve, Engine, EngineError, Limits, Profile, Request, StepLoad, StepParts, StepTime,
    surroundings,
};
use tp_plan::{CustomAllReduce, EngineFacts, ModelFacts, Vendor};

/// Sixteen sequences half way through 89 tokens of prompt and 256 of reply: 16 x (89 + 128).
const HALF_WAY: StepLoad = StepLoad {
    sequences: 16,
    tokens: 16,
    context_tokens: 3472,
};

fn step_time(name: &str, model: &str, ranks: u32) -> StepTime {
    step_time_on(&BoxFile::builtin(name).unwrap(), model, ranks)
}

fn step_time_on(described: &BoxFile, model: &str, ranks: u32) -> StepTime {
    let model = ModelFacts::resolve(model).unwrap();
    let facts = EngineFacts::vllm(ranks, &surroundings(described, ranks).unwrap());
    let profile = Profile::of_box(described, &model).unwrap();
    StepTime::new(model, facts, profile, Curve::of_box(described, ranks)).unwrap()
}

fn parts(name: &str, model: &str, ranks: u32, load: StepLoad) -> StepParts {
    step_time(name, model, ranks).parts(load).unwrap()
}

#[test]
fn qwen_72b_on_one_mig_instance_takes_about_61_ms_a_step() {
    let parts = parts("rtxpro6000-mig", "qwen2.5-72b-fp8", 1, HALF_WAY);
    // 72.7 GB at 1244.4 GB/s are 58.4 ms.
    assert!((parts.gemm_us - 58_400.0).abs() < 300.0, "{parts:?}");
    // 3472 tokens x 2 x 80 x 8 x 128 x 2 B = 1.138 GB at 1360 GB/s: 837 us; 80 x 12 us.
    assert!((parts.attention_us - 1797.0).abs() < 2.0, "{parts:?}");
    // 58.4 + 1.80 + 0.80 + 0.40.
    assert!((parts.total_us() - 61_400.0).abs() < 600.0, "{parts:?}");
}

#[test]
fn qwen_72b_on_two_mig_instances_pays_for_its_collectives() {
    let one = parts("rtxpro6000-mig", "qwen2.5-72b-fp8", 1, HALF_WAY);
    let two = parts("rtxpro6000-mig", "qwen2.5-72b-fp8", 2, HALF_WAY);
    // 161 all-reduces of 16 x 8192 x 2 B = 256 KiB at the box's 62.9 us.
    assert!((two.all_reduce_us - 161.0 * 62.9).abs() < 1.0, "{two:?}");
    // 16 x 152 064 / 2 x 2 B = 2 433 024 B, between 2 MiB (252.1) and 4 MiB (473.5):
    // 252.1 x (473.5 / 252.1)^(log2(2 433 024 / 2 097 152) = 0.2143) = 288.5 us.
    assert!((two.all_gather_us - 288.5).abs() < 1.0, "{two:?}");
    // 58.4 / 1.8 = 32.4; 0.42 + 0.96; 0.8 + 0.4; 10.1 + 0.3: 45.4 ms, so 61.4 / 45.4 = 1.35.
    let speedup = one.total_us() / two.total_us();
    assert!((speedup - 1.35).abs() < 0.02, "{speedup}");
}

#[test]
fn two_gpus_take_longer_than_a_ranks_share_on_one_by_their_collectives() {
    let described = BoxFile::builtin("rtxpro6000-mig").unwrap();
    let whole = ModelFacts::builtin("qwen2.5-72b-fp8").unwrap();
    let share = tp_plan::half(&whole, 2).unwrap();
    let profile = Profile::of_box(&described, &whole).unwrap().of_share(2);
    let facts = EngineFacts::vllm(1, &surroundings(&described, 1).unwrap());
    let half = StepTime::new(share, facts, profile, Curve::of_box(&described, 1)).unwrap();
    let half = half.parts(HALF_WAY).unwrap();
    let two = parts("rtxpro6000-mig", "qwen2.5-72b-fp8", 2, HALF_WAY);
    // 58.4 ms / 1.8 on either: 72.7 / 2 GB at 0.9 x 1244.4 GB/s.
    assert!((half.gemm_us - 32_450.0).abs() < 200.0, "{half:?}");
    // 161 x 62.9 us and a gather of 288.5 us are 10.42 ms, to 2%.
    let difference = two.total_us() - half.total_us();
    assert!((difference - 10_415.0).abs() < 200.0, "{difference}");
}

#[test]
fn every_shipped_box_with_tables_runs_a_small_model() {
    for (name, ranks) in [
        ("rtxpro6000-mig", 2),
        ("rtxpro6000-bare", 2),
        ("l40x4", 2),
        ("l40x4", 4),
        ("h200x8", 2),
        ("h200x8", 8),
    ] {
        let time = step_time(name, "llama-3.1-8b", ranks);
        let described = BoxFile::builtin(name).unwrap();
        let model = ModelFacts::builtin("llama-3.1-8b").unwrap();
        let limits = Limits::of_box(&described, &model, ranks, 8192).unwrap();
        let mut engine = Engine::new(time, limits).unwrap_or_else(|e| panic!("{name}: {e}"));
        let request = Request {
            id: 0,
            prompt_tokens: 100,
            output_tokens: 2,
        };
        engine.submit(request, Duration::ZERO).unwrap();
        let step = engine.step(Duration::ZERO).unwrap().unwrap();
        assert!(
            step.parts.all_reduce_us > 0.0 && step.parts.all_gather_us > 0.0,
            "{name}"
        );
    }
}

#[test]
fn a_box_without_tables_runs_on_one_gpu_only() {
    let mut described = BoxFile::builtin("r9700-x8").unwrap();
    described.collective.clear();
    let model = ModelFacts::builtin("llama-3.1-8b").unwrap();
    let limits = Limits::of_box(&described, &model, 2, 8192).unwrap();
    let on = |ranks| Engine::new(step_time_on(&described, "llama-3.1-8b", ranks), limits);
    on(1).unwrap();
    let error = on(2).unwrap_err();
    assert!(
        matches!(error, EngineError::NoCurve { ranks: 2, .. }),
        "{error}"
    );
}

#[test]
fn what_decides_paths_is_read_from_the_box() {
    let around = |name, ranks| surroundings(&BoxFile::builtin(name).unwrap(), ranks).unwrap();
    let mig = around("rtxpro6000-mig", 2);
    assert_eq!(
        (
            mig.peer_access,
            mig.no_peer_reason.as_str(),
            mig.full_nvlink
        ),
        (Some(false), "MIG", false)
    );
    // The instance's 96 000 MiB, not the card's 98 304.
    assert_eq!(mig.memory_bytes, Some(96_000 * 1_048_576));
    let facts = EngineFacts::vllm(2, &mig);
    assert!(matches!(
        facts.custom_all_reduce,
        CustomAllReduce::Off { .. }
    ));

    let nvlink = around("h200x8", 8);
    assert!(nvlink.full_nvlink && nvlink.peer_access == Some(true));
    let amd = around("r9700-x16", 2);
    assert_eq!((amd.vendor, amd.full_nvlink), (Vendor::Amd, false));
    let error = surroundings(&BoxFile::builtin("l40x4").unwrap(), 5).unwrap_err();
    assert!(
        error.to_string().contains("4 devices and 5 ranks"),
        "{error}"
    );
}

#[test]
fn weights_decide_what_is_left_for_sequences() {
    let described = BoxFile::builtin("rtxpro6000-mig").unwrap();
    let model = ModelFacts::builtin("qwen2.5-72b-fp8").unwrap();
    let limits = |ranks| Limits::of_box(&described, &model, ranks, 1_000_000);
    // 0.9 x 96 000 MiB = 90.597 GB, less the weights, by 16 x 327 680 B = 5.243 MB a block.
    let weights = f64::from(u32::try_from(model.weight_bytes / 1_000_000).unwrap()) / 1e3;
    let expected = (90.597 - weights) * 1e3 / 5.2429;
    let one = limits(1).unwrap();
    let blocks = f64::from(u32::try_from(one.kv_blocks).unwrap());
    assert!((blocks - expected).abs() < 2.0, "{blocks} {expected}");
    assert_eq!(u64::from(one.max_model_len), one.kv_blocks * 16);
    // On two each rank has half of the weights and half of every block.
    let two = f64::from(u32::try_from(limits(2).unwrap().kv_blocks).unwrap());
    let expected = (90.597 - weights / 2.0) * 1e3 / 2.6214;
    assert!((two - expected).abs() < 2.0, "{two} {expected}");

    let large = ModelFacts::builtin("qwen2.5-72b").unwrap();
    let error = Limits::of_box(&described, &large, 1, 4096).unwrap_err();
    assert!(
        matches!(error, EngineError::DoesNotFit { ranks: 1, .. }),
        "{error}"
    );
}
