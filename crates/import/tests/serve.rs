//! Serving results of every client: every fixture is read, and what contradicts what is reported by codes.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::{Path, PathBuf};

use import::ImportError;
use import::serve::{
    Conditions, Finding, Latency, ServeFormat, ServeResult, across, read, read_all,
};
use serde_json::{Value, json};

fn fixture(name: &str) -> String {
    std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/fixtures")
            .join(name),
    )
    .unwrap()
}

/// A file in a folder of its test's own, since tests run at once.
fn file(name: &str, text: &str) -> PathBuf {
    let (process, thread) = (std::process::id(), std::thread::current().id());
    let folder = std::env::temp_dir().join(format!("tplens-serve-{process}-{thread:?}"));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn all(name: &str, text: &str) -> Result<Vec<ServeResult>, ImportError> {
    let path = file(name, text);
    let results = read_all(&path);
    std::fs::remove_file(path).unwrap();
    results
}

#[track_caller]
fn of_text(text: &str) -> ServeResult {
    let mut results = all("result.txt", text).unwrap();
    assert_eq!(results.len(), 1);
    results.remove(0)
}

#[track_caller]
fn of(name: &str) -> ServeResult {
    of_text(&fixture(&format!("serve/{name}")))
}

fn codes(result: &ServeResult) -> Vec<&'static str> {
    result.findings.iter().map(Finding::code).collect()
}

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-6 * other.abs()
}

#[test]
fn the_block_of_vllm_gives_every_row() {
    let result = of("l40x4-vllm-block.txt");
    let run = &result.run;
    assert_eq!(
        (run.completed, run.format, run.streamed),
        (1000, ServeFormat::Vllm, true)
    );
    assert_eq!(
        (run.input_tokens, run.output_tokens),
        (Some(1_022_592), Some(52_897))
    );
    let ttft = run.ttft_ms.unwrap();
    assert_eq!(
        (ttft.mean, ttft.median, ttft.p99),
        (44_668.95, Some(44_620.76), Some(88_297.92))
    );
    assert_eq!(run.request_rate_asked, Some(f64::INFINITY));
    assert_eq!(result.said.peak_in_flight, Some(1000.0));
    assert!(codes(&result).contains(&"mixed-steps"));
}

#[test]
fn a_block_that_is_indented_has_percentiles_zeros_and_a_peak() {
    let result = of("sglang-0.5-zeros.txt");
    let run = &result.run;
    assert_eq!(
        (run.format, run.completed, run.failed),
        (ServeFormat::Sglang, 40, None)
    );
    // Without a mean the metric has no spread.
    assert_eq!(run.itl_ms, None);
    let not_taken = result.findings.iter().filter_map(|one| match one {
        Finding::ValueNotTaken { key, .. } => Some(key.as_str()),
        _ => None,
    });
    let not_taken: Vec<&str> = not_taken.collect();
    assert_eq!(not_taken, ["mean itl (ms)", "median tpot (ms)"]);
    assert!(codes(&result).contains(&"tokens-as-asked"));
    // 2 req/s x 3.75 s are 7.5, and at most 6 were in flight.
    assert_eq!(result.in_flight(), Some(6.0));
    assert_eq!(run.concurrency_asked, Some(100.0));
    assert_eq!(result.unused, ["concurrency"]);
    let more = fixture("serve/sglang-0.5-zeros.txt").replace(
        "Mean ITL (ms):                           0.00",
        "Mean ITL (ms):                           41.00",
    );
    assert_eq!(of_text(&more).run.itl_ms.unwrap().max, Some(4000.0));
}

#[test]
fn a_cut_block_is_read_as_far_as_it_goes() {
    let result = of("vllm-0.10-cut.txt");
    assert_eq!(
        (result.run.completed, result.run.tpot_ms.unwrap().mean),
        (100, 14.6)
    );
    assert_eq!(
        (result.run.request_rate_asked, result.run.concurrency_asked),
        (Some(15.0), Some(100.0))
    );
    assert!(codes(&result).contains(&"block-cut"));
    assert_eq!(result.unused, ["request goodput (req/s)"]);
}

#[test]
fn the_table_of_evalscope_has_no_stream_and_its_percentiles_a_latency() {
    let result = of("evalscope-1.0-table.txt");
    let run = &result.run;
    assert_eq!(
        (run.completed, run.failed, run.duration_s),
        (40, Some(0), 50.0)
    );
    assert_eq!(
        (run.input_tokens, run.output_tokens),
        (Some(800), Some(10_000))
    );
    let latency = run.e2el_ms.unwrap();
    assert_eq!(
        (latency.mean, latency.median, latency.p99),
        (4900.0, Some(4875.0), Some(5500.0))
    );
    assert!(!run.streamed && run.ttft_ms.is_none());
    assert_eq!(codes(&result), ["latency-as-ttft", "inverse-throughput"]);
    assert_eq!(result.unused, ["input tokens", "result db path"]);
}

