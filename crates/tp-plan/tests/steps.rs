//! What a step carries: padding, prefill chunks, experts' widths, and engines that differ.

use record::{CollectivePath, PlannedStep};
use tp_plan::{EngineFacts, ModelFacts, Surroundings, Vendor, plan};

fn around(architecture: Option<&str>) -> Surroundings {
    Surroundings {
        vendor: Vendor::Nvidia,
        architecture: architecture.map(str::to_owned),
        peer_access: Some(true),
        no_peer_reason: String::new(),
        full_nvlink: true,
        memory_bytes: Some(48_000_000_000),
    }
}

fn model(name: &str) -> ModelFacts {
    ModelFacts::builtin(name).expect("is shipped")
}

/// Bytes of a role in a step.
fn bytes(step: &PlannedStep, role: &str) -> u64 {
    let found = step.collectives.iter().find(|c| c.role == role);
    found.expect("the role is there").bytes_per_rank
}

#[test]
fn one_rank_has_no_collectives() {
    let step = plan(
        &model("llama-3.1-8b"),
        &EngineFacts::vllm(1, &around(None)),
        16,
        None,
    );
    assert!(step.collectives.is_empty());
    assert_eq!((step.batch, step.padded_batch), (16, 16));
}

#[test]
fn nothing_to_run_is_nothing_to_send() {
    let step = plan(
        &model("llama-3.1-8b"),
        &EngineFacts::vllm(2, &around(None)),
        0,
        None,
    );
    assert!(step.collectives.is_empty());
}

#[test]
fn messages_follow_the_padded_batch_and_logits_the_real_one() {
    let llama = model("llama-3.1-8b");
    let engine = EngineFacts::vllm(2, &around(None));
    // 4096 * 2 = 8192 bytes a token, 128256 / 2 * 2 = 128256 a row.
    for (batch, padded) in [(3, 4), (17, 24), (300, 304), (600, 600)] {
        let step = plan(&llama, &engine, batch, None);
        assert_eq!(step.padded_batch, padded);
        assert_eq!(bytes(&step, "mlp output"), u64::from(padded) * 8192);
        assert_eq!(bytes(&step, "logits"), u64::from(batch) * 128_256);
    }
    let eager = plan(&llama, &engine.with_eager(), 17, None);
    assert_eq!(bytes(&eager, "mlp output"), 17 * 8192);
}

#[test]
fn sglang_gathers_padded_logits_and_keeps_prefill_apart() {
    let llama = model("llama-3.1-8b");
    let engine = EngineFacts::sglang(2, &around(None));
    // 17 sequences run in the graph of 24.
    let decode = plan(&llama, &engine, 17, None);
    assert_eq!(bytes(&decode, "logits"), 24 * 128_256);
    // Chunks end at 4096 tokens on 48 GB; the 17 wait, and one row is gathered.
    let prefill = plan(&llama, &engine, 17, Some(10_000));
    assert_eq!(prefill.prefill_tokens, Some(4096));
    assert_eq!(bytes(&prefill, "mlp output"), 4096 * 8192);
    assert_eq!(bytes(&prefill, "logits"), 128_256);
}

#[test]
fn a_chunk_shares_the_steps_token_budget() {
    let llama = model("llama-3.1-8b");
    let engine = EngineFacts::vllm(2, &around(None));
    // 16 + 2032 = 2048 tokens, above every captured size; 17 rows.
    let step = plan(&llama, &engine, 16, Some(4000));
    assert_eq!((step.padded_batch, step.prefill_tokens), (16, Some(2032)));
    assert_eq!(bytes(&step, "embedding"), 2048 * 8192);
    assert_eq!(bytes(&step, "logits"), 17 * 128_256);
    // 16 + 100 = 116 tokens run in the graph of 120: four are padding.
    let small = plan(&llama, &engine, 16, Some(100));
    assert_eq!((small.padded_batch, small.prefill_tokens), (20, Some(100)));
    assert_eq!(bytes(&small, "embedding"), 120 * 8192);
    // Decoding alone fills the budget.
    let full = plan(&llama, &engine.with_max_batched_tokens(16), 16, Some(100));
    assert_eq!(full.prefill_tokens, None);
}

