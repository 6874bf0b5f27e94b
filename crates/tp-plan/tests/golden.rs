//! The plans of eight models at five batches against numbers worked out by hand from the models' published sizes.
//!
//! Messages: an all-reduce of B tokens is `B * hidden * 2` bytes, an all-gather of B rows at TP2 is `B * vocab / 2 * 2`.
//! Parameters are counted from the shapes; the models' authors publish them rounded (116.8 B, 72.7 B). Gemma's is less its vision part.

use record::{CollectiveKind, CollectivePath, PlannedCollective, PlannedStep};
use tp_plan::{EngineFacts, ModelFacts, Surroundings, Vendor, plan};

const BATCHES: [u32; 5] = [1, 16, 32, 64, 256];

/// Two L40 over PCIe: 48 GB, peer access, no NVLink.
fn l40() -> Surroundings {
    Surroundings {
        vendor: Vendor::Nvidia,
        architecture: Some("sm_89".to_owned()),
        peer_access: Some(true),
        no_peer_reason: String::new(),
        full_nvlink: false,
        memory_bytes: Some(48_000_000_000),
    }
}

fn model(name: &str) -> ModelFacts {
    ModelFacts::builtin(name).expect("is shipped")
}

/// Counts, bytes and weights of a model, retyped.
struct Golden {
    model: &'static str,
    /// 1 + 2 * layers.
    all_reduces: u32,
    /// At the five batches.
    all_reduce_bytes: [u64; 5],
    all_gather_bytes: [u64; 5],
    parameters: u64,
    /// Decimal GB, one digit after the point.
    weights_gb: f64,
    read_gb: [f64; 5],
    /// 2 * layers * key-value heads * head elements.
    kv_elements: u64,
}

