//! `serve-bench compare` and `show` on the results of other clients, with the figures of boxes that users benchmarked by hand.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/measure/tests/fixtures/serve");
    path.join(name).display().to_string()
}

/// A file of this test's own.
fn written(name: &str, text: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("tplens-compare-{}", std::process::id()));
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}

/// Exit code, standard output and standard error.
fn ran(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_serve-bench"))
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

fn assert_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}

#[test]
fn two_cards_against_one_are_1_34_times_the_requests() {
    let (a, b) = (
        fixture("rtxpro6000-mig-tp1.json"),
        fixture("rtxpro6000-mig-tp2.json"),
    );
    let (code, stdout, stderr) = ran(&["compare", &a, &b, "--json", "-"]);
    // Nothing is judged.
    assert_eq!(code, 3, "{stdout}{stderr}");
    let json: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(json["refused"], json!([]));
    let row = |metric: &str| {
        let rows = json["rows"].as_array().unwrap();
        rows.iter().find(|row| row["metric"] == metric).unwrap()
    };
    // 62.9261 / 47.0797 = 1.3366 and 11.7622 / 15.7242 = 0.7480.
    assert!((row("requests")["ratio"].as_f64().unwrap() - 1.3366).abs() < 1e-4);
    assert!((row("E2EL mean")["ratio"].as_f64().unwrap() - 0.7480).abs() < 1e-4);
    // Without each request's latency there is no interval, and without that no verdict.
    assert_eq!(row("E2EL mean")["interval"], Value::Null);
    assert_eq!(row("E2EL mean")["verdict"], Value::Null);
    // 64 / 62.9261 * 15.7242 = 15.99.
    assert!((json["a"]["in_flight"].as_f64().unwrap() - 15.99).abs() < 0.01);
    let (code, stdout, _) = ran(&["compare", &b, &a]);
    assert_eq!(code, 3);
    assert_says(&stdout, &["none judged: no interval"]);
}

#[test]
fn what_is_not_comparable_is_refused_with_every_reason() {
    let (a, b) = (
        fixture("mxc500-unbound-evalscope-0.5.txt"),
        fixture("mxc500-node0-evalscope-0.5.txt"),
    );
    let (code, stdout, _) = ran(&["compare", &a, &b]);
    assert_eq!(code, 3);
    // 538.497 / 0.766 = 703.0 and 609.616 / 0.869 = 701.5 tokens each: those are the same.
    assert_says(
        &stdout,
        &[
            "NOT COMPARABLE:",
            "48 of 474 requests of A failed and 37 of 480 requests of B failed: averages are of survivors",
            "another batch in flight: 56.0 requests in A and 61.9 in B",
            "no ratio is given",
            "neither tells its model; taken for the same",
        ],
    );
    assert!(
        !stdout.contains("verdict") && !stdout.contains("other lengths"),
        "{stdout}"
    );
    let (code, forced, _) = ran(&["compare", &a, &b, "--force"]);
    assert_eq!(code, 3);
    assert!(forced.starts_with("NOT COMPARABLE:"), "{forced}");
    // 0.869 / 0.766 = 1.134.
    assert_says(&forced, &["1.134", "verdict", "compared by force"]);
}

#[test]
fn models_streams_arrivals_and_lengths_are_told_apart() {
    let (code, stdout, _) = ran(&[
        "compare",
        &fixture("rtxpro6000-mig-tp1.json"),
        &fixture("h200-mooncake-1k-vllm-0.13.json"),
    ]);
    assert_eq!(code, 3);
    assert_says(
        &stdout,
        &[
            "other models: A Qwen2.5-VL-72B-Instruct-FP8, B Qwen/Qwen3-30B-A3B",
            "replies of A were not streamed and those of B streamed",
            "prompts of 89.0 tokens in A and 1024.0 in B",
            "requests of A came in a closed loop, those of B at 80 requests/s",
        ],
    );
}