#[test]
fn the_width_of_mxfp4_experts_depends_on_the_gpu() {
    let oss = model("gpt-oss-20b");
    let width = |around: &Surroundings| {
        let step = plan(&oss, &EngineFacts::vllm(2, around), 1, None);
        assert_eq!(bytes(&step, "attention output"), 5760);
        let moe = step.collectives.iter().find(|c| c.role == "moe output");
        let moe = moe.expect("has experts");
        (moe.bytes_per_rank / 2, moe.rule.contains("MXFP4"))
    };
    // 2880 = 11.25 * 256 = 22.5 * 128: up to 12 * 256 = 3072, or to 23 * 128 = 2944.
    for (architecture, expected) in [
        (Some("sm_89"), (3072, true)),
        (Some("sm_120"), (3072, true)),
        (None, (3072, true)),
        (Some("sm_100"), (3072, true)),
        (Some("sm_90"), (2880, false)),
    ] {
        assert_eq!(width(&around(architecture)), expected, "{architecture:?}");
    }
    let amd = Surroundings {
        vendor: Vendor::Amd,
        ..around(Some("gfx1201"))
    };
    assert_eq!(width(&amd), (2944, true));
    // A model without MXFP4 experts is not padded.
    let qwen = plan(
        &model("qwen3-30b-a3b"),
        &EngineFacts::vllm(2, &around(None)),
        1,
        None,
    );
    assert_eq!(bytes(&qwen, "moe output"), 4096);
}

#[test]
fn dense_and_routed_layers_are_counted_apart() {
    let text = r#"{"model_type": "qwen3_moe", "hidden_size": 64, "num_hidden_layers": 10, "num_attention_heads": 4,
        "num_key_value_heads": 4, "intermediate_size": 128, "vocab_size": 1000, "num_experts": 8, "num_experts_per_tok": 2,
        "moe_intermediate_size": 32, "mlp_only_layers": [0, 1, 2], "tie_word_embeddings": true, "torch_dtype": "bfloat16"}"#;
    let model = ModelFacts::from_config_json(text, "small").expect("reads");
    let step = plan(&model, &EngineFacts::vllm(2, &around(None)), 2, None);
    let counts: Vec<(&str, u32)> = step
        .collectives
        .iter()
        .map(|c| (c.role.as_str(), c.count))
        .collect();
    let expected = [
        ("embedding", 1),
        ("attention output", 10),
        ("mlp output", 3),
        ("moe output", 7),
        ("logits", 1),
    ];
    assert_eq!(counts, expected);
    // Tied or not, the logits are gathered; 1000 is padded to 16 * 64 = 1024: 2 rows * 512 * 2 bytes.
    assert_eq!(bytes(&step, "logits"), 2048);
}

#[test]
fn one_step_may_use_both_paths() {
    // 2048 tokens: gpt-oss's 11.8 and 12.6 MB are above 8 MiB; llama's 1024 * 8192 = 8 MiB is not below it either.
    let engine = EngineFacts::vllm(2, &around(Some("sm_89"))).with_max_batched_tokens(8192);
    let llama = model("llama-3.1-8b");
    let path = |tokens: u32| plan(&llama, &engine, 0, Some(tokens)).collectives[0].path;
    assert_eq!(path(1023), CollectivePath::Custom);
    assert_eq!(path(1024), CollectivePath::Library);
    // 1400 tokens of gpt-oss: 1400 * 5760 = 8064000 below, 1400 * 6144 = 8601600 above 8388608.
    let step = plan(&model("gpt-oss-120b"), &engine, 0, Some(1400));
    let paths: Vec<CollectivePath> = step.collectives.iter().map(|c| c.path).collect();
    use CollectivePath::{Custom, Library};
    assert_eq!(paths, [Custom, Custom, Library, Library]);
}
