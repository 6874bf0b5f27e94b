//! `predict` as a program: what it prints, and what it refuses in one sentence.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::PathBuf;
use std::process::Output;

use serde_json::Value;

fn predict(arguments: &[&str]) -> Output {
    built::named("serve-bench")
        .arg("predict")
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A result of one GPU: 16 in flight, 512 tokens in and 256 out, 10 ms a token.
fn tp1(name: &str) -> PathBuf {
    let file =
        std::env::temp_dir().join(format!("serve-bench-predict-{}-{name}", std::process::id()));
    // 64 requests in 4 waves of 0.1 + 255 * 0.01 = 2.65 s.
    let run = serde_json::json!({
        "concurrency": 16, "num_requests": 64, "completed": 64, "failed": 0, "duration_s": 10.6, "max_tokens": 256,
        "requests_per_s": 64.0 / 10.6, "total_input_tokens": 64 * 512, "total_output_tokens": 64 * 256,
        "mean_ttft_ms": 100.0, "mean_tpot_ms": 10.0, "mean_e2el_ms": 2650.0, "median_itl_ms": 10.0,
    });
    std::fs::write(&file, run.to_string()).unwrap();
    file
}

#[test]
fn a_result_of_one_gpu_gives_batch_and_lengths_and_the_level() {
    let file = tp1("level");
    let ran = predict(&[
        "--box",
        "h200x8",
        "--model",
        "llama-3.1-8b",
        "--tp",
        "2",
        "--json",
        "-",
        "--tp1",
        file.to_str().unwrap(),
    ]);
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    let json: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(json["batch"], 16);
    assert_eq!(json["input_tokens"], 512.0);
    assert_eq!(json["sizes"][0]["level"], "measured_one");
    assert!(json["simulated"].is_null(), "{}", json["simulated"]);
    std::fs::remove_file(file).unwrap();
}

#[test]
fn sizes_that_do_not_fit_are_left_out_with_the_reason_and_the_others_are_predicted() {
    let words = "--box l40x4 --model qwen2.5-72b --tp 1,2,4 --batch 8";
    let ran = predict(&words.split(' ').collect::<Vec<_>>());
    let shown = text(&ran.stdout);
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    // 145.4 GB of weights into 48.3, 96.6 and 193.2 GB.
    for says in ["145.4 GB", "48.3 GB", "96.6 GB", "TP4: "] {
        assert!(shown.contains(says), "{says}: {shown}");
    }
}