#[test]
fn evalscope_that_streams_has_a_ttft_and_no_tpot() {
    let result = of("evalscope-0.8-streamed.txt");
    let run = &result.run;
    let ttft = run.ttft_ms.unwrap();
    assert_eq!(
        (ttft.mean, ttft.p99, run.tpot_ms),
        (2750.0, Some(3000.0), None)
    );
    assert_eq!(codes(&result), ["inverse-throughput"]);
    // 4 req/s x 14 s, of at most 100.
    assert_eq!(result.in_flight(), Some(56.0));
    // Of the whole stream's parts: 50 + 63 x 20 = 1310 ms.
    let streamed = of("evalscope-1.x-streamed.json");
    assert_eq!(
        (streamed.run.streamed, streamed.run.tpot_ms.unwrap().mean),
        (true, 20.0)
    );
}

#[test]
fn keys_of_ones_own_count_failures_and_tokens_and_others_are_listed() {
    let result = of("flat-ok-errors.json");
    let run = &result.run;
    assert_eq!((run.completed, run.failed), (60, Some(4)));
    // 60 x 89 and 60 x 256.
    assert_eq!(
        (run.input_tokens, run.output_tokens, run.fixed_output),
        (Some(5340), Some(15_360), Some(true))
    );
    let latency = run.e2el_ms.unwrap();
    assert_eq!(
        (latency.mean, latency.min, latency.max),
        (15_500.0, Some(15_250.0), Some(16_000.0))
    );
    assert_eq!(codes(&result), ["requests-failed", "latency-per-token"]);
    assert_eq!(result.unused, ["temperature"]);
    let error = all(
        "bare.json",
        r#"{"oks": 3, "latency_mean_s": 1.0, "duration_s": 3}"#,
    )
    .unwrap_err()
    .to_string();
    assert!(
        error.contains("`completed`") && error.contains("oks"),
        "{error}"
    );
    for (name, tp) in [
        ("rtxpro6000-mig-tp1.json", 1),
        ("rtxpro6000-mig-tp2.json", 2),
    ] {
        let run = of(name).run;
        assert_eq!(
            (run.tp, run.completed, run.output_tokens),
            (Some(tp), 64, Some(16_384)),
            "{name}"
        );
    }
}

#[test]
fn several_results_of_a_file_are_numbered() {
    let blocks = all("two.txt", &fixture("serve/vllm-rs-0.33-two-blocks.txt")).unwrap();
    let counts: Vec<u64> = blocks.iter().map(|one| one.run.completed).collect();
    assert_eq!(counts, [40, 80]);
    assert!(blocks[1].run.origin.ends_with("#2"));
    let lines = all("two.jsonl", &fixture("serve/sglang-0.5.jsonl")).unwrap();
    assert_eq!(lines.len(), 2);
    assert_eq!(
        (lines[0].run.tp, lines[0].run.format, codes(&lines[0]).len()),
        (Some(2), ServeFormat::Sglang, 0)
    );
    let path = file("two.jsonl", &fixture("serve/sglang-0.5.jsonl"));
    assert!(read(&path).is_err());
}

#[test]
fn bursts_of_two_connectors_have_second_waves() {
    for name in [
        "h200-mooncake-vllm-0.13.jsonl",
        "h200-nixl-vllm-0.13-blocks.txt",
    ] {
        for result in all("burst.txt", &fixture(&format!("serve/{name}"))).unwrap() {
            assert!(
                codes(&result).contains(&"burst-not-rate"),
                "{}",
                result.run.origin
            );
            let ttft = result.run.ttft_ms.unwrap();
            assert_eq!(
                codes(&result).contains(&"second-wave"),
                ttft.mean > 3.0 * ttft.median.unwrap()
            );
        }
    }
}

#[test]
fn a_sweep_has_a_limit() {
    let results = all(
        "sweep.jsonl",
        &fixture("serve/mxc500-sweep-evalscope.jsonl"),
    )
    .unwrap();
    let found = across(&results);
    assert_eq!(found.unwrap().code(), "saturated");
    let failed = &results[7];
    // 164 of 1000 failed at 200 in flight.
    assert!(failed.findings.contains(&Finding::RequestsFailed {
        failed: 164,
        sent: 1000
    }));
}

