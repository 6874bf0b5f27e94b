//! `explain` on the figures that others measured by hand, as files.

use crate::study::common::{Ran, Scratch, bar, range};

/// A result of 64 requests of 256 tokens that were not streamed, 16 in flight.
fn result(scratch: &Scratch, name: &str, numbers: [f64; 9]) -> String {
    let [rate, prompt, output, p50, p95, mean, min, max, total] = numbers;
    let text = serde_json::json!({
        "model": "Qwen2.5-VL-72B-Instruct-FP8", "concurrency": 16, "num_requests": 64, "max_tokens": 256,
        "requests_per_s": rate, "prompt_tokens_per_s": prompt, "output_tokens_per_s": output,
        "latency_p50_s": p50, "latency_p95_s": p95, "latency_mean_s": mean, "latency_min_s": min, "latency_max_s": max,
        "total_time_s": total,
    });
    scratch.write(name, &text.to_string())
}

/// Two GPUs without peers: Qwen2.5-VL-72B FP8 on two RTX Pro 6000 with MIG forced on, not streamed, 16 in flight, 64 requests of 256 tokens.
fn case_2(scratch: &Scratch) -> [String; 2] {
    [
        result(
            scratch,
            "tp1.json",
            [
                1.0171, 90.5189, 260.3688, 15.6923, 15.8496, 15.7242, 15.6644, 15.8615, 62.9261,
            ],
        ),
        result(
            scratch,
            "tp2.json",
            [
                1.3594, 120.9863, 348.0055, 11.7613, 11.7944, 11.7622, 11.7284, 11.7997, 47.0797,
            ],
        ),
    ]
}

fn explain_case_2(scratch: &Scratch) -> Ran {
    let [tp1, tp2] = case_2(scratch);
    let arguments = [
        "explain",
        "--tp1",
        &tp1,
        "--tp2",
        &tp2,
        "--box",
        "rtxpro6000-mig",
        "--model",
        "qwen2.5-vl-72b-fp8",
        "--max-num-seqs",
        "32",
        "--out",
        "out",
    ];
    scratch.run(&arguments)
}

#[test]
fn field_case_2_is_explained_as_it_was_by_hand() {
    let scratch = Scratch::new();
    let ran = explain_case_2(&scratch);
    ran.expect(0);
    let explanation = scratch.json("out/explanation.json");
    let attribution = &explanation["outcome"]["attribution"];
    // Worked out by hand with the same public figures: 5% and 95% of each part, ms a step, and us of an all-reduce of 256 KiB.
    for (name, value, by_hand) in [
        (
            "narrow GEMMs",
            &bar(&explanation, "narrow_gemm")["ms"],
            (0.9, 4.5),
        ),
        (
            "never sharded",
            &bar(&explanation, "unsharded")["ms"],
            (1.1, 2.1),
        ),
        (
            "communication",
            &bar(&explanation, "communication")["ms"],
            (8.5, 12.7),
        ),
        ("remainder", &attribution["remainder"], (8.5, 12.7)),
        (
            "one all-reduce",
            &attribution["implied"]["us"],
            (51.0, 77.0),
        ),
    ] {
        let (low, _, high) = range(value);
        assert!(
            low < by_hand.1 && by_hand.0 < high,
            "{name}: [{low}, {high}] and {by_hand:?}"
        );
        // An interval that is much wider would overlap with anything.
        assert!(
            high - low < 2.0 * (by_hand.1 - by_hand.0),
            "{name}: [{low}, {high}] and {by_hand:?}"
        );
    }
    assert_eq!(attribution["implied"]["bytes_per_rank"], 262_144);
    // The screen is short, and its lines fit but for commands, which are copied whole.
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(lines.len() <= 25, "{}", ran.stdout);
    let is_command = |line: &&str| line.starts_with("      ");
    let fits = lines
        .iter()
        .filter(|line| !is_command(line))
        .all(|line| line.chars().count() <= 100);
    assert!(fits, "{}", ran.stdout);
    assert!(ran.stdout.contains("1.34x"), "{}", ran.stdout);
    for never in ["enable p2p", "enable peer", "nccl_p2p_level"] {
        assert!(!ran.stdout.to_lowercase().contains(never), "{}", ran.stdout);
    }
}
