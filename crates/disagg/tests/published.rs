//! The laws against published tables of Mooncake (docs/source/performance).

use disagg::{KvShape, LinkLaw, Transfer};

/// Prompt tokens, size as printed, milliseconds.
type Row = (u32, f64, f64);

/// Qwen3-8B in bf16 at TP8, two nodes of H800 with 8 ConnectX-7, vLLM 0.11.2.dev (vllm-v1-pd-performance.md). "MB" and "GB" there are
/// MiB and GiB: 1154 MiB stand as 1.13 GB.
const QWEN3_8B: [Row; 9] = [
    (128, 20.0, 0.54),
    (256, 38.0, 0.61),
    (512, 74.0, 0.92),
    (1024, 146.0, 1.50),
    (2048, 290.0, 2.51),
    (4096, 578.0, 4.75),
    (8192, 1.13 * 1024.0, 8.84),
    (16384, 2.25 * 1024.0, 16.43),
    (32768, 4.50 * 1024.0, 31.65),
];

/// Qwen3-235B-A22B in bf16 at TP8, two nodes of H20 with 8 ports of ConnectX-7, SGLang (sglang-benchmark-results-v1.md); megabytes.
const QWEN3_235B: [Row; 9] = [
    (128, 49.0, 2.07),
    (256, 99.0, 2.58),
    (512, 197.0, 2.98),
    (1024, 394.0, 3.96),
    (2048, 789.0, 6.43),
    (4096, 1580.0, 10.95),
    (8192, 3150.0, 20.31),
    (16384, 6310.0, 39.14),
    (32768, 12620.0, 76.78),
];

fn shape(layers: u32, kv_heads: u32, block_tokens: u32) -> KvShape {
    KvShape {
        layers,
        // Keys and values of heads of 128 elements.
        layer_elements: 2 * u64::from(kv_heads) * 128,
        kv_heads: Some(kv_heads),
        element_bytes: 2,
        block_tokens,
        window: None,
        is_upper_bound: false,
    }
}

#[test]
fn bytes_of_qwen3_8b_are_the_published_ones_within_a_block() {
    let model = shape(36, 8, 16);
    // 2 * 36 * 8 * 128 * 2.
    assert_eq!(model.token_bytes(), 147_456);
    let block = 16.0 * 147_456.0;
    for (tokens, mib, _) in QWEN3_8B {
        // What is published holds one block more than the prompt; a size in GB is rounded to 0.005 GiB.
        let published = mib * 1_048_576.0;
        let rounding = if tokens >= 8192 {
            0.005 * 1.074e9
        } else {
            0.5 * 1_048_576.0
        };
        let off = published - block - model.sent_bytes(tokens, 8);
        assert!(off.abs() <= rounding, "{tokens}: {off}");
    }
}

#[test]
fn bytes_of_qwen3_235b_are_the_published_ones_within_a_percent() {
    // Four heads on eight ranks: each is there twice, 2 * (2 * 94 * 4 * 128 * 2) = 385,024 bytes a token.
    let model = shape(94, 4, 64);
    assert_eq!(model.token_bytes() * 2, 385_024);
    for (tokens, mb, _) in QWEN3_235B {
        let off = model.sent_bytes(tokens, 8) / (mb * 1e6) - 1.0;
        // 49 MB is 49.28: rounding is 1%.
        assert!(off.abs() < 0.01, "{tokens}: {off}");
    }
}

#[test]
fn the_link_law_fits_each_published_time_within_7_percent() {
    for (rows, unit, start, bandwidth) in [
        (&QWEN3_8B[..], 1_048_576.0, 0.378e-3, 146.1e9),
        (&QWEN3_235B[..], 1e6, 1.83e-3, 171.0e9),
    ] {
        let timed = |&(_, size, ms): &Row| Transfer {
            bytes: size * unit,
            seconds: ms * 1e-3,
        };
        let transfers: Vec<Transfer> = rows.iter().map(timed).collect();
        // The constants are from the notes on the tables, fitted by another program.
        let noted = LinkLaw {
            start_s: start,
            bytes_per_s: bandwidth,
            post_s: 0.0,
        };
        let (law, largest) = LinkLaw::fit(&transfers).unwrap();
        assert!(largest < 0.07, "{law:?} {largest}");
        for transfer in &transfers {
            assert!(noted.error(transfer).abs() < 0.075, "{transfer:?}");
        }
        assert!((law.bytes_per_s / bandwidth - 1.0).abs() < 0.05, "{law:?}");
    }
}

#[test]
fn a_planted_law_is_found_and_pieces_bound_small_blocks() {
    let planted = LinkLaw {
        start_s: 1.8e-3,
        bytes_per_s: 171e9,
        post_s: 2e-6,
    };
    let transfers: Vec<Transfer> = [1e6, 1e8, 1e9, 1e10]
        .map(|bytes| Transfer {
            bytes,
            seconds: planted.seconds(bytes, 0.0),
        })
        .to_vec();
    let (law, largest) = LinkLaw::fit(&transfers).unwrap();
    assert!(
        (law.start_s - 1.8e-3).abs() < 1e-9 && largest < 1e-6,
        "{law:?}"
    );
    // 100,000 pieces at 2 us are 200 ms, 4.9 GB at 171 GB/s 30.5 ms.
    assert!((planted.seconds(4.9e9, 100_000.0) - 0.2).abs() < 1e-9);
    assert!((planted.seconds(4.9e9, 100.0) - (1.8e-3 + 4.9 / 171.0)).abs() < 1e-9);
    assert!(LinkLaw::fit(&transfers[..1]).is_none());
}

#[test]
fn latents_windows_and_descriptors_are_counted() {
    // DeepSeek-V3: 61 layers of 576 elements in bf16 are 70,272 bytes, on each of 8 ranks.
    let latent = KvShape {
        layers: 61,
        layer_elements: 576,
        kv_heads: None,
        element_bytes: 2,
        block_tokens: 1,
        window: None,
        is_upper_bound: false,
    };
    assert_eq!(latent.token_bytes(), 70_272);
    assert!((latent.sent_bytes(1, 8) - 562_176.0).abs() < 1e-9);
    assert_eq!(latent.descriptors(10, true), 610);
    // Qwen3-30B-A3B in FP8 at TP8: 48 layers, 4 heads: 49,152 bytes, sent twice; 32,768 tokens are 3.22 GB.
    let qwen = tp_plan::ModelFacts::builtin("qwen3-30b-a3b").unwrap();
    let mut shape = KvShape::of(&qwen, 16);
    shape.element_bytes = 1;
    assert_eq!(shape.token_bytes(), 49_152);
    assert!((shape.sent_bytes(32_768, 8) - 3.221e9).abs() < 1e6);
    assert_eq!(shape.descriptors(32_768, true), 2048 * 48 * 2);
    // Half of the layers keep 1,024 of 8,192 tokens.
    shape.window = Some((24, 1024));
    assert_eq!(shape.prompt_bytes(8192), 1024 * (24 * 8192 + 24 * 1024));
    assert!(KvShape::of(&tp_plan::ModelFacts::builtin("gpt-oss-120b").unwrap(), 16).is_upper_bound);
}