fn detailed() -> Value {
    let list = |value: Value, failed: Value| {
        let mut items = vec![value; 8];
        items.push(failed);
        Value::from(items)
    };
    json!({
        "completed": 8, "failed": 1, "num_prompts": 9, "request_rate": "inf", "max_concurrency": 1,
        "duration": 0.72, "request_throughput": 11.1111,
        "total_input_tokens": 80, "total_output_tokens": 24, "output_throughput": 33.333,
        "mean_ttft_ms": 50.0, "median_ttft_ms": 50.0, "p99_ttft_ms": 50.0, "std_ttft_ms": 0.0,
        "mean_tpot_ms": 20.0, "mean_itl_ms": 20.0, "mean_e2el_ms": 90.0, "max_concurrent_requests": 1,
        "input_lens": list(json!(10), json!(10)),
        "output_lens": list(json!(3), json!(0)),
        "ttfts": list(json!(0.05), json!(0.0)),
        "itls": list(json!([0.02, 0.02]), json!([])),
        "latencies": list(json!(0.09), json!(0.0)),
        "errors": list(json!(""), json!("timed out")),
        "start_times": (0..9).map(|index| 100.0 + 0.09 * f64::from(index)).collect::<Vec<f64>>(),
    })
}

fn changed(value: &Value, key: &str, other: Value) -> ServeResult {
    let mut value = value.clone();
    value[key] = other;
    of_text(&value.to_string())
}

#[test]
fn lists_become_requests() {
    let result = of_text(&detailed().to_string());
    assert_eq!((result.requests.len(), result.clocked), (8, true));
    // The third began 2 * 90 ms after the first and had its first token 50 ms later.
    assert!(near(result.requests[2].token_chunks_ms[0], 230.0));
    assert_eq!(result.values(Latency::Itl).concat().len(), 16);
    assert!(near(
        result.run.e2el_ms.unwrap().mean_interval.unwrap().low,
        90.0
    ));
    assert_eq!(codes(&result), ["requests-failed"]);
}

#[test]
fn figures_that_no_run_can_have_together_are_contradictions() {
    let good = json!({
        "concurrency": 16, "completed": 64, "failed": 0, "max_tokens": 256, "requests_per_s": 1.3594,
        "output_tokens_per_s": 348.0055, "latency_mean_s": 11.7622, "latency_p50_s": 11.7613, "latency_min_s": 11.7284,
        "latency_max_s": 11.7997, "ms_per_output_token": 45.946, "total_time_s": 47.0797,
    });
    assert_eq!(
        of_text(&good.to_string()).run.conditions.doubts,
        Vec::<String>::new()
    );
    for (key, value, code) in [
        ("requests_per_s", 2.0, "figures-differ"),
        ("output_tokens_per_s", 948.0, "figures-differ"),
        ("latency_mean_s", 9.0, "times-disagree"),
        // 255 x 51 ms are 13 s of 11.76; 255 x 4.6 leave 10.6 s to the first token.
        ("ms_per_output_token", 51.0, "times-disagree"),
        ("ms_per_output_token", 4.6, "times-disagree"),
        ("ttft_mean_s", 20.0, "times-disagree"),
        ("ttft_mean_s", 600.0, "impossible-time"),
        ("ttft_mean_ms", 5.0, "impossible-time"),
    ] {
        let doubts = changed(&good, key, json!(value)).run.conditions.doubts;
        assert!(
            doubts.iter().any(|doubt| doubt == code),
            "{key} {value}: {doubts:?}"
        );
    }
    // 30 ms leave 4.1 s for the first token, which can be.
    assert_eq!(
        changed(&good, "ms_per_output_token", json!(30.0))
            .run
            .conditions
            .doubts,
        Vec::<String>::new()
    );
    // Two keys of one number: the first holds.
    let twice = changed(&good, "duration_s", json!(60.0));
    assert_eq!(twice.run.conditions.doubts, ["figures-differ"]);
}

#[test]
fn what_is_no_result_says_what_was_looked_for() {
    for text in [
        "",
        "hello",
        "{}",
        "[1]",
        "{\"a\": 1}\nhello\n",
        "{\"completed\": 3, ",
    ] {
        let words = all("unknown.txt", text).unwrap_err().to_string();
        assert!(words.contains("unknown.txt"), "{words}");
    }
}

fn conditions(_: &str, text: &str) -> Conditions {
    of_text(text).run.conditions
}

