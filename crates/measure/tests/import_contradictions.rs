//! Files that contradict themselves, are cut, or come from other systems, and what results say that they were made with.
//! Long because each case writes a healthy file and breaks one figure of it, by the same few helpers.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::{Path, PathBuf};

use measure::import::collectives::{self, CallFile};
use measure::import::serve::{self, Conditions};
use measure::import::{ImportError, ServeRun};
use serde_json::{Value, json};

/// A file in a folder of its test's own, since tests run at once and give names twice.
fn file(name: &str, text: &str) -> PathBuf {
    let (process, thread) = (std::process::id(), std::thread::current().id());
    let folder = std::env::temp_dir().join(format!("tplens-contradictions-{process}-{thread:?}"));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

fn run(name: &str, text: &str) -> Result<ServeRun, ImportError> {
    let path = file(name, text);
    let run = serve::read(&path);
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    run
}

#[track_caller]
fn refused<T>(found: Result<T, ImportError>, parts: &[&str]) {
    let words = found.map(|_| ()).unwrap_err().to_string();
    for part in parts {
        assert!(words.contains(part), "no {part} in {words}");
    }
}

fn calls(name: &str, text: &str) -> Result<(CallFile, Vec<String>), ImportError> {
    let path = file(name, text);
    let read = collectives::read_file(&path);
    let troubles = collectives::troubles(&path);
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    let words = troubles?.into_iter().map(|trouble| {
        assert!(!trouble.wrong_data, "{}", trouble.words);
        trouble.words
    });
    Ok((read?, words.collect()))
}

/// Four requests of 8 tokens in and 4 out, as vLLM 0.32 saved them.
fn detailed() -> Value {
    serde_json::from_str(&fixture("serve/vllm-0.32-detailed.json")).unwrap()
}

#[test]
fn lists_that_hold_other_than_the_requests_that_are_said_are_refused_with_both_counts() {
    assert!(run("whole.json", &detailed().to_string()).is_ok());
    let mut cut = detailed();
    cut["ttfts"].as_array_mut().unwrap().truncate(3);
    refused(
        run("cut.json", &cut.to_string()),
        &["contradicts itself", "`ttfts` holds 3 requests", "`itls` 4"],
    );
    let mut less = detailed();
    for list in [
        "ttfts",
        "itls",
        "output_lens",
        "input_lens",
        "errors",
        "latencies",
        "start_times",
    ] {
        less[list].as_array_mut().unwrap().truncate(3);
    }
    refused(
        run("less.json", &less.to_string()),
        &["4 requests completed and 0 failed, and its lists hold 3"],
    );
    let mut tokens = detailed();
    // The rates go with the total, so that the lists alone contradict it: 24 / 0.149849 s = 160.16, with 32 in 373.71.
    tokens["total_output_tokens"] = json!(24);
    tokens["output_throughput"] = json!(160.16);
    tokens["total_token_throughput"] = json!(373.71);
    refused(
        run("tokens.json", &tokens.to_string()),
        &["total_output_tokens is 24 and theirs 16"],
    );
}

#[test]
fn rates_that_are_not_the_totals_over_the_duration_are_refused() {
    let text = fixture("serve/h200-mooncake-1k-vllm-0.13.json");
    assert!(run("good.json", &text).is_ok());
    let mut value: Value = serde_json::from_str(&text).unwrap();
    // 409600 tokens / 26.64 s = 15375.4; printed from a longer duration as 15377.35.
    value["output_throughput"] = json!(23_066.0);
    refused(
        run("rate.json", &value.to_string()),
        &["23066.00 output tokens/s are said and the totals over the duration are 15375.38"],
    );
}

/// Field case 2 at TP2: 64 requests of 256 tokens in 47.0797 s, 11.7622 s each.
fn flat(changed: &[(&str, Value)]) -> Result<ServeRun, ImportError> {
    let mut value = json!({
        "model": "Qwen2.5-VL-72B-Instruct-FP8", "concurrency": 16, "completed": 64, "failed": 0, "max_tokens": 256,
        "requests_per_s": 1.3594, "prompt_tokens_per_s": 120.9863, "output_tokens_per_s": 348.0055,
        "latency_p50_s": 11.7613, "latency_p95_s": 11.7944, "latency_mean_s": 11.7622, "latency_min_s": 11.7284,
        "latency_max_s": 11.7997, "ms_per_output_token": 45.946, "total_time_s": 47.0797,
    });
    for (key, one) in changed {
        value[*key] = one.clone();
    }
    run("flat.json", &value.to_string())
}

#[test]
fn figures_of_a_flat_file_that_no_run_can_have_together_are_refused_with_both() {
    assert!(flat(&[]).is_ok());
    // 948 tokens/s over 47.0797 s are 44632 tokens; 64 requests of 256 are 16384.
    refused(
        flat(&[("output_tokens_per_s", json!(948.0))]),
        &[
            "contradicts itself",
            "make 44632 output tokens",
            "at most are 16384",
        ],
    );
    // 255 x 51 ms are 13.005 s; latencies were 11.7622 s. 30 ms leave 4.1 s for the first token, which can be.
    refused(
        flat(&[("ms_per_output_token", json!(51.0))]),
        &[
            "51.000 ms per output token, 255.0 times after the first, are 13005.0 ms",
            "11762.2 ms",
        ],
    );
    assert!(flat(&[("ms_per_output_token", json!(30.0))]).is_ok());
    // 1 / 348.0055 s is the pace of all together under that name, which is told and no contradiction.
    assert!(flat(&[("ms_per_output_token", json!(2.8735))]).is_ok());
    // 2000 + 255 x 20 = 7100 ms; with 2000 + 255 x 38.283 = 11762 it is a stream.
    let stream = |tpot: f64| {
        flat(&[
            ("ttft_mean_s", json!(2.0)),
            ("ms_per_output_token", json!(tpot)),
        ])
    };
    refused(
        stream(20.0),
        &["are 7100.0 ms", "the mean latency is 11762.2 ms"],
    );
    assert!(stream(38.283).unwrap().streamed);
    refused(
        flat(&[("latency_max_s", json!(60.0))]),
        &["the largest latency is 60.000 s and the whole run took 47.080 s"],
    );
    refused(
        flat(&[("latency_p95_s", json!(20.0))]),
        &["latency_max_s is 11.7997", "latency_p95_s, which is 20.0"],
    );
    for (key, value, says) in [
        (
            "ttft_ms",
            20_000.0,
            "the time to first token is 20.000 s and the mean latency is 11.762 s",
        ),
        (
            "ttft_s",
            600.0,
            "the time to first token is 600.000 s and the whole run took 47.080 s",
        ),
    ] {
        refused(
            flat(&[(key, json!(value))]),
            &[says, "these cannot all be true"],
        );
    }
}

/// 255 x 4.6 ms are 1173 ms of 11762.2: a wait of 10.6 s for a slot can be, and a misplaced point, too.
#[test]
fn a_pace_that_leaves_most_of_the_latency_to_the_first_token_is_a_doubt() {
    let run = flat(&[("ms_per_output_token", json!(4.6))]).unwrap();
    let doubts = run.conditions.doubts;
    assert_eq!(doubts.len(), 1, "{doubts:?}");
    for says in [
        "are 1173.0 ms of a mean latency of 11762.2 ms",
        "the other 10589.2 ms",
    ] {
        assert!(doubts[0].contains(says), "{doubts:?}");
    }
    assert_eq!(flat(&[]).unwrap().conditions.doubts, Vec::<String>::new());
}

/// Clients round the duration or cut it off: 16 requests of 256 in 11.76 s are 12 s, and 348.3 x 12 tokens are 4180, 2% above 4096.
#[test]
fn a_duration_in_whole_seconds_is_right_to_its_digits() {
    let short = |seconds: f64, printed: Value| {
        flat(&[
            ("completed", json!(16)),
            ("requests_per_s", json!(16.0 / seconds)),
            ("prompt_tokens_per_s", json!(16.0 * 89.0 / seconds)),
            ("output_tokens_per_s", json!(4096.0 / seconds)),
            ("latency_p50_s", json!(seconds - 0.02)),
            ("latency_p95_s", json!(seconds - 0.01)),
            ("latency_mean_s", json!(seconds - 0.02)),
            ("latency_min_s", json!(seconds - 0.03)),
            ("latency_max_s", json!(seconds - 0.01)),
            ("total_time_s", printed),
        ])
    };
    for (seconds, printed) in [(11.76, json!(12)), (11.53, json!(12)), (15.86, json!(15))] {
        assert!(
            short(seconds, printed.clone()).is_ok(),
            "{seconds} as {printed}"
        );
    }
    // Printed with two digits it is no rounding: 4096 / 11.4 x 12 are 4312, 5% above.
    refused(short(11.3, json!(12.03)), &["requests_per_s"]);
}

/// 1.3594 x 47.0797 are 64 requests.
#[test]
fn a_rate_of_other_requests_than_were_sent_is_said_with_both() {
    let sent = |sent: u64| {
        let gone = [("completed", Value::Null), ("failed", Value::Null)];
        flat(&[&gone[..], &[("num_requests", json!(sent))]].concat())
    };
    assert!(sent(64).is_ok());
    refused(
        sent(32),
        &[
            "requests_per_s is 1.3594",
            "num_requests",
            "they make 64.0, and that is 32: one of the three is wrong",
        ],
    );
    refused(
        sent(128),
        &["they make 64.0, and that is 128: if the others failed, add \"completed\" or \"failed\""],
    );
}

#[test]
fn requests_completed_and_failed_are_those_that_were_sent() {
    let of = |sent: u64, completed: u64, failed: Value| {
        flat(&[
            ("num_requests", json!(sent)),
            ("completed", json!(completed)),
            ("failed", failed),
        ])
    };
    assert_eq!(of(64, 64, json!(0)).unwrap().failed, Some(0));
    // Without a count of failures, those that did not complete failed: 70 - 64.
    assert_eq!(of(70, 64, Value::Null).unwrap().failed, Some(6));
    for (sent, failed) in [(6400, 0), (70, 0), (32, 0), (64, 5)] {
        refused(
            of(sent, 64, json!(failed)),
            &[
                "completed is 64; expected it and",
                &format!("failed, which is {failed}, to make num_requests, which is {sent}"),
            ],
        );
    }
    refused(
        of(32, 64, Value::Null),
        &["completed is 64; expected no more than num_requests, which is 32"],
    );
}

/// 255 gaps of 45 ms after a first token of 287.2 ms are 11762.2 ms, the mean latency.
fn streaming(changed: &[(&str, Value)]) -> Result<ServeRun, ImportError> {
    let own = [
        ("ms_per_output_token", Value::Null),
        ("ttft_mean_ms", json!(287.2)),
        ("tpot_mean_ms", json!(45.0)),
    ];
    flat(&[&own[..], changed].concat())
}

#[test]
fn a_first_token_in_a_part_of_a_step_is_refused_with_both_times() {
    assert!(streaming(&[]).unwrap().streamed);
    // 0.2872 s under the name of ms: (11762.2 - 0.287) / 255 = 46.1 ms a token, or 45 as it says where the times still fit.
    for tpot in [json!(45.0), json!(46.12)] {
        refused(
            streaming(&[("ttft_mean_ms", json!(0.2872)), ("tpot_mean_ms", tpot)]),
            &["the mean time to first token is 0.287 ms", "another unit"],
        );
    }
    // As long as a step is what a prompt of few tokens takes.
    assert!(
        streaming(&[
            ("ttft_mean_ms", json!(46.0)),
            ("tpot_mean_ms", json!(45.946))
        ])
        .is_ok()
    );
}

#[test]
fn two_keys_of_one_time_that_differ_are_refused_and_what_is_no_time_is_named() {
    let mean = ("mean_itl_ms", json!(45.0));
    let read = |median: Value| streaming(&[mean.clone(), ("median_itl_ms", median)]).unwrap();
    assert_eq!(read(json!(44.0)).itl_ms.unwrap().median, Some(44.0));
    refused(
        streaming(&[
            mean.clone(),
            ("itl_p50_ms", json!(44.0)),
            ("median_itl_ms", json!(40.0)),
        ]),
        &["median_itl_ms is 40", "the same as itl_p50_ms, which is 44"],
    );
    for (given, words) in [
        (
            json!("x"),
            "median_itl_ms is not taken: it is \"x\", no number: write one",
        ),
        (
            json!(-1.0),
            "median_itl_ms is not taken: it is -1.0, no time above zero: write the one that was measured",
        ),
    ] {
        let run = read(given);
        assert_eq!(run.itl_ms.unwrap().median, None);
        assert_eq!(run.conditions.not_taken, [words]);
    }
    let run = streaming(&[mean.clone(), ("median_itl", json!(44.0))]).unwrap();
    assert_eq!(
        run.conditions.not_taken,
        [
            "median_itl is not taken: it is 44.0, a time whose unit nothing tells: write it into the key, with _ms or _s"
        ]
    );
    // Half of the gaps at 95 ms or more make a mean of 47.5 at least.
    refused(
        streaming(&[mean, ("median_itl_ms", json!(95.0))]),
        &["the median gap between tokens (ITL) is 95.000 ms and their mean 45.000 ms"],
    );
}

#[test]
fn lists_and_totals_of_a_flat_file_must_make_its_figures() {
    let latencies = |each: f64, n: usize| json!(vec![each; n]);
    assert!(flat(&[("latencies_s", latencies(11.7622, 64))]).is_ok());
    // Without a unit in the key they may be in either.
    assert!(flat(&[("latencies", latencies(11762.2, 64))]).is_ok());
    refused(
        flat(&[("latencies_s", latencies(30.0, 64))]),
        &["latencies_s is a list: their mean is 30.0000", "11.7622 s"],
    );
    refused(
        flat(&[("latencies_s", latencies(11.7622, 63))]),
        &["it holds 63", "64 completed requests"],
    );
    assert!(flat(&[("output_lens", json!(vec![256; 64]))]).is_ok());
    // 64 x 200 = 12800 of 348.0055 x 47.0797 = 16384.
    refused(
        flat(&[("output_lens", json!(vec![200; 64]))]),
        &["they sum to 12800", "the 16384 output tokens"],
    );
    // 120.9863 x 47.0797 = 5696 prompt tokens: 22080 together.
    assert!(flat(&[("total_tokens", json!(22_080))]).is_ok());
    // Nothing is taken from it, and servers count a chat template, too.
    assert!(flat(&[("total_tokens", json!(24_512))]).is_ok());
    // The mean of all that were sent is not that of the others.
    let failed = [latencies(11.7622, 64), latencies(60.0, 4)];
    let failed: Vec<Value> = failed
        .iter()
        .flat_map(|one| one.as_array().unwrap().clone())
        .collect();
    let with_failed = flat(&[("failed", json!(4)), ("latencies_s", json!(failed))]);
    assert_eq!(with_failed.unwrap().failed, Some(4));
    // 89 prompt tokens each; a template adds some, and 1000 are other prompts.
    assert!(flat(&[("input_lens", json!(vec![60; 64]))]).is_ok());
    refused(
        flat(&[("input_lens", json!(vec![1000; 64]))]),
        &[
            "input_lens is a list: they sum to 64000",
            "5696 prompt tokens",
        ],
    );
}

#[test]
fn utf_16_is_named_with_what_to_do() {
    let text = fixture("serve/rtxpro6000-mig-tp1.json");
    let units: Vec<u16> = text.encode_utf16().collect();
    let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
    let marked = [&[0xff, 0xfe][..], &little].concat();
    for (name, bytes) in [
        ("le.json", little),
        ("be.json", big),
        ("marked.json", marked),
    ] {
        let path = file(name, "");
        std::fs::write(&path, bytes).unwrap();
        refused(
            serve::read(&path),
            &[&format!("{name}: it is UTF-16 text; save it as UTF-8")],
        );
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }
}

#[test]
fn a_record_whose_summary_is_not_of_its_own_requests_is_refused_with_both_counts() {
    let text = fixture("records/serve.json");
    let record: Value = serde_json::from_str(&text).unwrap();
    let requests = record["payload"]["serve"]["requests"].as_array().unwrap();
    let (all, failed) = (
        requests.len(),
        requests
            .iter()
            .filter(|one| !one["error"].is_null())
            .count(),
    );
    assert!(run("whole.json", &text).is_ok());
    let mut cut = record.clone();
    let list = cut["payload"]["serve"]["requests"].as_array_mut().unwrap();
    let first = list.iter().position(|one| one["error"].is_null()).unwrap();
    list.push(list[first].clone());
    refused(
        run("more.json", &cut.to_string()),
        &[
            "contradicts itself",
            &format!("its own {} requests", all + 1),
            &format!(
                "it says {} requests completed and theirs are {}",
                all - failed,
                all - failed + 1
            ),
        ],
    );
    let mut none = record;
    none["payload"]["serve"]["requests"] = json!([]);
    refused(
        run("none.json", &none.to_string()),
        &[
            &format!("says that {} requests completed", all - failed),
            "its own 0 requests",
        ],
    );
}

#[test]
fn a_row_of_nccl_tests_whose_bandwidth_is_not_size_over_time_is_refused() {
    let text = fixture("collectives/nccl-tests-2.19.6.txt");
    assert!(calls("good.txt", &text).is_ok());
    // 1048576 B / 12.268 us = 85.47 GB/s, where the row says 8.55.
    let wrong = text.replace("122.68", "12.268");
    refused(
        calls("wrong.txt", &wrong),
        &[
            "algbw of line 14, 1048576 bytes,",
            "8.55 GB/s",
            "85.47 GB/s",
            "12.268 us",
        ],
    );
    // 8.55 * 1.04 = 8.89 is within 5% and 8.55 * 1.06 = 9.06 is not.
    assert!(calls("near.txt", &text.replace("8.55", "8.89")).is_ok());
    refused(
        calls("far.txt", &text.replace("8.55", "9.06")),
        &["9.06 GB/s", "8.55 GB/s"],
    );
}

#[test]
fn a_cut_file_of_nccl_tests_is_taken_as_far_as_it_goes_and_says_so() {
    let text = fixture("collectives/nccl-tests-2.19.6.txt");
    let (_, troubles) = calls("whole.txt", &text).unwrap();
    assert_eq!(troubles, Vec::<String>::new());
    let before = |end: &str| text.split_once(end).unwrap().0.to_owned();
    // Without its last row and the lines below.
    let (file, troubles) = calls("cut.txt", &before("     1048576        262144")).unwrap();
    assert_eq!(file.curve().len(), 2);
    assert_eq!(troubles.len(), 1, "{troubles:?}");
    assert!(
        troubles[0].contains(
            "cut.txt is cut: its head says sizes up to 1048576 bytes and it ends at 262144,"
        ),
        "{troubles:?}"
    );
    // In the middle of its last row.
    let torn = format!(
        "{}     1048576        262144     float",
        before("     1048576        262144")
    );
    let (file, troubles) = calls("torn.txt", &torn).unwrap();
    assert_eq!(file.curve().len(), 2);
    assert!(
        troubles[0].contains("with line 14 cut in its middle"),
        "{troubles:?}"
    );
    // A row that was taken out above lines that are there: 262144 * 2 = 524288 was still to come.
    let out = text.replace(
        "     1048576        262144     float     sum      -1   122.68    8.55    8.55       0   122.68    8.55    8.55       0\n",
        "",
    );
    let (_, troubles) = calls("out.txt", &out).unwrap();
    assert!(troubles[0].contains("ends at 262144"), "{troubles:?}");
    // A row without a time in the middle is no cut.
    let bad = text.replace("30.67", "fast");
    refused(calls("bad.txt", &bad), &["line 13"]);
}

#[test]
fn marks_of_encoding_and_ends_of_lines_of_windows_are_no_part_of_a_file() {
    let csv = "op,ranks,bytes,us\nall_reduce,2,8192,19\n";
    let nccl = fixture("collectives/nccl-tests-2.19.6.txt");
    let json = fixture("collectives/nccl-tests-2.19.6.json");
    for (name, text) in [
        ("c.csv", csv),
        ("n.txt", nccl.as_str()),
        ("n.json", json.as_str()),
    ] {
        let curve = |text: &str| calls(name, text).unwrap().0.curve();
        let windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        assert_eq!(curve(&windows), curve(text), "{name}");
    }
    for name in ["rtxpro6000-mig-tp1.json", "vllm-0.32-block.txt"] {
        let text = fixture(&format!("serve/{name}"));
        let windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        assert_eq!(run(name, &windows).unwrap(), run(name, &text).unwrap());
    }
}

fn conditions(name: &str, text: &str) -> Conditions {
    run(name, text).unwrap().conditions
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
        ("Engine", json!("SGLang")),
        ("engine version", json!("v0.5.6+cu129")),
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
