//! `tplens serve sweep-report` on files as vLLM's client names and writes them, with costs that were put into them, and on a sweep of
//! our own.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let name = format!("serve-bench-report-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn write(&self, name: &str, value: &Value) {
        let file = self.0.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, value.to_string()).unwrap();
    }

    fn folder(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Exit code, standard output and standard error.
fn ran(arguments: &[&str]) -> (i32, String, String) {
    let output = built::named("serve-bench")
        .arg("sweep-report")
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

#[track_caller]
fn assert_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}

/// Runs a report whose JSON is its output.
#[track_caller]
fn report(arguments: &[&str], code: i32) -> Value {
    let (ended, stdout, stderr) = ran(&[arguments, &["--json", "-"]].concat());
    assert_eq!(ended, code, "{stdout}{stderr}");
    serde_json::from_str(&stdout).unwrap()
}

/// What vLLM 0.10 writes without `--save-detailed` for `n` prompts at once: no metadata, no lists.
fn result(model: &str, n: u32, ttft: f64, tpot: f64) -> Value {
    let e2el = ttft + 127.0 * tpot;
    let duration = e2el / 1e3;
    json!({
        "date": "20251030-101500", "endpoint_type": "openai", "label": null, "model_id": model, "tokenizer_id": model,
        "num_prompts": n, "request_rate": "inf", "burstiness": 1.0, "max_concurrency": null, "duration": duration,
        "completed": n, "total_input_tokens": 1024 * n, "total_output_tokens": 128 * n,
        "request_throughput": f64::from(n) / duration, "output_throughput": f64::from(128 * n) / duration,
        "mean_ttft_ms": ttft, "median_ttft_ms": ttft, "p99_ttft_ms": ttft, "mean_tpot_ms": tpot, "median_tpot_ms": tpot,
        "p99_tpot_ms": tpot,
    })
}

/// The ten rows of the matrix: configuration, model, its name, TP, and what TTFT and TPOT are multiplied by.
///
/// Machine C is 1.05 times as slow by itself. Two cards at x8 take 1.25 times the TTFT and 1.10 times the TPOT; one card 1.01 and
/// 0.995 times.
const ROWS: [(&str, &str, &str, u32, f64, f64); 10] = [
    ("1C", "8B", "meta-llama/Llama-3.1-8B", 1, 1.05, 1.05),
    ("2C", "8B", "meta-llama/Llama-3.1-8B", 2, 1.05, 1.05),
    ("3C", "14B", "Qwen/Qwen3-14B", 2, 1.05, 1.05),
    ("4C", "27B", "google/gemma-3-27b-it", 2, 1.05, 1.05),
    ("1A", "8B", "meta-llama/Llama-3.1-8B", 1, 1.0, 1.0),
    ("1B", "8B", "meta-llama/Llama-3.1-8B", 1, 1.01, 0.995),
    ("2B", "8B", "meta-llama/Llama-3.1-8B", 2, 1.25, 1.10),
    ("3A", "14B", "Qwen/Qwen3-14B", 1, 1.0, 1.0),
    ("4B", "14B", "Qwen/Qwen3-14B", 2, 1.25, 1.10),
    ("5B", "27B", "google/gemma-3-27b-it", 2, 1.25, 1.10),
];

/// The matrix's 2,000 files in a folder for each of the two machines, under the names that they had.
fn matrix(scratch: &Scratch) {
    for (config, model, id, tp, ttft, tpot) in ROWS {
        let machine = if config.ends_with('C') { "c" } else { "ab" };
        for n in 1..=200 {
            let size = f64::from(n);
            let value = result(
                id,
                n,
                ttft * (50.0 + 30.0 * size),
                tpot * (30.0 + 0.2 * size),
            );
            let name = format!("{machine}/{config}_{model}_{tp}1024_np{n}_20251030-101500.json");
            scratch.write(&name, &value);
        }
    }
}

fn plan() -> String {
    let plan = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/r9700.toml");
    plan.display().to_string()
}

fn near(value: &Value, expected: f64) -> bool {
    value
        .as_f64()
        .is_some_and(|value| (value - expected).abs() < 1e-6)
}

#[test]
fn the_cost_of_a_narrow_link_comes_out_with_its_floor_and_the_other_machine_marked() {
    let scratch = Scratch::new("matrix");
    matrix(&scratch);
    let (ab, c, plan) = (scratch.folder("ab"), scratch.folder("c"), plan());
    let report = report(&[&ab, &c, "--plan", &plan], 0);
    assert_eq!(report["results"], 2000);
    assert_eq!(report["unplaced"], json!([]));
    assert_eq!(report["configurations"].as_array().unwrap().len(), 10);
    let pairs = report["pairs"].as_array().unwrap();
    let find = |kind: &str, base: &str, other: &str| -> &Value {
        pairs
            .iter()
            .find(|one| {
                let pair = one;
                pair["kind"] == kind
                    && pair["base"]["config"] == base
                    && pair["other"]["config"] == other
            })
            .unwrap_or_else(|| panic!("no {kind} {base} {other}"))
    };
    // One card at x8 over one at x16 in one machine; 1.01 and 0.995 differ by 1% and 0.5%.
    let control = find("control", "1A", "1B");
    for band in control["ttft"].as_array().unwrap() {
        assert!(
            near(&band["ratio"], 1.01) && band["says"] == "within_floor",
            "{band}"
        );
    }
    // 1.05 over 1 at the same link.
    let machine = find("machine", "1A", "1C");
    assert!(near(&machine["ttft"][0]["ratio"], 1.05));
    for (base, other) in [("2C", "2B"), ("3C", "4B"), ("4C", "5B")] {
        let one = find("confounded", base, other);
        assert_eq!(one["points"].as_array().unwrap().len(), 200);
        // 1, 2-4, 5-8, 9-16, 17-32, 33-64, 65-128, 129-200.
        assert_eq!(one["ttft"].as_array().unwrap().len(), 8);
        for band in one["ttft"].as_array().unwrap() {
            // 1.25 / 1.05; one card is 1 / 1.05 on that machine, so that 1.25 are left.
            assert!(
                near(&band["ratio"], 1.25 / 1.05) && near(&band["beyond_machine"], 1.25),
                "{band}"
            );
            assert!(
                near(&band["floor"], 0.01) && band["says"] == "slower",
                "{band}"
            );
        }
        for band in one["tpot"].as_array().unwrap() {
            assert!(
                near(&band["ratio"], 1.10 / 1.05) && near(&band["floor"], 0.005),
                "{band}"
            );
        }
    }
    // Two cards at two links in one machine are not in this matrix.
    assert!(pairs.iter().all(|one| one["kind"] != "clean"));

    let (code, text, _) = ran(&[&ab, &c, "--plan", &plan]);
    assert_eq!(code, 0);
    assert!(text.lines().count() <= 25, "{text}");
    // 1.25 / 1.05 and 1.10 / 1.05.
    assert_says(&text, &["1.190", "1.048"]);
}

#[test]
fn a_control_that_varies_hides_what_is_smaller() {
    let scratch = Scratch::new("floor");
    // One card: x8 takes 1.00 to 1.07 times as long, 8 numbers of prompts; two cards 1.05 times.
    for n in 9..=16 {
        let part = 1.0 + 0.01 * f64::from(n - 9);
        for (config, tp, times) in [("A", 1, 1.0), ("B", 1, part), ("A", 2, 1.0), ("B", 2, 1.05)] {
            let value = result("org/m", n, 50.0 * times, 20.0);
            scratch.write(&format!("{config}_8B_{tp}1024_np{n}_0.json"), &value);
        }
    }
    // A single point says nothing of how the control varies: that floor is the one of all bands.
    for (config, tp, times) in [("A", 1, 1.0), ("B", 1, 1.0), ("A", 2, 1.0), ("B", 2, 1.06)] {
        let value = result("org/m", 1, 50.0 * times, 20.0);
        scratch.write(&format!("{config}_8B_{tp}1024_np1_0.json"), &value);
    }
    let folder = scratch.folder("");
    let report = report(&[&folder, "--setup", "A=x16@m", "--setup", "B=x8@m"], 0);
    let clean = &report["pairs"][1];
    assert_eq!(clean["kind"], "clean");
    for band in clean["ttft"].as_array().unwrap() {
        assert!(
            near(&band["floor"], 0.07) && band["says"] == "within_floor",
            "{band}"
        );
    }
}

#[test]
fn the_example_cell_is_placed_and_shown() {
    let scratch = Scratch::new("example");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../crates/import/tests/fixtures/serve/r9700-c-8b-tp1-np1.json");
    let value: Value = serde_json::from_str(&std::fs::read_to_string(fixture).unwrap()).unwrap();
    // As the scripts of that box name it.
    scratch.write("C_8B_TP1_1k_np1_20251030_101500.json", &value);
    // There is nothing to compare it with.
    let report = report(&[&scratch.folder("")], 3);
    let cell = &report["configurations"][0]["cells"][0];
    assert_eq!(
        (&cell["ttft_ms"], &report["unknown"][0]),
        (&json!(57.65), &json!("C"))
    );
}

#[test]
fn what_cannot_be_placed_is_listed_by_name_with_the_reason() {
    let scratch = Scratch::new("unplaced");
    let value = result("org/m", 4, 50.0, 20.0);
    scratch.write("A_8B_21024_np4_x.json", &value);
    scratch.write("B_8B_21024_np4_x.json", &value);
    scratch.write("deeper/openai-infqps-m-20251030.json", &value);
    scratch.write("A_8B_21024_np8_x.json", &value);
    scratch.write("A_8B_2512_np4_x.json", &value);
    scratch.write("notes.json", &json!({"a": 1}));
    let folder = scratch.folder("");
    let report = report(&[&folder, "--setup", "A=x16@m", "--setup", "B=x8@m"], 3);
    assert_eq!(report["results"], 2);
    assert_eq!(report["pairs"][0]["kind"], "clean");
    assert_eq!(report["pairs"][0]["ttft"][0]["says"], "no_floor");
    let mut left: Vec<String> = report["unplaced"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            let name = Path::new(one["file"].as_str().unwrap())
                .file_name()
                .unwrap();
            format!(
                "{}: {}",
                name.to_str().unwrap(),
                one["reason"].as_str().unwrap()
            )
        })
        .collect();
    left.sort();
    for (left, (name, says)) in left.iter().zip([
        ("A_8B_21024_np8_x.json", "says 8 prompts and it holds 4"),
        (
            "A_8B_2512_np4_x.json",
            "prompts of 512 tokens and it has 1024 each",
        ),
        ("notes.json", "no format that is known here"),
        ("openai-infqps-m-20251030.json", "no part such as np8"),
    ]) {
        assert!(left.starts_with(name) && left.contains(says), "{left}");
    }
    assert_eq!(left.len(), 4);
}

