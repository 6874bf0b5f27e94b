//! `tplens serve compare` and `show` on the results of other clients, with the figures of boxes that users benchmarked by hand.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/import/tests/fixtures/serve");
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
    let output = built::named("serve-bench")
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

fn json(arguments: &[&str]) -> (i32, Value) {
    let (code, stdout, stderr) = ran(&[arguments, &["--json", "-"]].concat());
    let json = serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stdout}{stderr}"));
    (code, json)
}

fn row<'a>(json: &'a Value, metric: &str) -> &'a Value {
    let rows = json["rows"].as_array().unwrap();
    rows.iter().find(|row| row["metric"] == metric).unwrap()
}

fn codes(json: &Value) -> Vec<&str> {
    let all = json["differences"].as_array().unwrap().iter();
    all.map(|one| one["code"].as_str().unwrap()).collect()
}

#[test]
fn two_cards_against_one_are_1_34_times_the_requests() {
    let (a, b) = (
        fixture("rtxpro6000-mig-tp1.json"),
        fixture("rtxpro6000-mig-tp2.json"),
    );
    let (code, both) = json(&["compare", &a, &b]);
    assert_eq!(code, 0);
    // 62.9261 / 47.0797 = 1.3366 and 11.7622 / 15.7242 = 0.7480: beyond three times the threshold, so judged without intervals.
    assert!((row(&both, "requests")["ratio"].as_f64().unwrap() - 1.3366).abs() < 1e-4);
    assert!((row(&both, "E2EL mean")["ratio"].as_f64().unwrap() - 0.7480).abs() < 1e-4);
    assert_eq!(row(&both, "E2EL mean")["interval"], Value::Null);
    assert_eq!(row(&both, "E2EL mean")["verdict"], "faster");
    // 64 / 62.9261 * 15.7242 = 15.99.
    assert!((both["a"]["in_flight"].as_f64().unwrap() - 15.99).abs() < 0.01);
    assert_eq!(json(&["compare", &b, &a]).0, 1);
}

#[test]
fn what_is_not_comparable_is_refused_with_every_code_and_its_numbers_stay() {
    let (a, b) = (
        fixture("mxc500-unbound-evalscope-0.5.txt"),
        fixture("mxc500-node0-evalscope-0.5.txt"),
    );
    let (code, both) = json(&["compare", &a, &b]);
    assert_eq!(code, 3);
    // 48 of 474 and 37 of 480 failed; 56.0 and 61.9 in flight are within 10%.
    assert_eq!(codes(&both), ["failures-differ", "not-told", "not-told"]);
    // 0.869 / 0.766 = 1.134.
    let requests = row(&both, "requests");
    assert!((requests["ratio"].as_f64().unwrap() - 1.134).abs() < 1e-3);
    assert_eq!(requests["verdict"], "not_judged");
    let (a, b) = (
        fixture("rtxpro6000-mig-tp1.json"),
        fixture("h200-mooncake-1k-vllm-0.13.json"),
    );
    let (code, both) = json(&["compare", &a, &b]);
    assert_eq!(code, 3);
    let found = codes(&both);
    for code in [
        "model-differs",
        "batch-differs",
        "streaming-differs",
        "prompts-differ",
        "arrivals-differ",
    ] {
        assert!(found.contains(&code), "{code} in {found:?}");
    }
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
    let (a, b) = (a.display().to_string(), b.display().to_string());
    // The first of them is of the same load.
    let (code, both) = json(&["compare", &a, &b]);
    assert_eq!(
        (code, &row(&both, "TPOT mean")["verdict"]),
        (0, &json!("same"))
    );
    let (code, both) = json(&["compare", &a, &format!("{b}#2")]);
    assert_eq!(code, 1);
    for metric in ["TPOT mean", "ITL mean"] {
        // 30 / 20 in every resample of equal requests.
        let interval = &row(&both, metric)["interval"];
        for end in ["low", "high"] {
            let off = (interval[end].as_f64().unwrap() - 1.5).abs();
            assert!(off < 1e-9, "{metric}: {interval}");
        }
        assert_eq!(row(&both, metric)["verdict"], "regression");
    }
    assert_eq!(row(&both, "TTFT mean")["verdict"], "same");
    // A screen on which all of it stands, the answer last.
    let (_, screen, _) = ran(&["compare", &a, &format!("{b}#2")]);
    assert!(screen.lines().count() <= 25, "{screen}");
    assert!(
        screen.lines().all(|line| line.chars().count() <= 100),
        "{screen}"
    );
}

