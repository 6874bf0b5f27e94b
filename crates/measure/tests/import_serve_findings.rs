//! What in others' serving results contradicts what: on the figures of five boxes that users benchmarked by hand, and on lists.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::Path;

use measure::import::serve::{FindingKind, Latency, ServeResult, across, read_all};
use measure::import::{ImportError, ServeFormat};
use serde_json::{Value, json};

fn all(name: &str) -> Vec<ServeResult> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/serve");
    read_all(&path.join(name)).unwrap()
}

fn fixture(name: &str) -> ServeResult {
    let [one] = <[ServeResult; 1]>::try_from(all(name)).unwrap();
    one
}

fn read_text(name: &str, text: &str) -> Result<Vec<ServeResult>, ImportError> {
    let folder = std::env::temp_dir().join(format!("tplens-findings-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    let results = read_all(&path);
    std::fs::remove_file(path).unwrap();
    results
}

/// The words of the one finding of a kind.
fn words(result: &ServeResult, kind: FindingKind) -> String {
    let found: Vec<&str> = result
        .findings
        .iter()
        .filter(|one| one.kind == kind)
        .map(|one| one.words.as_str())
        .collect();
    assert_eq!(found.len(), 1, "{kind:?} in {:?}", result.findings);
    found[0].to_owned()
}

fn has(result: &ServeResult, kind: FindingKind) -> bool {
    result.findings.iter().any(|one| one.kind == kind)
}

fn assert_says(words: &str, parts: &[&str]) {
    for part in parts {
        assert!(words.contains(part), "no `{part}` in {words}");
    }
}

#[test]
fn a_hundred_asked_for_are_47_to_62_in_flight() {
    // 0.766 * 73.051 = 55.96, 0.869 * 71.212 = 61.88, 0.653 * 71.199 = 46.49.
    for (binding, in_flight, failed, missing) in [
        ("unbound", "56.0", "48 of 474", "474 are counted: 26"),
        ("node0", "61.9", "37 of 480", "480 are counted: 20"),
        ("nodes0-3", "46.5", "37 of 460", "460 are counted: 40"),
    ] {
        let run = fixture(&format!("mxc500-{binding}-evalscope-0.5.txt"));
        let seen = format!("are {in_flight} requests in flight where 100 were asked for");
        assert_says(
            &words(&run, FindingKind::InFlight),
            &[&seen, "failed requests held places"],
        );
        assert_says(&words(&run, FindingKind::FailuresDropped), &[failed]);
        assert_says(
            &words(&run, FindingKind::RequestsMissing),
            &["500 requests", missing],
        );
    }
    // 1.37 * 61.88 = 84.8, where at worst 965 * 100 / 1065 = 90.6 would be left.
    let sweep = fixture("mxc500-c100-evalscope.json");
    assert_says(&words(&sweep, FindingKind::InFlight), &["84.8 requests"]);
}

#[test]
fn a_latency_is_no_ttft_and_one_over_throughput_no_tpot() {
    let text = fixture("mxc500-unbound-evalscope-0.5.txt");
    assert_says(
        &words(&text, FindingKind::LatencyAsTtft),
        &["73.05 s that it calls time to first token"],
    );
    // 1 / 538.497 = 0.001857 s.
    assert_says(
        &words(&text, FindingKind::InverseThroughput),
        &["the 1.86 ms", "1 / 538.50 tokens/s"],
    );
    // 1000 / 385.08 = 2.597 ms.
    let json = fixture("mxc500-c100-evalscope.json");
    assert!(has(&json, FindingKind::LatencyAsTtft) && has(&json, FindingKind::InverseThroughput));
    assert_eq!((json.run.ttft_ms, json.run.tpot_ms), (None, None));
}

#[test]
fn a_burst_that_prefills_to_its_end_has_no_decode_steps() {
    let run = fixture("l40x4-vllm-block.txt");
    // (1,022,592 + 52,897) / 92.72 = 11,599.3 tokens/s; times 0.170 s are 1,971.9.
    assert_says(
        &words(&run, FindingKind::MixedSteps),
        &[
            "TPOT mean 163 ms and ITL median 170 ms",
            "88.3 s into a run of 92.7 s",
            "1972 tokens a step",
        ],
    );
    // 44,668.95 + 162.63 * (52.897 - 1) = 53,109 ms; times 10.785 are 572.8.
    assert!((run.in_flight().unwrap() - 572.8).abs() < 0.1);
    assert_says(&words(&run, FindingKind::PromptLengths), &["1022.592 each"]);
    assert!(!has(&run, FindingKind::FewerOutputTokens));
}

#[test]
fn lengths_are_held_against_the_command_line_of_the_log() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/serve/l40x4-vllm-block.txt");
    let block = std::fs::read_to_string(path).unwrap();
    let line = "Namespace(dataset_name='random', model='openai/gpt-oss-120b', num_prompts=1000, random_input_len=1024, \
                random_output_len=128, random_range_ratio=0.0)\n";
    let results = read_text("asked.txt", &format!("{line}{block}")).unwrap();
    let run = &results[0];
    assert_eq!(run.run.model.as_deref(), Some("openai/gpt-oss-120b"));
    // 1000 * 1024 - 1,022,592 = 1,408, of 1,024,000 0.1375%.
    assert_says(
        &words(run, FindingKind::PromptLengths),
        &["1000 x 1024 = 1024000: 1408 short (0.14%)"],
    );
    // 52,897 / 128,000 = 41.3%.
    assert_says(
        &words(run, FindingKind::FewerOutputTokens),
        &["52897 output tokens came of 128000 asked for (1000 x 128), 41%"],
    );
    // Lengths of a data set are not those of the flags for random ones.
    let sharegpt = fixture("mxc500-sharegpt-vllm-0.6-block.txt");
    assert_eq!(sharegpt.asked.input_tokens, None);
    assert!(!has(&sharegpt, FindingKind::FewerOutputTokens));
}

#[test]
fn a_burst_is_no_rate_and_two_groups_are_no_mean() {
    let run = fixture("h200-mooncake-1k-vllm-0.13.json");
    // 400 / 26.64 = 15.02 of 80, 19%; 400 / 80 = 5 s.
    assert_says(
        &words(&run, FindingKind::BurstNotRate),
        &[
            "15.02 requests/s completed of 80 offered (19%)",
            "within 5.0 s and took 26.6 s",
            "burst of 400",
        ],
    );
    assert_says(
        &words(&run, FindingKind::SecondWave),
        &[
            "mean of 3798 ms beside a median of 170 ms",
            "90th percentile 11270 ms",
        ],
    );
    assert_eq!(run.p90(Latency::E2el), None);
    assert_eq!(run.findings.len(), 2, "{:?}", run.findings);
}

#[test]
fn what_is_right_has_no_findings() {
    for name in ["rtxpro6000-mig-tp2.json", "r9700-c-8b-tp1-np1.json"] {
        assert_eq!(fixture(name).findings, [], "{name}");
    }
}

#[test]
fn a_latency_over_its_tokens_is_no_tpot() {
    // 15,724.2 / 256 = 61.4227 ms.
    let run = fixture("rtxpro6000-mig-tp1.json");
    assert_says(
        &words(&run, FindingKind::LatencyPerToken),
        &["the 61.42 ms", "whole latency of 15.72 s over 256 tokens"],
    );
    assert_eq!(run.findings.len(), 1, "{:?}", run.findings);
    assert_eq!(run.run.tpot_ms, None);
}

#[test]
fn all_six_rows_of_two_connectors_are_bursts_of_which_five_have_a_second_wave() {
    let mut rows = all("h200-mooncake-vllm-0.13.jsonl");
    rows.extend(all("h200-nixl-vllm-0.13-blocks.txt"));
    // Requests over duration; offered; its part: 400 / 26.64 = 15.02 of 80 is 19%, 360 / 30.95 = 11.63 of 72 is 16%,
    // 325 / 36.78 = 8.84 of 65 is 14%, 225 / 54.76 = 4.11 of 45 is 9%, 400 / 26.60 = 15.04 is 19%, 360 / 30.76 = 11.70 is 16%.
    let expected = [
        (
            "15.02",
            80.0,
            "19%",
            Some("mean of 3798 ms beside a median of 170 ms"),
        ),
        (
            "11.63",
            72.0,
            "16%",
            Some("mean of 4015 ms beside a median of 116 ms"),
        ),
        (
            "8.84",
            65.0,
            "14%",
            Some("mean of 3876 ms beside a median of 140 ms"),
        ),
        ("4.11", 45.0, "9%", None),
        (
            "15.04",
            80.0,
            "19%",
            Some("mean of 3832 ms beside a median of 175 ms"),
        ),
        (
            "11.70",
            72.0,
            "16%",
            Some("mean of 3986 ms beside a median of 125 ms"),
        ),
    ];
    assert_eq!(rows.len(), expected.len());
    for (row, (rate, offered, part, wave)) in rows.iter().zip(expected) {
        assert_eq!(row.run.request_rate_asked, Some(offered));
        assert_eq!(row.output_each(), Some(1024.0));
        let burst = format!("{rate} requests/s completed of {offered} offered ({part})");
        assert_says(&words(row, FindingKind::BurstNotRate), &[&burst]);
        match wave {
            Some(wave) => assert_says(&words(row, FindingKind::SecondWave), &[wave]),
            None => assert!(!has(row, FindingKind::SecondWave), "{:?}", row.findings),
        }
    }
    // 15.015 * 16.67943 = 250.4 in flight in the mean of the 400 that came within 5 s.
    assert!((rows[0].in_flight().unwrap() - 250.4).abs() < 0.1);
    assert_eq!(across(&rows).len(), 0);
}

#[test]
fn a_sweep_whose_long_replies_fail_has_survivors_and_a_limit() {
    let rows = all("mxc500-sweep-evalscope.jsonl");
    // Requests/s times latency: 7.7, 15.7, 31.3, 59.5, 84.8, 96.7, 104.7, 108.0.
    let short = [64.0, 100.0, 128.0, 150.0, 200.0].map(Some);
    for row in &rows {
        let asked = row.run.concurrency_asked;
        let failed = row.run.failed.unwrap();
        // 0.37 * 20.94 = 7.75 of 8 and 31.3 of 32 are in order; 1.08 * 55.09 = 59.5 of 64 is, as 986 * 64 / 1050 = 60.1 less 5%.
        let is_less = asked >= Some(100.0);
        assert_eq!(
            has(row, FindingKind::InFlight),
            is_less,
            "{:?}",
            row.findings
        );
        // Above 1% of 1000.
        assert_eq!(has(row, FindingKind::FailuresDropped), failed > 10);
        assert_eq!(failed > 10, short.contains(&asked));
        assert!(has(row, FindingKind::LatencyAsTtft) && has(row, FindingKind::InverseThroughput));
    }
    let found = across(&rows);
    let kinds: Vec<FindingKind> = found.iter().map(|one| one.kind).collect();
    assert_eq!(kinds, [FindingKind::Survivors, FindingKind::Saturated]);
    // 109.62 / 0.37 = 296.3 and 364.43 / 1.47 = 247.9 tokens.
    assert_says(
        &found[0].words,
        &[
            "fall from 296 tokens at 8 in flight to 248 at 200",
            "from 0.0% to 16.4%",
        ],
    );
    // 1.48 less 5% is 1.41: 1.37 at 100 is below, 1.44 at 128 is not.
    assert_says(&found[1].words, &["from 128 in flight", "1.47 at 200"]);
}

#[test]
fn an_unlimited_burst_of_long_prompts_waits_and_is_mixed() {
    let run = fixture("mxc500-sharegpt-unlimited-vllm-0.6-block.txt");
    // 2.60 * (129.740 + 0.48716 * (197.2 - 1)) = 585.9 in flight of 1000 that came at once.
    assert!(
        (run.in_flight().unwrap() - 585.9).abs() < 0.5,
        "{:?}",
        run.in_flight()
    );
    assert_eq!(run.run.request_rate_asked, Some(f64::INFINITY));
}

#[test]
fn two_blocks_of_a_log_are_two_results_and_the_steady_state_is_neither() {
    let results = all("vllm-rs-0.33-two-blocks.txt");
    let seen: Vec<(u64, f64)> = results
        .iter()
        .map(|one| (one.run.completed, one.run.ttft_ms.unwrap().mean))
        .collect();
    assert_eq!(seen, [(40, 50.0), (80, 50.0)]);
    assert!(results[1].run.origin.ends_with("blocks.txt#2"));
    assert_eq!(results[0].p90(Latency::Ttft), Some(51.0));
    assert_eq!(results[0].run.concurrency_asked, Some(4.0));
}

#[test]
fn sglang_appends_results_and_counts_what_it_asked_for() {
    let results = all("sglang-0.5.jsonl");
    assert_eq!(results.len(), 2);
    let run = &results[0].run;
    assert_eq!((run.format, run.tp), (ServeFormat::Sglang, Some(2)));
    assert_eq!(run.model.as_deref(), Some("org/mock-model"));
    // Infinite with a limit is a closed loop.
    assert_eq!(
        (run.concurrency_asked, run.request_rate_asked),
        (Some(4.0), None)
    );
    let e2el = run.e2el_ms.unwrap();
    assert_eq!((e2el.mean, e2el.p99), (1310.0, Some(1315.0)));
    assert_eq!(results[0].asked.input_tokens, Some(128));
    assert_eq!(results[0].findings, []);
    assert_says(
        &words(&results[1], FindingKind::TokensAsAsked),
        &["2560 output tokens", "re-encodes to 1280"],
    );
}

#[test]
fn evalscope_that_streams_is_believed_where_its_figures_agree() {
    let run = fixture("evalscope-1.x-streamed.json").run;
    // 50 + 20 * 63 = 1310 ms.
    assert!(run.streamed);
    assert!((run.ttft_ms.unwrap().mean - 50.0).abs() < 1e-9);
    assert!((run.tpot_ms.unwrap().mean - 20.0).abs() < 1e-9);
    assert_eq!(run.output_tokens, Some(2560));
}

/// Eight requests, one each second: TTFT 50 ms, two gaps of 20 ms, three tokens; a ninth failed.
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

fn of_json(value: &Value) -> ServeResult {
    read_text("detailed.json", &value.to_string())
        .unwrap()
        .remove(0)
}

#[test]
fn lists_become_requests_with_intervals_and_every_statistic_is_worked_out_again() {
    let result = of_json(&detailed());
    assert_eq!(result.requests.len(), 8);
    assert!(result.clocked);
    // The third began 2 * 90 ms after the first and had its first token 50 ms later.
    assert!((result.requests[2].sent_ms - 180.0).abs() < 1e-6);
    assert!((result.requests[2].token_chunks_ms[0] - 230.0).abs() < 1e-6);
    assert_eq!(result.values(Latency::Itl).concat().len(), 16);
    let e2el = result.run.e2el_ms.unwrap();
    assert!((e2el.mean_interval.unwrap().low - 90.0).abs() < 1e-6);
    // One of nine failed; nothing else is wrong.
    assert_eq!(result.findings.len(), 1, "{:?}", result.findings);
    assert!(has(&result, FindingKind::FailuresDropped));

    for (key, wrong, said) in [
        (
            "mean_tpot_ms",
            json!(25.05),
            "another TPOT: mean_tpot_ms is 25.05 and theirs 20.00",
        ),
        (
            "p99_ttft_ms",
            json!(60.0),
            "another TTFT: p99_ttft_ms is 60.00 and theirs 50.00",
        ),
        (
            "total_output_tokens",
            json!(25),
            "total_output_tokens is 25 and theirs 24",
        ),
    ] {
        let mut value = detailed();
        value[key] = wrong;
        let result = of_json(&value);
        let kind = match key {
            "total_output_tokens" => FindingKind::Counts,
            // A quarter more is no rounding.
            "mean_tpot_ms" => FindingKind::Impossible,
            _ => FindingKind::Lists,
        };
        assert_says(&words(&result, kind), &[said]);
    }
    // Two that touch one second were never at once.
    let mut value = detailed();
    value["max_concurrent_requests"] = json!(2);
    assert_says(
        &words(&of_json(&value), FindingKind::Peak),
        &["a peak of 2 requests at once", "which have 1"],
    );
}

#[test]
fn appended_results_are_numbered_and_what_is_none_names_its_file() {
    let lines = format!("{}\n{}\n", detailed(), detailed());
    let results = read_text("appended.jsonl", &lines).unwrap();
    assert_eq!(results.len(), 2);
    assert!(results[1].run.origin.ends_with("appended.jsonl#2"));
    let error = read_text("half.jsonl", &format!("{}\nnonsense\n", detailed())).unwrap_err();
    assert!(error.to_string().contains("line 2 is none"), "{error}");
}

#[test]
fn times_that_do_not_make_the_latency_have_another_unit() {
    // 20 + 7 * 10 = 90 ms.
    let file = |ttft: f64| {
        json!({
            "duration": 2.0, "completed": 16, "total_input_tokens": 160, "total_output_tokens": 128,
            "request_throughput": 8.0, "output_throughput": 64.0,
            "mean_ttft_ms": ttft, "median_ttft_ms": ttft, "mean_tpot_ms": 10.0, "median_tpot_ms": 10.0,
            "mean_e2el_ms": 90.0, "median_e2el_ms": 90.0,
        })
        .to_string()
    };
    let read = |ttft| read_text("times.json", &file(ttft)).unwrap().remove(0);
    assert!(!has(&read(20.0), FindingKind::Parts));
    assert_says(
        &words(&read(223.0), FindingKind::Parts),
        &["223.000 ms is above", "90.000 ms"],
    );
    // Seconds: 0.02 + 70 is 22% below 90, more than half of it is needed where lengths differ; in milliseconds of 5 per token 35.02.
    let seconds = file(0.02).replace("10.0", "5.0");
    let found = read_text("times.json", &seconds).unwrap().remove(0);
    assert_says(
        &words(&found, FindingKind::Parts),
        &["7.0 times TPOT 5.000 ms are 35.020 ms"],
    );
}

#[test]
fn a_total_of_other_tokens_is_told() {
    // 16 x (10 + 8) = 288 and not 400.
    let value = json!({
        "completed": 16, "failed": 0, "concurrency": 4, "requests_per_s": 4.0, "latency_mean_s": 1.0, "duration_s": 4.0,
        "input_tokens_total": 160, "total_output_tokens": 128, "total_tokens": 400,
    });
    let result = of_json(&value);
    assert_says(
        &words(&result, FindingKind::TotalTokens),
        &["total_tokens is 400", "160 + 128 = 288"],
    );
}

#[test]
fn a_median_itl_without_its_mean_is_told_as_not_taken() {
    // 100 + 10 * 90 = 1000 ms, the mean latency, so that the times are of a stream.
    let text = r#"{"completed": 4, "duration_s": 2.0, "latency_mean_s": 1.0, "output_len": 11,
        "mean_ttft_ms": 100, "mean_tpot_ms": 90, "median_itl_ms": 84}"#;
    let result = read_text("median.json", text).unwrap().remove(0);
    assert_eq!(result.run.itl_ms, None);
    assert_eq!(
        words(&result, FindingKind::MedianAlone),
        "median_itl_ms stands without a mean ITL and is not taken: give the mean beside it (mean_itl_ms)"
    );
}
