//! Serving results of other tools: every fixture is taken, and what cannot be is refused by name.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::{Path, PathBuf};

use measure::import::serve::{Samples, accepted_keys, read, samples};
use measure::import::{ImportError, ServeFormat, ServeRun};

fn fixture(name: &str) -> ServeRun {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/serve");
    read(&path.join(name)).unwrap()
}

/// What reading a file of this text says.
fn read_text(name: &str, text: &str) -> Result<ServeRun, ImportError> {
    let folder = std::env::temp_dir().join(format!("tplens-serve-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path: PathBuf = folder.join(name);
    std::fs::write(&path, text).unwrap();
    let run = read(&path);
    std::fs::remove_file(path).unwrap();
    run
}

fn refusal(name: &str, text: &str) -> String {
    let words = read_text(name, text).unwrap_err().to_string();
    // The folder's name differs from run to run.
    words.split_once(name).unwrap().1.to_owned()
}

fn near(value: f64, expected: f64) -> bool {
    (value - expected).abs() <= 1e-9 * expected.abs()
}

#[test]
fn the_printed_block_of_an_old_vllm_gives_its_figures() {
    let run = fixture("l40x4-vllm-block.txt");
    assert_eq!(run.format, ServeFormat::Vllm);
    assert!(run.streamed);
    assert_eq!((run.completed, run.failed), (1000, None));
    assert_eq!(run.duration_s, 92.72);
    // 1000 / 92.72 = 10.785; the block shows 10.79.
    assert!((run.requests_per_s - 10.7852).abs() < 1e-3);
    assert_eq!(
        (run.input_tokens, run.output_tokens),
        (Some(1_022_592), Some(52_897))
    );
    // All at once, nobody bounded.
    assert_eq!(
        (run.concurrency_asked, run.request_rate_asked),
        (None, Some(f64::INFINITY))
    );
    let ttft = run.ttft_ms.unwrap();
    assert_eq!(
        (ttft.n, ttft.mean, ttft.median, ttft.p99),
        (Some(1000), 44_668.95, Some(44_620.76), Some(88_297.92))
    );
    let tpot = run.tpot_ms.unwrap();
    // How many requests had two tokens is not said.
    assert_eq!((tpot.n, tpot.mean), (None, 162.63));
    assert_eq!(run.itl_ms.unwrap().p99, Some(173.31));
    assert_eq!((run.e2el_ms, run.fixed_output), (None, None));
}

#[test]
fn two_dialects_of_a_flat_summary_give_the_same_kinds_of_numbers() {
    let (one, two) = (
        fixture("rtxpro6000-mig-tp1.json"),
        fixture("rtxpro6000-mig-tp2.json"),
    );
    for (run, tp, duration, mean_ms, median_ms) in [
        (&one, 1, 62.9261, 15_724.2, 15_692.3),
        (&two, 2, 47.0797, 11_762.2, 11_761.3),
    ] {
        assert_eq!(run.format, ServeFormat::Summary);
        assert!(!run.streamed);
        assert_eq!(run.tp, Some(tp));
        assert_eq!(run.concurrency_asked, Some(16.0));
        assert_eq!((run.completed, run.failed), (64, None));
        assert_eq!(run.duration_s, duration);
        assert!(near(run.requests_per_s, 64.0 / duration));
        // 260.3688 * 62.9261 = 16,383.99 and 348.0055 * 47.0797 = 16,384.0: 64 requests of 256 tokens, none could give more.
        assert_eq!(run.output_tokens, Some(16_384));
        assert_eq!(
            (run.output_tokens_asked, run.fixed_output),
            (Some(256), Some(true))
        );
        // 90.5189 * 62.9261 = 5,696.0 and 120.9863 * 47.0797 = 5,696.0: 64 * 89.
        assert_eq!(run.input_tokens, Some(5696));
        let e2el = run.e2el_ms.unwrap();
        assert!(near(e2el.mean, mean_ms) && near(e2el.median.unwrap(), median_ms));
        assert_eq!((e2el.n, e2el.mean_interval), (Some(64), None));
        assert_eq!((run.ttft_ms, run.tpot_ms), (None, None));
    }
    // 47.0797 against 62.9261 s: the 1.34x of the field.
    assert!((two.requests_per_s / one.requests_per_s - 1.3366).abs() < 1e-4);
}

#[test]
fn a_vllm_file_without_a_count_of_failures_has_it_from_what_was_sent() {
    let run = fixture("r9700-c-8b-tp1-np1.json");
    assert_eq!((run.completed, run.failed), (1, Some(0)));
    assert_eq!(run.model.as_deref(), Some("meta-llama/Llama-3.1-8B"));
    assert_eq!(run.ttft_ms.unwrap().mean, 57.65);
    assert_eq!(run.fixed_output, Some(true));
    assert_eq!(run.request_rate_asked, Some(f64::INFINITY));
}

#[test]
fn an_open_loop_keeps_its_rate() {
    let run = fixture("h200-mooncake-1k-vllm-0.13.json");
    assert_eq!(run.request_rate_asked, Some(80.0));
    assert_eq!((run.concurrency_asked, run.failed), (None, Some(0)));
    // Passed with --metadata, which makes a text of it.
    assert_eq!(run.tp, Some(8));
    let e2el = run.e2el_ms.unwrap();
    assert_eq!(
        (e2el.mean, e2el.median, e2el.p99),
        (16_679.43, None, Some(23_369.08))
    );
}

#[test]
fn evalscope_prints_a_latency_as_ttft_and_is_not_believed_there() {
    let run = fixture("mxc500-unbound-evalscope-0.5.txt");
    assert_eq!((run.completed, run.failed), (426, Some(48)));
    // No duration: 426 / 0.766 = 556.1 s.
    assert!((run.duration_s - 556.136).abs() < 1e-3);
    assert_eq!(run.concurrency_asked, Some(100.0));
    assert!(near(run.e2el_ms.unwrap().mean, 73_051.0));
    assert_eq!(
        (run.ttft_ms, run.tpot_ms, run.streamed),
        (None, None, false)
    );
    let later = fixture("mxc500-c100-evalscope.json");
    assert_eq!((later.completed, later.failed), (965, Some(35)));
    assert!(near(later.e2el_ms.unwrap().mean, 61_880.0));
    assert_eq!(later.ttft_ms, None);
}

/// A small vLLM file with one key replaced or added.
fn vllm(key: &str, value: &str) -> String {
    let mut map: serde_json::Map<String, serde_json::Value> = serde_json::from_str(
        r#"{"completed": 4, "duration": 2.0, "request_throughput": 2.0, "num_prompts": 4,
            "mean_ttft_ms": 50.0, "median_ttft_ms": 50.0, "p99_ttft_ms": 50.0, "mean_tpot_ms": 0}"#,
    )
    .unwrap();
    map.insert(key.to_owned(), serde_json::Value::from("@"));
    serde_json::to_string(&map).unwrap().replace("\"@\"", value)
}

#[test]
fn zero_where_vllm_has_no_value_is_absent() {
    let run = read_text("zero.json", &vllm("mean_itl_ms", "0.0")).unwrap();
    assert_eq!((run.tpot_ms, run.itl_ms), (None, None));
}

#[test]
fn nonsense_names_its_key() {
    for (key, value, expected) in [
        (
            "mean_ttft_ms",
            "NaN",
            ": mean_ttft_ms is NaN; expected a number of zero or more",
        ),
        (
            "duration",
            "-3",
            ": duration is -3; expected a number of zero or more",
        ),
        (
            "duration",
            "0",
            ": duration is 0; expected a number above zero",
        ),
        (
            "completed",
            "3.5",
            ": completed is 3.5; expected a whole number",
        ),
        (
            "completed",
            "8",
            ": request_throughput is 2.0; expected completed / duration = 4.0000 req/s",
        ),
        (
            "num_prompts",
            "3",
            ": completed is 4; expected at most num_prompts = 3",
        ),
        (
            "p99_ttft_ms",
            "20",
            ": p99_ttft_ms is 20.0; expected no less than the median 50",
        ),
        (
            "request_rate",
            "\"fast\"",
            ": request_rate is fast; expected a number of zero or more",
        ),
        ("tp", "\"two\"", ": tp is two; expected a number of ranks"),
    ] {
        assert_eq!(refusal("nonsense.json", &vllm(key, value)), expected);
    }
}

#[test]
fn a_latency_without_a_unit_is_refused_with_what_to_do() {
    let text = r#"{"requests_per_s": 2.0, "completed": 4, "latency": {"mean": 1500, "p50": 1400}}"#;
    assert_eq!(
        refusal("unit.json", text),
        ": latency_mean is 1500; expected its unit in the key: rename it latency_mean_s or latency_mean_ms"
    );
    let said = text.replace("\"latency\"", "\"latency_ms\"");
    let run = read_text("unit.json", &said).unwrap();
    // 4 requests at 2 a second: 2 s.
    assert_eq!((run.duration_s, run.e2el_ms.unwrap().mean), (2.0, 1500.0));
}

#[test]
fn a_summary_that_contradicts_itself_is_refused() {
    let base =
        r#"{"requests_per_s": 2.0, "completed": 4, "duration_s": 2.0, "latency_mean_s": 1.0, "#;
    for (more, expected) in [
        (
            r#""qps": 3.0}"#,
            ": requests_per_s is 2.0; expected the same as qps, which is 3.0",
        ),
        (
            r#""latency_min_s": 1.5}"#,
            ": latency_mean_s is 1.0; expected a mean between minimum and maximum: latency_min_s, which is 1.5",
        ),
        (
            r#""latency_p50_s": 1.0, "latency_max_s": 0.5}"#,
            ": latency_max_s is 0.5; expected no less than latency_p50_s, which is 1.0",
        ),
        (
            r#""latency_min_s": 0.9, "mean_latency_ms": 11.7}"#,
            ": mean_latency_ms is 11.7 (taken as ms, which its key names); expected the same as latency_mean_s, which is 1.0",
        ),
    ] {
        assert_eq!(
            refusal("contradicts.json", &format!("{base}{more}")),
            expected
        );
    }
    let slow = base.replace("\"duration_s\": 2.0", "\"duration\": 2000") + r#""x": 0}"#;
    assert_eq!(
        refusal("contradicts.json", &slow),
        ": requests_per_s is 2.0; expected completed / duration = 0.0020"
    );
}

/// A summary of 4 requests in 2 s with a line more.
fn summary(more: &str) -> String {
    format!(r#"{{"completed": 4, "duration_s": 2.0, "latency_mean_s": 1.0, {more}}}"#)
}

#[test]
fn tokens_of_one_request_and_of_all_give_the_same_total() {
    // 4 requests of 256 tokens are 1024, at 512 a second for 2 s.
    for more in [
        r#""output_tokens_per_request": 256"#,
        r#""output_len": 256"#,
        r#""mean_output_tokens": 256.1"#,
        r#""tokens_per_request": 256"#,
        r#""output_tokens": 256, "output_tok_per_s": 512"#,
        r#""output_tokens": 1024, "output_tok_per_s": 512"#,
        r#""completion_tokens": 256, "output_len": 256"#,
        r#""completion_tokens": 1024, "output_throughput": 510"#,
    ] {
        let run = read_text("tokens.json", &summary(more)).unwrap();
        assert_eq!(run.output_tokens, Some(1024), "{more}");
    }
    for more in [
        r#""input_len": 89"#,
        r#""avg_input_tokens": 89"#,
        r#""prompt_tokens_per_request": 89"#,
        r#""prompt_tokens": 89, "prompt_tok_per_s": 178"#,
        r#""input_tokens": 356, "prompt_tok_per_s": 178"#,
    ] {
        // 4 * 89 = 356, at 178 a second for 2 s.
        let run = read_text("tokens.json", &summary(more)).unwrap();
        assert_eq!(
            (run.input_tokens, run.output_tokens),
            (Some(356), None),
            "{more}"
        );
    }
    // One request's tokens are all of them.
    let one = r#"{"completed": 1, "duration_s": 2.0, "latency_mean_s": 1.0, "output_tokens": 256}"#;
    let run = read_text("tokens.json", one).unwrap();
    assert_eq!(run.output_tokens, Some(256));
}

#[test]
fn a_median_itl_is_read_beside_the_mean_under_each_of_its_names() {
    // 4 requests of 11 tokens: 100 + 10 * 90 = 1000 ms, the mean latency, so that the times are of a stream.
    let times = r#""output_len": 11, "mean_ttft_ms": 100, "mean_tpot_ms": 90, "mean_itl_ms": 90"#;
    let of = |more: &str| {
        let run = read_text("itl.json", &summary(&format!("{times}{more}"))).unwrap();
        run.itl_ms.map(|itl| (itl.mean, itl.median))
    };
    assert_eq!(of(""), Some((90.0, None)));
    for median in [
        r#""median_itl_ms": 84"#,
        r#""itl_median_s": 0.084"#,
        r#""itl_ms": {"p50": 84}"#,
        r#""p50_itl_ms": 84"#,
    ] {
        assert_eq!(
            of(&format!(", {median}")),
            Some((90.0, Some(84.0))),
            "{median}"
        );
    }
}

#[test]
fn a_name_with_two_meanings_is_refused_where_nothing_tells_which() {
    let refused = |more: &str| refusal("either.json", &summary(more));
    assert_eq!(
        refused(r#""output_tokens": 256"#),
        ": output_tokens is 256; expected a name with one meaning: rename it total_output_tokens if it is the total of all \
         requests, or output_tokens_per_request if it is one request's; nothing else in the file tells which"
    );
    assert!(
        refused(r#""prompt_tokens": 300, "prompt_tok_per_s": 178"#)
            .ends_with("neither agrees with the 356 tokens that the file's other numbers make")
    );
    assert_eq!(
        refused(r#""output_len": 128, "output_tok_per_s": 512"#),
        ": output_tok_per_s is 512; expected to agree with output_len: it makes 1024 tokens of all 4 requests, and that 512"
    );
}

#[test]
fn a_number_in_quotes_is_told_to_be_a_string() {
    assert_eq!(
        refusal("quotes.json", &summary(r#""output_len": "256""#)),
        ": output_len is the string \"256\"; expected a number of zero or more"
    );
}

#[test]
fn control_characters_in_names_are_replaced() {
    let more = r#""model": "a\u001b[2Jb\nc", "output_len": 1"#;
    let run = read_text("names.json", &summary(more)).unwrap();
    assert_eq!(run.model.as_deref(), Some("a\u{fffd}[2Jb c"));
    let run = read_text("names.json", &vllm("model_id", r#""a\u0007b""#)).unwrap();
    assert_eq!(run.model.as_deref(), Some("a\u{fffd}b"));
}

#[test]
fn every_accepted_key_is_read() {
    let keys = accepted_keys();
    let of = |meaning: &str| keys.iter().find(|(said, _)| *said == meaning).unwrap().1;
    for key in of("output tokens of one request") {
        let run = read_text("keys.json", &summary(&format!("\"{key}\": 256"))).unwrap();
        assert_eq!(run.output_tokens, Some(1024), "{key}");
    }
    for key in of("output tokens of all requests") {
        let run = read_text("keys.json", &summary(&format!("\"{key}\": 256"))).unwrap();
        assert_eq!(run.output_tokens, Some(256), "{key}");
    }
}

#[test]
fn a_total_whose_failures_nobody_tells_is_not_taken_for_completed() {
    // 10 requests at 2 a second would take 5 s; of 10 s nobody knows how many succeeded.
    let text = r#"{"rps": 0.5, "num_requests": 10, "duration_s": 10, "latency_mean_s": 1.0}"#;
    let words = refusal("total.json", text);
    assert!(
        words.contains(
            "they make 5.0, and that is 10: if the others failed, add \"completed\" or \"failed\""
        ),
        "{words}"
    );
}

#[test]
fn what_is_not_known_says_what_was_looked_for() {
    for text in ["", "\n \n"] {
        let words = refusal("nothing.json", text);
        assert!(
            words.contains("is empty; run the benchmark again"),
            "{words}"
        );
    }
    for text in ["hello", "{}", "{\"a\": 1}", "3"] {
        let words = refusal("unknown.json", text);
        assert!(
            words.contains("no format that is known here") && words.contains("vllm bench serve"),
            "{text}: {words}"
        );
    }
    assert_eq!(
        refusal("two.jsonl", "{\"completed\": 1}\n{\"completed\": 2}\n"),
        " holds 2 results; give a file that holds one"
    );
    let twice = "Successful requests: 3\nSuccessful requests: 4\n";
    assert_eq!(
        refusal("twice.txt", twice),
        " says `successful requests` twice, 3.0 and 4.0; keep one benchmark's block"
    );
    assert!(read(Path::new("/nowhere/at/all.json")).is_err());
}

#[test]
fn saved_lists_give_counts_and_intervals() {
    // Eight requests: TTFT 50 ms, then two gaps of 20 ms and three tokens; a ninth failed and is left out.
    let list = |value: &str, failed: &str| {
        let mut items = vec![value; 8];
        items.push(failed);
        format!("[{}]", items.join(","))
    };
    let text = format!(
        r#"{{"completed": 8, "failed": 1, "duration": 2.0, "request_throughput": 4.0,
            "mean_ttft_ms": 50.0, "mean_tpot_ms": 20.0, "mean_itl_ms": 20.0,
            "ttfts": {}, "itls": {}, "output_lens": {}, "errors": {}}}"#,
        list("0.05", "0.0"),
        list("[0.02, 0.02]", "[]"),
        list("3", "0"),
        list("\"\"", "\"timed out\""),
    );
    let run = read_text("detailed.json", &text).unwrap();
    let tpot = run.tpot_ms.unwrap();
    // (20 + 20) / (3 - 1) = 20 for each of eight.
    assert_eq!(tpot.n, Some(8));
    let interval = tpot.mean_interval.unwrap();
    assert!((interval.low - 20.0).abs() < 1e-9 && (interval.high - 20.0).abs() < 1e-9);
    assert_eq!(run.itl_ms.unwrap().n, Some(16));
    assert_eq!(run.fixed_output, Some(true));
    // Lists that give a mean a little off the file's are another thing and are left alone; by half as much they contradict it.
    let with = |mean: &str| text.replace("\"mean_tpot_ms\": 20.0", mean);
    let near = read_text("detailed.json", &with("\"mean_tpot_ms\": 20.4"));
    let tpot = near.unwrap().tpot_ms.unwrap();
    assert_eq!((tpot.n, tpot.mean_interval), (None, None));
    let words = refusal("other.json", &with("\"mean_tpot_ms\": 30.0"));
    assert!(
        words.contains("mean_tpot_ms is 30.00 and theirs 20.00"),
        "{words}"
    );
}

fn samples_of(name: &str, text: &str) -> Option<Samples> {
    let folder = std::env::temp_dir().join(format!("tplens-samples-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path: PathBuf = folder.join(name);
    std::fs::write(&path, text).unwrap();
    let found = samples(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    found
}

#[test]
fn a_copied_run_is_known_by_its_samples_whatever_else_stands_in_the_file() {
    // Three requests of three tokens: latencies of ttft and two gaps.
    let file = |date: &str, model: &str, ttfts: [f64; 3]| {
        let itls = [[0.02, 0.03], [0.02, 0.02], [0.03, 0.03]];
        let latencies = [0, 1, 2].map(|n: usize| ttfts[n] + itls[n][0] + itls[n][1]);
        serde_json::json!({
            "date": date, "model_id": model, "num_prompts": 3, "request_rate": "inf", "max_concurrency": 1,
            "duration": 1.0, "completed": 3, "failed": 0, "total_input_tokens": 3, "total_output_tokens": 9,
            "request_throughput": 3.0, "output_throughput": 9.0, "input_lens": [1, 1, 1], "output_lens": [3, 3, 3],
            "ttfts": ttfts, "itls": itls, "latencies": latencies, "errors": ["", "", ""],
            "mean_ttft_ms": 200.0, "median_ttft_ms": 200.0, "std_ttft_ms": 1.0, "p99_ttft_ms": 201.0,
            "mean_tpot_ms": 25.0, "median_tpot_ms": 25.0, "std_tpot_ms": 1.0, "p99_tpot_ms": 30.0,
            "mean_itl_ms": 25.0, "median_itl_ms": 25.0, "std_itl_ms": 1.0, "p99_itl_ms": 30.0,
        })
        .to_string()
    };
    let ttfts = [0.2, 0.21, 0.19];
    let first = samples_of("first.json", &file("20261122-100000", "m", ttfts)).unwrap();
    let copy = samples_of("copy.json", &file("20261123-235959", "other", ttfts)).unwrap();
    assert_eq!(first, copy);
    // One first token of three is a tenth of a ms later.
    let again = samples_of(
        "again.json",
        &file("20261122-100000", "m", [0.2, 0.2101, 0.19]),
    );
    assert_ne!(Some(first), again);
    // A summary has no samples.
    assert_eq!(
        samples_of("summary.json", &summary(r#""output_len": 256"#)),
        None
    );
}

#[test]
fn a_time_that_cannot_be_is_named_as_it_stands_with_its_unit() {
    // 11.7 s written under a key of milliseconds.
    let text = r#"{"requests_per_s": 2.0, "completed": 4, "latency_mean_ms": 11.7, "latency_min_s": 11.5, "latency_max_s": 12}"#;
    assert_eq!(
        refusal("ms.json", text),
        ": latency_mean_ms is 11.7 (taken as ms, which its key names); expected a mean between minimum and maximum: \
         latency_min_s, which is 11.5; latency_max_s, which is 12"
    );
    let text = r#"{"completed": 4, "latency_mean_s": 1, "duration": 2, "total_time_ms": 3000}"#;
    assert_eq!(
        refusal("duration.json", text),
        ": total_time_ms is 3000 (taken as ms, which its key names); expected the same as duration, which is 2 (taken as s, since \
         its key names no unit)"
    );
}

#[test]
fn a_key_that_stands_twice_in_an_object_is_refused_by_its_name() {
    let flat = r#""requests_per_s": 2.0, "completed": 4, "latency_mean_s": 1.0"#;
    let refused = " has the key `latency_mean_s` twice in one object, so that it is not known which value holds; keep one of them";
    for text in [
        format!(r#"{{{flat}, "latency_mean_s": 9.0}}"#),
        format!(r#"{{"x": NaN, "results": {{{flat}, "latency_mean_s": 1.0}}}}"#),
        format!(r#"[{{{flat}, "latency_mean_s": 9.0}}]"#),
        format!("{{{flat}}}\n{{{flat}, \"latency_mean_s\": 9.0}}\n"),
    ] {
        assert_eq!(refusal("twice.json", &text), refused, "{text}");
    }
    // The same key in two objects is none.
    let apart = format!(r#"{{{flat}, "x": {{"completed": 1}}, "y": [null, true, -1, 1.5, "a"]}}"#);
    assert_eq!(read_text("twice.json", &apart).unwrap().completed, 4);
}

#[test]
fn a_long_text_of_a_file_is_cut_where_it_is_quoted() {
    let long = "x".repeat(1_000_000);
    let text = format!(r#"{{"requests_per_s": 2.0, "completed": 4, "latency_mean_s": "{long}"}}"#);
    let words = refusal("long.json", &text);
    assert_eq!(
        words,
        format!(
            ": latency_mean_s is {}… (999920 more bytes); expected a number of zero or more",
            "x".repeat(80)
        )
    );
}