#[test]
fn repeats_of_a_cell_count_by_their_mean() {
    let scratch = Scratch::new("repeats");
    for (config, ttfts) in [("A", &[40.0, 45.0, 50.0][..]), ("B", &[60.0, 66.0])] {
        for (run, ttft) in ttfts.iter().enumerate() {
            let name = format!("{config}_8B_21024_np4_{run}.json");
            scratch.write(&name, &result("org/m", 4, *ttft, 20.0));
        }
    }
    let folder = scratch.folder("");
    let report = report(&[&folder, "--setup", "A=x16@m", "--setup", "B=x8@m"], 0);
    // (60 + 66) / 2 = 63 over (40 + 45 + 50) / 3 = 45.
    assert!(near(&report["pairs"][0]["points"][0]["ttft"], 1.4));
}

#[test]
fn results_that_are_not_comparable_give_no_ratio() {
    let scratch = Scratch::new("refused");
    scratch.write("A_8B_21024_np4_0.json", &result("org/m", 4, 50.0, 20.0));
    let mut failing = result("org/m", 4, 60.0, 20.0);
    failing["completed"] = json!(3);
    failing["failed"] = json!(1);
    failing["total_input_tokens"] = json!(3 * 1024);
    failing["total_output_tokens"] = json!(3 * 128);
    failing["request_throughput"] = json!(3.0 / failing["duration"].as_f64().unwrap());
    scratch.write("B_8B_21024_np4_0.json", &failing);
    let folder = scratch.folder("");
    let report = report(&[&folder, "--setup", "A=x16@m", "--setup", "B=x8@m"], 3);
    let refused = &report["pairs"][0]["refused"][0];
    assert_eq!(
        (&refused[0], &refused[1]["code"]),
        (&json!(4), &json!("failures-differ"))
    );
}