#[test]
fn what_a_result_was_made_with_is_read_from_every_format() {
    let sglang = fixture("serve/sglang-0.5.jsonl");
    let more = r#""server_info": {"version": "0.5.6", "disable_cuda_graph": false, "quantization": "fp8", "#;
    let first = sglang.lines().next().unwrap();
    let of = conditions("s.json", &first.replace("\"server_info\": {", more));
    assert_eq!(of.engine.as_deref(), Some("sglang"));
    assert_eq!(of.version.as_deref(), Some("0.5.6"));
    assert_eq!(of.dataset.as_deref(), Some("random"));
    assert_eq!(of.quantisation.as_deref(), Some("fp8"));
    assert_eq!(of.flags["disable_cuda_graph"], "false");
    assert!(!of.engine_by_client);
    // A ratio of 1 is one length in SGLang's words.
    assert!(!of.is_seeded);

    let block = fixture("serve/mxc500-sharegpt-vllm-0.6-block.txt");
    let of = conditions(
        "v.txt",
        &block.replace("backend='vllm',", "backend='vllm', seed=7,"),
    );
    assert_eq!(of.engine.as_deref(), Some("vllm"));
    // `backend` is the client's way of asking; SGLang's `server_info` above is its server's.
    assert!(of.engine_by_client);
    assert_eq!(of.dataset.as_deref(), Some("sharegpt"));
    assert_eq!((of.is_seeded, of.seed), (true, Some(7)));
    // The client's `localhost` names no machine.
    assert_eq!(of.host, None);

    let flat = fixture("serve/rtxpro6000-mig-tp1.json");
    let mut flat: Value = serde_json::from_str(&flat).unwrap();
    for (key, value) in [
        ("engine", json!("SGLang")),
        ("engine_version", json!("v0.5.6+cu129")),
        ("host", json!("node1")),
        ("gpu", json!("NVIDIA L40")),
    ] {
        flat[key] = value;
    }
    let of = conditions("f.json", &flat.to_string());
    assert_eq!(of.engine.as_deref(), Some("sglang"));
    assert_eq!(of.version.as_deref(), Some("0.5.6"));
    let host = of.host.unwrap();
    assert_eq!((host.name.as_str(), host.in_url), ("node1", false));
    assert!(!of.engine_by_client);
    assert_eq!(of.gpus, ["NVIDIA L40"]);
}

#[test]
fn a_record_names_its_servers_machine_and_not_the_clients_where_they_differ() {
    let text = fixture("records/serve.json");
    let record: Value = serde_json::from_str(&text).unwrap();
    let with = |url: &str| {
        let mut record = record.clone();
        record["payload"]["serve"]["target"]["base_url"] = json!(url);
        record["payload"]["serve"]["target"]["server"] = json!("vllm 0.13.0");
        record["header"]["provenance"]["host"] = json!("client7");
        record["header"]["provenance"]["boot_id"] = json!("b00t");
        conditions("r.json", &record.to_string())
    };
    let here = with("http://127.0.0.1:8000").host.unwrap();
    assert_eq!(
        (here.name.as_str(), here.boot.as_deref()),
        ("client7", Some("b00t"))
    );
    let there = with("http://node1:8000/v1");
    let host = there.host.unwrap();
    assert_eq!((host.name.as_str(), &host.boot), ("node1", &None));
    // A record's own machine is one, and what a URL names may be a service on one.
    assert!(host.in_url && !here.in_url);
    // A monitor that saw the server's processes was on its machine: node1 is another name of the machine of that boot.
    let monitored = |processes: Value| {
        let mut record = record.clone();
        record["payload"]["serve"]["target"]["base_url"] = json!("http://node1:8000/v1");
        record["payload"]["serve"]["server"] = json!({"counters": null, "machine": {
            "header": {
                "schema": 1, "program": "p2p-bw", "version": "0", "started": "x", "started_unix_ns": null, "boot_id": "b00t",
                "hz": 2.0, "duration_s": null, "soft_box": null, "devices": [], "processes": processes, "values": [],
                "backend": {"name": "cuda", "driver": null, "interface": null, "management": "nvml"}, "unavailable": [],
            },
            "began_ms": -1.0, "lines": [], "processes": "who listens on port 8000",
        }});
        conditions("r.json", &record.to_string()).host.unwrap()
    };
    let seen = monitored(json!([{"pid": 7, "command": "vllm"}]));
    assert_eq!(seen.is_another(&here), Some(false));
    assert_eq!(monitored(json!([])).boot, None);
    assert_eq!(there.engine.as_deref(), Some("vllm"));
    assert_eq!(there.version.as_deref(), Some("0.13.0"));
}