/// A detailed result of vLLM's client: twelve requests of three tokens, TTFT 50 ms and gaps of `gap` s, one after the other.
fn detailed(gap: f64) -> Value {
    let n = 12;
    let ms = gap * 1e3;
    let latency = 0.05 + 2.0 * gap;
    let duration = 12.0 * latency;
    json!({
        "model_id": "org/mock-model", "completed": n, "failed": 0, "num_prompts": n, "request_rate": "inf", "max_concurrency": 1,
        "duration": duration, "request_throughput": 12.0 / duration, "total_input_tokens": 120, "total_output_tokens": 36,
        "mean_ttft_ms": 50.0, "median_ttft_ms": 50.0, "mean_tpot_ms": ms, "median_tpot_ms": ms, "mean_itl_ms": ms,
        "median_itl_ms": ms, "mean_e2el_ms": latency * 1e3, "median_e2el_ms": latency * 1e3,
        "input_lens": vec![10; n], "output_lens": vec![3; n], "ttfts": vec![0.05; n], "itls": vec![vec![gap; 2]; n],
        "latencies": vec![latency; n], "errors": vec![""; n],
    })
}

#[test]
fn raw_values_of_both_give_intervals() {
    let a = written("a.json", &detailed(0.02).to_string());
    // The second result of a file of two.
    let b = written(
        "b.jsonl",
        &format!("{}\n{}\n", detailed(0.02), detailed(0.03)),
    );
    let (a, both) = (a.display().to_string(), b.display().to_string());
    let (code, _, stderr) = ran(&["compare", &a, &both]);
    assert_eq!(code, 2);
    assert_says(&stderr, &["holds 2 results; name one", "b.jsonl#1"]);
    let (code, stdout, stderr) = ran(&["compare", &a, &format!("{both}#2"), "--json", "-"]);
    assert_eq!(code, 1, "{stdout}{stderr}");
    let json: Value = serde_json::from_str(&stdout).unwrap();
    let rows = json["rows"].as_array().unwrap();
    let row = |metric: &str| rows.iter().find(|row| row["metric"] == metric).unwrap();
    for metric in ["TPOT mean", "ITL mean", "TPOT median"] {
        // 30 / 20 in every resample of equal requests.
        let interval = &row(metric)["interval"];
        for end in ["low", "high"] {
            assert!(
                (interval[end].as_f64().unwrap() - 1.5).abs() < 1e-9,
                "{metric}: {interval}"
            );
        }
        assert_eq!(row(metric)["verdict"], "regression");
    }
    assert_eq!(row("TTFT mean")["verdict"], "same");
    assert_eq!(row("requests")["interval"], Value::Null);
    assert_eq!(row("requests")["verdict"], Value::Null);
}