#[test]
fn results_whose_client_was_the_limit_are_listed_and_in_no_ratio() {
    let scratch = Scratch::new("invalid");
    for (config, ttft) in [("A", 50.0), ("B", 60.0)] {
        for prompts in [4, 8] {
            scratch.write(
                &format!("{config}_8B_21024_np{prompts}_0.json"),
                &result("org/m", prompts, ttft, 20.0),
            );
        }
    }
    let mut limited = result("org/m", 8, 600.0, 20.0);
    limited["tplens_invalid"] = json!(["its thread was busy"]);
    // The only result of one cell, and a second of another.
    scratch.write("B_8B_21024_np8_0.json", &limited);
    let mut limited = result("org/m", 4, 600.0, 20.0);
    limited["tplens_invalid"] = json!(["its thread was busy"]);
    scratch.write("B_8B_21024_np4_1.json", &limited);
    let folder = scratch.folder("");
    let arguments = [folder.as_str(), "--setup", "A=x16@m", "--setup", "B=x8@m"];
    let report = report(&arguments, 3);
    let points = report["pairs"][0]["points"].as_array().unwrap();
    assert_eq!(points.len(), 1);
    // 60 / 50, without the 600.
    assert!(near(&points[0]["ttft"], 1.2), "{points:?}");
    assert_eq!(report["invalid"].as_array().unwrap().len(), 2);
    let refused = &report["pairs"][0]["refused"][0];
    assert_eq!((&refused[0], &refused[1]), (&json!(8), &Value::Null));
}

