//! Inputs that are bad, missing, mixed or contradict each other: one clear sentence, exit code 2 or 3, and never a guess.

use crate::study::common::{Ran, Scratch};

/// 64 requests of 256 tokens, not streamed; `seconds` each on average.
fn result(concurrency: u32, seconds: f64) -> serde_json::Value {
    let rate = f64::from(concurrency) / seconds;
    serde_json::json!({
        "model": "Qwen2.5-VL-72B-Instruct-FP8", "concurrency": concurrency, "num_requests": 64, "failed": 0, "max_tokens": 256,
        "requests_per_s": rate, "prompt_tokens_per_s": rate * 89.0, "output_tokens_per_s": rate * 256.0,
        "latency_p50_s": seconds, "latency_p95_s": seconds * 1.002, "latency_mean_s": seconds,
        "latency_min_s": seconds * 0.998, "latency_max_s": seconds * 1.003, "total_time_s": 64.0 / rate,
    })
}

fn explain(scratch: &Scratch, tp1: &str, tp2: &str, more: &[&str]) -> Ran {
    let arguments = [
        "explain",
        "--tp1",
        tp1,
        "--tp2",
        tp2,
        "--model",
        "qwen2.5-vl-72b-fp8",
    ];
    scratch.run(&[&arguments, more].concat())
}

/// Both files, as TP1 and TP2 are without fault.
fn good(scratch: &Scratch) -> [String; 2] {
    let write = |name, seconds| scratch.write(name, &result(16, seconds).to_string());
    [write("one.json", 15.7242), write("two.json", 11.7622)]
}

/// The message of a refusal as bad usage: one line that holds these words.
#[track_caller]
fn refused(ran: &Ran, words: &[&str]) {
    ran.expect(2);
    let message = ran.stderr.trim();
    assert_eq!(message.lines().count(), 1, "{message}");
    for word in words {
        assert!(message.contains(word), "no {word} in {message}");
    }
    assert_eq!(ran.stdout, "");
}

#[test]
fn a_file_that_is_no_result_is_named_with_what_is_wrong_with_it() {
    let scratch = Scratch::new();
    let [one, two] = good(&scratch);
    explain(&scratch, &one, &two, &[]).expect(0);
    let pretty = serde_json::to_string_pretty(&result(16, 11.7622)).unwrap();
    // Cut in the middle of its ninth line.
    let ninth: usize = pretty.split_inclusive('\n').take(8).map(str::len).sum();
    let cut = &pretty[..ninth + 6];
    let bytes = format!("after {} bytes", cut.len());
    let with = |key: &str, value: &str| {
        let text = result(16, 11.7622).to_string();
        let own = result(16, 11.7622)[key].to_string();
        text.replacen(
            &format!("\"{key}\":{own}"),
            &format!("\"{key}\":{value}"),
            1,
        )
    };
    let nan = with("latency_mean_s", "NaN");
    let vast = with("requests_per_s", "1e400");
    let other = r#"{"version": "1.0", "results": [{"name": "pytest", "outcome": "passed"}]}"#;
    for (name, text, words) in [
        ("cut.json", cut, &["line 9", bytes.as_str(), "cut"][..]),
        ("empty.json", "", &["is empty"][..]),
        ("other.json", other, &["no format"][..]),
        ("vast.json", vast.as_str(), &["out of range"][..]),
    ] {
        let bad = scratch.write(name, text);
        for ran in [
            explain(&scratch, &one, &bad, &[]),
            explain(&scratch, &bad, &two, &[]),
            explain(&scratch, &one, &two, &["--half", &bad]),
        ] {
            refused(&ran, &[&[name], words].concat());
        }
    }
    // NaN is no figure, and without it the file holds no time of a step: there is no answer, and the file is no bad one.
    let bad = scratch.write("nan.json", &nan);
    explain(&scratch, &one, &bad, &[]).expect(3);
    let folder = scratch.join("folder");
    std::fs::create_dir(&folder).unwrap();
    let folder = folder.display().to_string();
    refused(&explain(&scratch, &one, &folder, &[]), &["folder"]);
    refused(&explain(&scratch, &one, "none.json", &[]), &["none.json"]);
    for flag in [
        "--allreduce",
        "--trace",
        "--gemm",
        "--links",
        "--engine-log",
    ] {
        refused(
            &explain(&scratch, &one, &two, &[flag, &folder]),
            &["folder"],
        );
        let empty = scratch.join("empty.json").display().to_string();
        refused(
            &explain(&scratch, &one, &two, &[flag, &empty]),
            &["empty.json"],
        );
    }
}