#[test]
fn a_little_beyond_the_threshold_one_run_a_side_differs_and_is_no_regression() {
    let file = |name: &str, gap: f64| {
        let path = written(name, &detailed(gap).to_string());
        path.display().to_string()
    };
    // 21.6 / 20 = 1.08, between 1.05 and 1.10.
    let (a, b) = (file("near-a.json", 0.02), file("near-b.json", 0.0216));
    let (code, stdout, stderr) = ran(&["compare", &a, &b]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert_says(
        &stdout,
        &[
            "differs",
            "0 regressions, 0 faster",
            "judged within one run a side",
            "next: repeat each run",
        ],
    );
    assert!(!stdout.contains("REGRESSION"), "{stdout}");
}

#[test]
fn a_median_between_two_groups_has_no_verdict() {
    let file = |name: &str, short: usize| {
        // Twelve of 50 or 200 ms: 5 and 7 of them, or 7 and 5.
        let ttfts: Vec<f64> = (0..12)
            .map(|one| if one < short { 0.05 } else { 0.2 })
            .collect();
        let mut value = detailed(0.02);
        let mean = ttfts.iter().sum::<f64>() / 12.0 * 1e3;
        value["mean_ttft_ms"] = json!(mean);
        value["median_ttft_ms"] = json!(if short > 6 { 50.0 } else { 200.0 });
        value["ttfts"] = json!(ttfts);
        written(name, &value.to_string()).display().to_string()
    };
    let (a, b) = (file("humps-a.json", 7), file("humps-b.json", 5));
    let (_, stdout, _) = ran(&["compare", &a, &b, "--json", "-"]);
    let json: Value = serde_json::from_str(&stdout).unwrap();
    let rows = json["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["metric"] == "TTFT median");
    assert_eq!(row.unwrap()["ratio"], 4.0);
    assert_eq!(row.unwrap()["verdict"], Value::Null);
}

#[test]
fn a_run_whose_client_was_the_limit_is_marked_and_refused() {
    let mut value = detailed(0.02);
    value["tplens_version"] = json!("0.1.0");
    let good = written("valid.json", &value.to_string());
    value["tplens_invalid"] = json!(["its thread was busy"]);
    let bad = written("invalid.json", &value.to_string());
    let (good, bad) = (good.display().to_string(), bad.display().to_string());
    let says = "INVALID, the load generator was the limit: its thread was busy";
    let (code, stdout, _) = ran(&["compare", &good, &bad]);
    assert_eq!(code, 3);
    assert_says(&stdout, &["NOT COMPARABLE:", &format!("B is {says}")]);
    let (code, stdout, _) = ran(&["show", &good, &bad]);
    assert_eq!(code, 0);
    assert_says(
        &stdout,
        &[
            "2 results of serve-bench",
            "in vLLM's form",
            &format!("2: {says}"),
        ],
    );
    assert!(!stdout.contains("imported"), "{stdout}");
    let html = written("page.html", "").display().to_string();
    let (code, _, stderr) = ran(&["page", &good, &bad, "--html", &html]);
    assert_eq!(code, 0, "{stderr}");
    assert_says(&std::fs::read_to_string(html).unwrap(), &[says]);
}

#[test]
fn a_sweeps_folder_is_told_to_hold_its_results_below() {
    let folder = written("sweep/plan.toml", "");
    let folder = folder.parent().unwrap();
    std::fs::create_dir_all(folder.join("cells")).unwrap();
    let path = folder.display().to_string();
    for arguments in [
        vec!["show", &path],
        vec!["compare", &path, &path],
        vec!["page", &path, "--html", "never.html"],
        vec!["show", &path, "--html", "never.html"],
    ] {
        let (code, _, stderr) = ran(&arguments);
        assert_eq!(code, 2, "{stderr}");
        assert_says(&stderr, &["is the folder of a sweep", "sweep/cells"]);
    }
}

#[test]
fn a_result_of_another_client_is_shown_with_what_is_wrong() {
    let (code, stdout, _) = ran(&["show", &fixture("l40x4-vllm-block.txt")]);
    assert_eq!(code, 0);
    assert_says(
        &stdout,
        &[
            "vLLM's client, imported, not measured here",
            "44668.95",
            "all at once",
            "1972 tokens a step",
            // 1000 / 92.72 * (44.66895 + 0.16263 * 51.897) = 572.79 in flight.
            "572.79",
        ],
    );
    let (code, csv, _) = ran(&["show", &fixture("h200-mooncake-1k-vllm-0.13.json"), "--csv"]);
    assert_eq!(code, 0);
    assert!(
        csv.starts_with("file,metric,statistic,unit,value\n"),
        "{csv}"
    );
    assert_says(&csv, &["TTFT,median,ms,170.3\n", "TTFT,p90,ms,11270.41\n"]);
    let nothing = written("nothing.txt", "hello\n");
    let (code, _, stderr) = ran(&["show", nothing.to_str().unwrap()]);
    assert_eq!(code, 2);
    assert_says(&stderr, &["no format that is known here"]);
}

#[test]
fn field_case_2_is_one_table_of_two_sizes() {
    let (a, b) = (
        fixture("rtxpro6000-mig-tp1.json"),
        fixture("rtxpro6000-mig-tp2.json"),
    );
    let (code, stdout, stderr) = ran(&["show", &a, &b]);
    assert_eq!(code, 0, "{stderr}");
    assert_says(
        &stdout,
        &[
            "2 results, imported and not measured here",
            "1  rtxpro6000-mig-tp1.json (a summary; Qwen2.5-VL-72B-Instruct-FP8, TP1; closed loop, 16 in flight)",
            "2  rtxpro6000-mig-tp2.json (a summary; Qwen2.5-VL-72B-Instruct-FP8, TP2; closed loop, 16 in flight)",
            // 64 / 62.9261 and 64 / 47.0797.
            "1.017",
            "1.359",
            "1: the 61.42 ms that it calls time per output token are the whole latency",
        ],
    );
    // They were not streamed.
    assert!(
        !stdout.contains("TTFT (ms)") && stdout.contains("E2EL (ms)"),
        "{stdout}"
    );
}

#[test]
fn field_case_4_is_one_table_of_six_rows_of_json_and_text() {
    let (json, text) = (
        fixture("h200-mooncake-vllm-0.13.jsonl"),
        fixture("h200-nixl-vllm-0.13-blocks.txt"),
    );
    let (code, stdout, stderr) = ran(&["show", &json, &text]);
    assert_eq!(code, 0, "{stderr}");
    assert_says(
        &stdout,
        &[
            "6 results, imported and not measured here",
            "4  h200-mooncake-vllm-0.13.jsonl#4 (vLLM's client; Qwen/Qwen3-30B-A3B, TP8; 45 requests/s)",
            "6  h200-nixl-vllm-0.13-blocks.txt#2 (vLLM's client; model not told; 72 requests/s)",
            "1: 15.02 requests/s completed of 80 offered (19%): 400 requests came within 5.0 s and took 26.6 s, which is a burst of 400",
            "1: TTFT has a mean of 3798 ms beside a median of 170 ms, 90th percentile 11270 ms",
            "6: TTFT has a mean of 3986 ms beside a median of 125 ms, 90th percentile 13974 ms",
        ],
    );
    // A row of each table: TPOT of the fourth, as printed.
    let row = stdout
        .lines()
        .find(|line| line.starts_with("4 ") && line.contains("49.93"));
    let cells: Vec<&str> = row.unwrap().split_whitespace().collect();
    assert_eq!(cells, ["4", "—", "49.17", "49.38", "49.87", "49.93"]);
    assert!(!stdout.contains("4: TTFT has"), "{stdout}");
}

#[test]
fn field_case_5_is_one_table_of_its_sweep_with_what_holds_over_all_rows() {
    let (code, stdout, stderr) = ran(&["show", &fixture("mxc500-sweep-evalscope.jsonl")]);
    assert_eq!(code, 0, "{stderr}");
    assert_says(
        &stdout,
        &[
            "8 results, imported and not measured here",
            // 1.37 * 61.88 = 84.8.
            "5: 1.370 requests/s times a latency of 61.88 s are 84.8 requests in flight where 100 were asked for",
            "5: the 61.88 s that it calls time to first token are the whole latency",
            "Found over all rows:",
            "fall from 296 tokens at 8 in flight to 248 at 200, as failures rise from 0.0% to 16.4%",
            "from 128 in flight on more give no more",
        ],
    );
    let bindings = ["unbound", "node0", "nodes0-3"]
        .map(|binding| fixture(&format!("mxc500-{binding}-evalscope-0.5.txt")));
    let arguments = ["show", &bindings[0], &bindings[1], &bindings[2]];
    let (code, stdout, _) = ran(&arguments);
    assert_eq!(code, 0);
    // 0.766 * 73.051, 0.869 * 71.212 and 0.653 * 71.199 of 100.
    for (row, in_flight) in ["1: 0.766", "2: 0.869", "3: 0.653"]
        .iter()
        .zip(["56.0", "61.9", "46.5"])
    {
        assert_says(
            &stdout,
            &[
                row,
                &format!("are {in_flight} requests in flight where 100"),
            ],
        );
    }
    let streamed = ran(&[
        "show",
        &fixture("mxc500-sharegpt-vllm-0.6-block.txt"),
        &fixture("mxc500-sharegpt-unlimited-vllm-0.6-block.txt"),
    ]);
    assert_eq!(streamed.0, 0);
    assert_says(&streamed.1, &["129740.24", "487.16", "1109.58", "623.20"]);
}