/// Two configurations of one box, which the embedded engine plays.
const PLAN: &str = r#"
schema = 1
name = "{config}_{model}_TP{tp}_{input}_np{n}"
[server]
manage = true
command = ["PROGRAM", "serve", "engine", "--box", "BOX", "--model", "{path}", "--tp", "{tp}", "--port", "{port}", "--speed", "100"]
[paths]
8B = "llama-3.1-8b"
[setups]
A = { link = "x16", machine = "a" }
B = { link = "x8", machine = "b" }
[[matrix]]
configs = ["CONFIG"]
models = ["8B"]
tp = [2]
inputs = [64]
outputs = [8]
num_prompts = "1,8"
"#;

#[test]
fn sweeps_of_our_own_on_two_machines_are_merged() {
    let scratch = Scratch::new("own");
    for (config, soft) in [("A", "r9700-x16"), ("B", "r9700-x8")] {
        let plan = PLAN
            .replace("PROGRAM", built::file().to_str().unwrap())
            .replace("BOX", soft)
            .replace("CONFIG", config);
        let file = scratch.0.join(format!("{config}.toml"));
        std::fs::write(&file, plan).unwrap();
        let swept = built::named("serve-bench")
            .arg("sweep")
            .arg(&file)
            .arg("--out")
            .arg(scratch.0.join(config))
            .output()
            .unwrap();
        assert!(
            swept.status.success(),
            "{}",
            String::from_utf8_lossy(&swept.stderr)
        );
    }
    let (a, b) = (scratch.folder("A"), scratch.folder("B"));
    let report = report(&[&a, &b], 0);
    assert_eq!(report["results"], 4);
    assert_eq!(report["simulated"], json!(["r9700-x16", "r9700-x8"]));
    let pair = &report["pairs"][0];
    assert_eq!(
        (&pair["kind"], &pair["base"]["config"]),
        (&json!("confounded"), &json!("A"))
    );
    let points = pair["points"].as_array().unwrap();
    let numbers: Vec<&Value> = points.iter().map(|point| &point["num_prompts"]).collect();
    assert_eq!(numbers, [1, 8]);
    // The other file is no sweep's.
    let (code, _, stderr) = ran(&[&scratch.folder("nowhere")]);
    assert_eq!(code, 2);
    assert_says(&stderr, &["cannot read the folder"]);
}
