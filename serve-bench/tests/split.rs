//! `tplens serve check` on ten blocks that a client printed, and `tplens predict --split`.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use serde_json::Value;

fn json(arguments: &[&str], code: i32) -> Value {
    said("serve-bench", arguments, code)
}

fn said(program: &str, arguments: &[&str], code: i32) -> Value {
    let output = built::named(program)
        .args(arguments)
        .args(["--json", "-"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn ten_blocks_of_two_nodes_do_not_show_what_they_claim() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../golden/inputs/case4-");
    let mut files = Vec::new();
    for connector in ["mooncake", "nixl"] {
        for tokens in [1024, 4096, 8192, 16384, 32768] {
            files.push(format!("{folder}{connector}-{tokens}.txt"));
        }
    }
    let mut arguments = vec!["check", "--max-num-seqs=256", "--ttft=5s"];
    arguments.extend(files.iter().map(String::as_str));
    let found = json(&arguments, 1);
    let results = found["results"].as_array().unwrap();
    let having = |code: &str| {
        let has = |one: &&Value| {
            one["codes"]
                .as_array()
                .unwrap()
                .iter()
                .any(|known| known == code)
        };
        results.iter().filter(has).count()
    };
    assert_eq!(results.len(), 10);
    assert_eq!(having("rate-not-sustained"), 10);
    assert_eq!((having("waited-for-slots"), having("slo-by-mean")), (8, 8));
    // 400 requests in 26.64 s; 144 of 400 waited.
    let first = &results[0];
    assert!(
        (first["served_per_s"].as_f64().unwrap() - 15.02).abs() < 0.01,
        "{first}"
    );
    assert!(
        (first["waited"].as_f64().unwrap() - 0.36).abs() < 1e-9,
        "{first}"
    );
}

#[test]
fn engines_on_paper_are_limited_by_what_is_short_and_split_for_the_tail_of_itl() {
    let on_paper = |words: &str| {
        let fixed = "predict --box h200x8 --model qwen3-30b-a3b --kv-cache-dtype fp8 --output-tokens 1024 --max-num-seqs 256";
        let words: Vec<&str> = fixed.split(' ').chain(words.split(' ')).collect();
        said("tplens", &words, 0)
    };
    let short = on_paper("--tp 8 --split 1P1D --input-tokens 1024 --ttft 5s --tpot 50ms");
    assert_eq!(
        (&short["verdict"], &short["asked"]["limit"]),
        (&"do-not-split".into(), &"decode-slots".into())
    );
    // So many sequences of 1024 tokens of the step that is told, and the link's time; 8% below what 256 give.
    let figures = &short["asked"]["figures"];
    let of = |name: &str| figures[name].as_f64().unwrap();
    let rate = of("batch") / (1024.0 * of("tpot_s") + of("transfer_s"));
    assert!((of("requests_per_s") / rate - 1.0).abs() < 1e-6, "{short}");
    // 98,304 bytes a token over 171 GB/s, and 1.8 ms.
    assert!(
        (of("transfer_s") - (1.8e-3 + 1024.0 * 98_304.0 / 171e9)).abs() < 1e-9,
        "{short}"
    );
    // What was measured of such a system: 12.6 ms a token with 256 in flight, 15.0 requests a second with its ends.
    let range = &short["asked"]["requests_per_s"];
    assert!(
        range["low"].as_f64().unwrap() > 15.0 && range["high"].as_f64().unwrap() < 35.0,
        "{short}"
    );

    // 0.62 PF a prompt of 32,768 tokens: prefill limits, and 5 s of TTFT are kept.
    let long = on_paper("--tp 8 --split 1P1D --input-tokens 32768 --ttft 5s --tpot 50ms");
    assert_eq!(long["asked"]["limit"], "prefill");
    assert!(
        long["asked"]["ttft_p99_s"].as_f64().unwrap() <= 5.001,
        "{long}"
    );
    assert!(
        long["best"]["prefill"].as_u64() >= long["asked"]["prefill"].as_u64(),
        "{long}"
    );

    // Chunks of prompts between tokens of replies are longer than 20 ms.
    let smooth =
        on_paper("--tp 2 --split 4P4D --input-tokens 8192 --ttft 5s --tpot 50ms --itl 20ms");
    assert_eq!(smooth["verdict"], "split", "{smooth}");
    assert!(
        smooth["asked"]["figures"]["itl_p99_s"].as_f64().unwrap() <= 0.0201,
        "{smooth}"
    );
}