const GOLDEN: [Golden; 8] = [
    Golden {
        model: "gpt-oss-120b",
        // 1 + 2 * 36.
        all_reduces: 73,
        // 2880 * 2 = 5760, times 16, 32, 64, 256.
        all_reduce_bytes: [5760, 92_160, 184_320, 368_640, 1_474_560],
        // 201088 / 2 * 2 = 201088; 16 * 201088 = 3217408.
        all_gather_bytes: [201_088, 3_217_408, 6_434_816, 12_869_632, 51_478_528],
        parameters: 116_829_156_672,
        weights_gb: 65.2,
        // Experts 36 * 128 * (3 * 2880^2 * 17/32 + 8640 * 2) = 60.99 GB, of which 1 - (1 - 4/128)^B are hit, and
        // 3.10 GB that every step reads: at 64 tokens 60.99 * 0.8689 + 3.10 = 56.1.
        read_gb: [5.0, 27.4, 42.0, 56.1, 64.1],
        // 2 * 36 * 8 * 64.
        kv_elements: 36_864,
    },
    Golden {
        model: "qwen2.5-72b-fp8",
        // 1 + 2 * 80.
        all_reduces: 161,
        // 8192 * 2 = 16384; 16 * 16384 = 262144.
        all_reduce_bytes: [16_384, 262_144, 524_288, 1_048_576, 4_194_304],
        // 152064 / 2 * 2 = 152064; 16 * 152064 = 2433024.
        all_gather_bytes: [152_064, 2_433_024, 4_866_048, 9_732_096, 38_928_384],
        parameters: 72_706_203_648,
        // 70.2 GB of linear layers at one byte and twice 152064 * 8192 at two.
        weights_gb: 75.2,
        read_gb: [72.7; 5],
        // 2 * 80 * 8 * 128.
        kv_elements: 163_840,
    },
    Golden {
        model: "qwen2.5-72b",
        all_reduces: 161,
        all_reduce_bytes: [16_384, 262_144, 524_288, 1_048_576, 4_194_304],
        all_gather_bytes: [152_064, 2_433_024, 4_866_048, 9_732_096, 38_928_384],
        parameters: 72_706_203_648,
        weights_gb: 145.4,
        // 145.4 less the embedding's 152064 * 8192 * 2 = 2.5 GB.
        read_gb: [142.9; 5],
        kv_elements: 163_840,
    },
    Golden {
        model: "llama-3.1-8b",
        // 1 + 2 * 32.
        all_reduces: 65,
        // 4096 * 2 = 8192.
        all_reduce_bytes: [8192, 131_072, 262_144, 524_288, 2_097_152],
        all_gather_bytes: [128_256, 2_052_096, 4_104_192, 8_208_384, 32_833_536],
        parameters: 8_030_261_248,
        weights_gb: 16.1,
        read_gb: [15.0; 5],
        // 2 * 32 * 8 * 128.
        kv_elements: 65_536,
    },
    Golden {
        model: "qwen3-14b",
        // 1 + 2 * 40.
        all_reduces: 81,
        // 5120 * 2 = 10240.
        all_reduce_bytes: [10_240, 163_840, 327_680, 655_360, 2_621_440],
        all_gather_bytes: [151_936, 2_430_976, 4_861_952, 9_723_904, 38_895_616],
        parameters: 14_768_307_200,
        weights_gb: 29.5,
        read_gb: [28.0; 5],
        // 2 * 40 * 8 * 128.
        kv_elements: 81_920,
    },
    Golden {
        model: "gemma-3-27b",
        // 1 + 2 * 62.
        all_reduces: 125,
        // 5376 * 2 = 10752.
        all_reduce_bytes: [10_752, 172_032, 344_064, 688_128, 2_752_512],
        all_gather_bytes: [262_208, 4_195_328, 8_390_656, 16_781_312, 67_125_248],
        parameters: 27_009_346_304,
        weights_gb: 54.0,
        // Tied: the embedding is the head, and all of it is read.
        read_gb: [54.0; 5],
        // 2 * 62 * 16 * 128.
        kv_elements: 253_952,
    },
    Golden {
        model: "qwen3-30b-a3b",
        // 1 + 2 * 48.
        all_reduces: 97,
        // 2048 * 2 = 4096.
        all_reduce_bytes: [4096, 65_536, 131_072, 262_144, 1_048_576],
        all_gather_bytes: [151_936, 2_430_976, 4_861_952, 9_723_904, 38_895_616],
        parameters: 30_532_122_624,
        weights_gb: 61.1,
        // 58.0 GB of experts of which 128 * (1 - (1 - 8/128)^B) are hit, and 2.5 GB that every step reads.
        read_gb: [6.1, 39.8, 53.1, 59.5, 60.4],
        // 2 * 48 * 4 * 128.
        kv_elements: 49_152,
    },
    Golden {
        model: "r1-distill-qwen-32b",
        // 1 + 2 * 64.
        all_reduces: 129,
        all_reduce_bytes: [10_240, 163_840, 327_680, 655_360, 2_621_440],
        all_gather_bytes: [152_064, 2_433_024, 4_866_048, 9_732_096, 38_928_384],
        parameters: 32_763_876_352,
        weights_gb: 65.5,
        read_gb: [64.0; 5],
        // 2 * 64 * 8 * 128.
        kv_elements: 131_072,
    },
];

fn of_kind(step: &PlannedStep, kind: CollectiveKind) -> Vec<&PlannedCollective> {
    step.collectives
        .iter()
        .filter(|collective| collective.kind == kind)
        .collect()
}

#[test]
fn messages_of_eight_models_at_five_batches() {
    let engine = EngineFacts::vllm(2, &l40());
    for golden in &GOLDEN {
        let model = model(golden.model);
        for (at, batch) in BATCHES.into_iter().enumerate() {
            let step = plan(&model, &engine, batch, None);
            let what = format!("{} at {batch}", golden.model);
            assert_eq!(step.padded_batch, batch, "{what}");
            let reduces = of_kind(&step, CollectiveKind::AllReduce);
            let count: u32 = reduces.iter().map(|collective| collective.count).sum();
            assert_eq!(count, golden.all_reduces, "{what}");
            for reduce in reduces {
                // Marlin pads 2880 to 3072 = 12 * 256 for gpt-oss's experts: 16/15 of the bytes.
                let expected = if golden.model == "gpt-oss-120b" && reduce.role == "moe output" {
                    golden.all_reduce_bytes[at] / 15 * 16
                } else {
                    golden.all_reduce_bytes[at]
                };
                assert_eq!(reduce.bytes_per_rank, expected, "{what}: {}", reduce.role);
            }
            let gathers = of_kind(&step, CollectiveKind::AllGather);
            assert_eq!(gathers.len(), 1, "{what}");
            assert_eq!(gathers[0].count, 1, "{what}");
            assert_eq!(
                gathers[0].bytes_per_rank, golden.all_gather_bytes[at],
                "{what}"
            );
            assert_eq!(gathers[0].path, CollectivePath::Library, "{what}");
        }
    }
}