#[test]
fn a_run_whose_client_was_the_limit_is_marked_and_of_a_low_grade() {
    let mut value = detailed(0.02);
    value["tplens_version"] = json!("0.1.0");
    let good = written("valid.json", &value.to_string());
    value["tplens_invalid"] = json!(["client-busy"]);
    let bad = written("invalid.json", &value.to_string());
    let (good, bad) = (good.display().to_string(), bad.display().to_string());
    let (code, both) = json(&["compare", &good, &bad]);
    assert_eq!((code, &codes(&both)[..]), (0, &["client-limited"][..]));
    assert_eq!(both["grade"], "C");
    let html = written("page.html", "").display().to_string();
    let (code, stdout, stderr) = ran(&["show", &good, &bad, "--html", &html]);
    assert_eq!(code, 0, "{stderr}");
    assert_says(&stdout, &["client-busy"]);
    assert_says(
        &std::fs::read_to_string(html).unwrap(),
        &["client-busy", "<svg"],
    );
}

#[test]
fn a_sweeps_folder_is_shown_and_compared_cell_by_cell() {
    let folder = written("sweep/one.json", &detailed(0.02).to_string());
    written("sweep/two.json", &detailed(0.03).to_string());
    // What is no result does not count against those that are there.
    let others = [("sweep/a.log", "started\n"), ("sweep/run.lock", "")];
    for (name, text) in others {
        written(name, text);
    }
    let path = folder.parent().unwrap().display().to_string();
    let (code, csv, stderr) = ran(&["show", &path, "--csv"]);
    assert_eq!(code, 0, "{stderr}");
    // A head, and of each 4 rates, and mean and median of four latencies.
    assert_eq!(csv.lines().count(), 1 + 2 * (4 + 8));
    let (code, both) = json(&["compare", &path, &path]);
    assert_eq!(code, 0);
    // The closed loop's rate: each cell is compared with itself, with an interval around 1.
    let cells = both["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2);
    assert_eq!(cells[1]["headline"]["times"], 1.0);
    assert_eq!(cells[1]["grade"], "A");
}

#[test]
fn field_cases_are_one_table_each() {
    let cases: [(&[&str], usize, &[&str]); 3] = [
        // 64 / 62.9261 and 64 / 47.0797 requests/s.
        (
            &["rtxpro6000-mig-tp1.json", "rtxpro6000-mig-tp2.json"],
            2,
            &["1.02", "1.36"],
        ),
        (
            &[
                "h200-mooncake-vllm-0.13.jsonl",
                "h200-nixl-vllm-0.13-blocks.txt",
            ],
            6,
            &["45 req/s", "49.17"],
        ),
        (&["mxc500-sweep-evalscope.jsonl"], 8, &["1.37"]),
    ];
    for (files, rows, numbers) in cases {
        let files: Vec<String> = files.iter().map(|file| fixture(file)).collect();
        let arguments: Vec<&str> = ["show"]
            .into_iter()
            .chain(files.iter().map(String::as_str))
            .collect();
        let (code, stdout, stderr) = ran(&arguments);
        assert_eq!(code, 0, "{stderr}");
        assert_says(&stdout, numbers);
        assert!(stdout.lines().count() <= 25, "{stdout}");
        let (_, csv, _) = ran(&[&arguments[..], &["--csv"]].concat());
        assert_eq!(csv.matches(",requests,rate,").count(), rows);
    }
}

/// What vLLM 0.10 writes without `--save-detailed` for `n` prompts at once: no metadata, no lists.
fn at_once(n: u32, ttft: f64, tpot: f64) -> Value {
    let e2el = ttft + 127.0 * tpot;
    let duration = e2el / 1e3;
    json!({
        "date": "20251030-101500", "endpoint_type": "openai", "label": null, "model_id": "meta-llama/Llama-3.1-8B",
        "tokenizer_id": "meta-llama/Llama-3.1-8B", "num_prompts": n, "request_rate": "inf", "burstiness": 1.0,
        "max_concurrency": null, "duration": duration, "completed": n, "total_input_tokens": 1024 * n,
        "total_output_tokens": 128 * n, "request_throughput": f64::from(n) / duration,
        "output_throughput": f64::from(128 * n) / duration, "mean_ttft_ms": ttft, "median_ttft_ms": ttft, "p99_ttft_ms": ttft,
        "mean_tpot_ms": tpot, "median_tpot_ms": tpot, "p99_tpot_ms": tpot,
    })
}

/// The files of two machines as their owner named them. Machine C is 1.05 times as slow by itself. Two cards at x8 (B) take 1.25
/// times the TTFT and 1.10 times the TPOT; one card 1.01 and 0.995 times.
fn two_machines() -> PathBuf {
    let rows = [
        ("1C", 1, 1.05, 1.05),
        ("2C", 2, 1.05, 1.05),
        ("1A", 1, 1.0, 1.0),
        ("1B", 1, 1.01, 0.995),
        ("2B", 2, 1.25, 1.10),
    ];
    let mut file = PathBuf::new();
    for (config, tp, ttft, tpot) in rows {
        for n in 1..=200 {
            let size = f64::from(n);
            let value = at_once(n, ttft * (50.0 + 30.0 * size), tpot * (30.0 + 0.2 * size));
            let name = format!("r9700/{config}_8B_{tp}1024_np{n}_20251030-101500.json");
            file = written(&name, &value.to_string());
        }
    }
    file.parent().unwrap().to_owned()
}

#[test]
fn the_cost_of_a_narrow_link_comes_out_with_its_floor_and_without_the_other_machine() {
    let folder = two_machines();
    let of = |config: &str| folder.join(format!("{config}_")).display().to_string();
    let sides = ["2C", "2B", "1A", "1B", "1C"].map(of);
    let [a, b, x16, x8, there] = sides.each_ref().map(String::as_str);
    let beside = ["--control", x16, x8, "--machine", there, x16];
    let arguments = [&["compare", a, b][..], &beside].concat();
    let (code, both) = json(&arguments);
    assert_eq!((code, both["cells"].as_array().unwrap().len()), (1, 200));
    let bands = both["bands"].as_array().unwrap();
    // 1, 2-4, 5-8, 9-16, 17-32, 33-64, 65-128, 129-200 of two metrics.
    assert_eq!(bands.len(), 16);
    let near = |value: &Value, expected: f64| (value.as_f64().unwrap() - expected).abs() < 1e-6;
    for band in bands {
        // 1.25 / 1.05 and 1.10 / 1.05; one card is 1 / 1.05 on that machine, so that 1.25 and 1.10 are left.
        let (own, floor) = match band["metric"].as_str().unwrap() {
            "TTFT mean" => (1.25, 0.01),
            _ => (1.10, 0.005),
        };
        assert!(near(&band["ratio"], own / 1.05), "{band}");
        assert!(near(&band["beyond_machine"], own), "{band}");
        assert!(near(&band["floor"], floor), "{band}");
        assert_eq!(band["verdict"], "regression");
    }
    let (_, screen, _) = ran(&arguments);
    assert!(screen.lines().count() <= 25, "{screen}");
    assert_says(&screen, &["1.25-1.25x", "1.10-1.10x"]);
    // One card at both links: within what it differs by itself.
    let (code, both) = json(&["compare", x16, x8, "--control", x16, x8]);
    assert_eq!(code, 0);
    let mut bands = both["bands"].as_array().unwrap().iter();
    assert!(bands.all(|band| band["verdict"] == "same"));
}