#[test]
fn a_result_that_is_given_twice_is_one_start_and_not_two() {
    let scratch = Scratch::new();
    let [one, two] = good(&scratch);
    // The same under another name, and in another order of lines.
    let again = serde_json::to_string_pretty(&result(16, 11.7622)).unwrap();
    let again = scratch.write("again.json", &again);
    for twice in [&two, &again] {
        let ran = explain(&scratch, &one, &two, &["--tp2", twice]);
        refused(&ran, &["hold the same result", "give each run once"]);
    }
    let same = explain(&scratch, &two, &again, &[]);
    refused(&same, &["two.json and", "again.json hold the same result"]);
    let half = explain(&scratch, &one, &two, &["--half", &again]);
    refused(&half, &["hold the same result"]);
}

#[test]
fn a_file_that_is_no_engines_log_is_refused_wherever_it_is_read() {
    let scratch = Scratch::new();
    let [one, two] = good(&scratch);
    // A line of the library alone, as a benchmark of it prints; no engine begins so.
    let nccl = scratch.write("nccl.log", "NCCL version 2.27.5+cuda12.9\n");
    let words = ["nccl.log", "no line says which engine it is"];
    refused(&scratch.run(&["engine-log", &nccl]), &words);
    refused(
        &explain(&scratch, &one, &two, &["--engine-log", &nccl]),
        &words,
    );
}

#[test]
fn an_engine_that_was_told_to_leave_all_reduces_to_the_library_is_planned_so() {
    let scratch = Scratch::new();
    let [one, two] = good(&scratch);
    let path = |more: &[&str]| {
        let bare = ["--box", "rtxpro6000-bare", "--json", "-"];
        let ran = explain(&scratch, &one, &two, &[&bare[..], more].concat());
        ran.expect(0);
        let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        let sent = json["outcome"]["attribution"]["collectives"].clone();
        let sent = sent.as_array().unwrap().clone();
        let reduce = sent.iter().find(|of| of["kind"] == "all_reduce");
        reduce.unwrap()["path"].as_str().unwrap().to_owned()
    };
    // Two GPUs that reach each other: vLLM reduces 256 KiB by code of its own, unless it is told not to.
    assert_eq!(path(&[]), "custom");
    assert_eq!(path(&["--disable-custom-all-reduce"]), "library");
}

#[test]
fn a_device_is_no_folder_for_any_command() {
    let scratch = Scratch::new();
    let [one, two] = good(&scratch);
    let plan = scratch.write(
        "plan.toml",
        r#"
schema = 1
name = "{config}_{model}_TP{tp}_{input}_np{n}"

[server]
base_url = "http://127.0.0.1:1"
command = ["vllm", "serve", "{path}", "--tensor-parallel-size", "{tp}"]

[paths]
8B = "llama-3.1-8b"

[[matrix]]
configs = ["A"]
models = ["8B"]
tp = [1]
inputs = [16]
outputs = [4]
num_prompts = "1..2"
"#,
    );
    let out = ["--out", "/dev/full"];
    let explain = [
        "explain",
        "--tp1",
        &one,
        "--tp2",
        &two,
        "--model",
        "qwen2.5-72b-fp8",
    ];
    let study = ["study", "--sim", "l40x4", "--model", "llama-3.1-8b"];
    let slo = ["slo", "--slo", "p99_ttft<=5s"];
    let load = ["--", "--base-url", "http://127.0.0.1:1"];
    for words in [
        [&explain[..], &out].concat(),
        [&study[..], &out].concat(),
        [&slo[..], &out, &load].concat(),
        [&["sweep", &plan][..], &out].concat(),
    ] {
        let ran = scratch.run(&words);
        refused(
            &ran,
            &["/dev/full is a device, not a folder; name a folder"],
        );
    }
    // A full device behind a file is no wrong command line.
    let ran = scratch.run(&[&explain[..], &["--json", "/dev/full"]].concat());
    ran.expect(4);
    assert_eq!(
        ran.stderr.matches("No space left").count(),
        1,
        "{}",
        ran.stderr
    );
}