#[test]
fn weights_of_eight_models() {
    for golden in &GOLDEN {
        let model = model(golden.model);
        assert_eq!(model.parameters, golden.parameters, "{}", golden.model);
        // A figure of one digit is right to half of 0.1.
        let close = |bytes: f64, gb: f64| (bytes / 1e9 - gb).abs() <= 0.0501;
        #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
        let weights = model.weight_bytes as f64;
        assert!(
            close(weights, golden.weights_gb),
            "{}: {weights}",
            golden.model
        );
        for (at, batch) in BATCHES.into_iter().enumerate() {
            let read = model.weight_bytes_read(batch);
            assert!(
                close(read, golden.read_gb[at]),
                "{} at {batch}: {read}",
                golden.model
            );
        }
        let elements = model.kv_bytes_per_token() / u64::from(model.kv_cache_bytes);
        assert_eq!(elements, golden.kv_elements, "{}", golden.model);
    }
}

#[test]
fn four_ranks_halve_the_logits_and_leave_the_rest() {
    let mut around = l40();
    around.full_nvlink = true;
    let step = plan(
        &model("qwen2.5-72b"),
        &EngineFacts::vllm(4, &around),
        16,
        None,
    );
    let bytes: Vec<(&str, u32, u64)> = step
        .collectives
        .iter()
        .map(|c| (c.role.as_str(), c.count, c.bytes_per_rank))
        .collect();
    // 16 * 8192 * 2 = 262144; 16 * (152064 / 4) * 2 = 1216512.
    let expected = [
        ("embedding", 1, 262_144),
        ("attention output", 80, 262_144),
        ("mlp output", 80, 262_144),
        ("logits", 1, 1_216_512),
    ];
    assert_eq!(bytes, expected);
}

#[test]
fn the_vision_language_model_sends_what_its_language_part_does() {
    let engine = EngineFacts::vllm(2, &l40());
    for (vision, language) in [
        ("qwen2.5-vl-72b", "qwen2.5-72b"),
        ("Qwen2.5-VL-72B-FP8", "Qwen2.5-72B-FP8"),
    ] {
        let (vision, language) = (model(vision), model(language));
        assert_eq!(vision.weight_bytes, language.weight_bytes);
        assert_eq!(
            plan(&vision, &engine, 16, None).collectives,
            plan(&language, &engine, 16, None).collectives
        );
        assert!(
            vision
                .assumed
                .iter()
                .any(|line| line.contains("vision part"))
        );
    }
}

#[test]
fn the_l40_prefill_step_goes_to_the_library() {
    let engine = EngineFacts::vllm(2, &l40());
    // Below 70 GiB a step takes 2048 tokens; a longer prompt is cut.
    let step = plan(&model("gpt-oss-120b"), &engine, 0, Some(5000));
    assert_eq!(step.prefill_tokens, Some(2048));
    let sent: Vec<(u32, u64, CollectivePath)> = step
        .collectives
        .iter()
        .map(|c| (c.count, c.bytes_per_rank, c.path))
        .collect();
    // 2048 * 2880 * 2 = 11796480 and 2048 * 3072 * 2 = 12582912, both above 8 MiB = 8388608; one row of 201088 bytes.
    let expected = [
        (1, 11_796_480, CollectivePath::Library),
        (36, 11_796_480, CollectivePath::Library),
        (36, 12_582_912, CollectivePath::Library),
        (1, 201_088, CollectivePath::Library),
    ];
    assert_eq!(sent, expected);
}
