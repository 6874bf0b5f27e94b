//! Files that vLLM's own clients wrote, in Python and in Rust, field by field: every figure as it is read here, and every key as our
//! own file has it.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::{Path, PathBuf};

use import::serve::{Latency, ServeFormat, ServeResult, read_all};
use record::{Arrivals, Payload, load};
use serde_json::Value;
use view::export::{VllmForm, vllm_json};

/// The clients, by the names of their files.
const CLIENTS: [&str; 2] = ["vllm-0.32", "vllm-rs-0.33"];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../import/tests/fixtures")
        .join(name)
}

fn json(client: &str) -> Value {
    let file = fixture(&format!("serve/{client}-detailed.json"));
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

fn read(name: &str) -> ServeResult {
    read_all(&fixture(name)).unwrap().remove(0)
}

#[track_caller]
fn assert_near(seen: Option<f64>, written: &Value, what: &str) {
    let (seen, written) = (seen.unwrap(), written.as_f64().unwrap());
    assert!(
        (seen - written).abs() <= 1e-9 * written.abs(),
        "{what}: {seen} and {written}"
    );
}

fn key(latency: Latency) -> String {
    latency.name().to_lowercase()
}

#[test]
fn every_figure_of_their_json_is_read_as_it_was_written() {
    for client in CLIENTS {
        let written = json(client);
        let read = read(&format!("serve/{client}-detailed.json"));
        let run = &read.run;
        assert_eq!(run.format, ServeFormat::Vllm);
        assert_eq!(run.model.as_deref(), written["model_id"].as_str());
        assert!(run.streamed);
        // All offered at once with a limit is a closed loop.
        assert_eq!(
            (run.concurrency_asked, run.request_rate_asked),
            (Some(2.0), None)
        );
        assert_eq!(run.completed, written["completed"]);
        assert_eq!(run.failed.unwrap(), written["failed"]);
        assert_eq!(read.asked.requests.unwrap(), written["num_prompts"]);
        assert_eq!(run.input_tokens.unwrap(), written["total_input_tokens"]);
        assert_eq!(run.output_tokens.unwrap(), written["total_output_tokens"]);
        assert_near(Some(run.duration_s), &written["duration"], "duration");
        assert_near(
            Some(run.requests_per_s),
            &written["request_throughput"],
            "request_throughput",
        );
        let rates = [
            ("output_throughput", read.output_tokens_per_s()),
            ("total_token_throughput", read.total_tokens_per_s()),
            ("max_concurrent_requests", read.said.peak_in_flight),
        ];
        for (name, seen) in rates {
            assert_near(seen, &written[name], name);
        }
        for latency in Latency::ALL {
            let spread = read.spread(latency).unwrap();
            let key = key(latency);
            for (statistic, seen) in [
                ("mean", Some(spread.mean)),
                ("median", spread.median),
                ("p99", spread.p99),
            ] {
                let name = format!("{statistic}_{key}_ms");
                assert_near(seen, &written[&name], &name);
            }
        }
    }
}

#[test]
fn every_list_of_their_json_becomes_requests() {
    for client in CLIENTS {
        let written = json(client);
        let read = read(&format!("serve/{client}-detailed.json"));
        assert!(read.clocked);
        assert_eq!(read.requests.len(), 4);
        let first = written["start_times"][0].as_f64().unwrap();
        for (index, request) in read.requests.iter().enumerate() {
            let at = |key: &str| written[key][index].as_f64().unwrap();
            // Seconds there, ms from the first start here.
            let sent = (at("start_times") - first) * 1e3;
            assert!((request.sent_ms - sent).abs() < 1e-6);
            assert!((request.token_chunks_ms[0] - sent - at("ttfts") * 1e3).abs() < 1e-6);
            // A chunk for the first token and one for each gap.
            let gaps = written["itls"][index].as_array().unwrap();
            assert_eq!(request.token_chunks_ms.len(), gaps.len() + 1);
            let last: f64 = gaps.iter().map(|gap| gap.as_f64().unwrap() * 1e3).sum();
            assert!((request.token_chunks_ms[3] - sent - at("ttfts") * 1e3 - last).abs() < 1e-6);
            assert_eq!(
                u64::from(request.input_tokens.unwrap()),
                written["input_lens"][index]
            );
            assert_eq!(
                u64::from(request.output_tokens.unwrap()),
                written["output_lens"][index]
            );
        }
        assert_eq!(read.findings, []);
    }
}

#[test]
fn what_they_print_is_what_they_write() {
    for client in CLIENTS {
        let (text, file) = (
            read(&format!("serve/{client}-block.txt")),
            read(&format!("serve/{client}-detailed.json")),
        );
        assert_eq!(
            (text.run.completed, text.run.failed),
            (file.run.completed, file.run.failed)
        );
        assert_eq!(
            (text.run.input_tokens, text.run.output_tokens),
            (file.run.input_tokens, file.run.output_tokens)
        );
        for latency in Latency::ALL {
            let (text, file) = (text.spread(latency).unwrap(), file.spread(latency).unwrap());
            // Two decimals are printed.
            for (text, file) in [
                (Some(text.mean), Some(file.mean)),
                (text.median, file.median),
                (text.p99, file.p99),
            ] {
                assert!((text.unwrap() - file.unwrap()).abs() < 0.00501);
            }
        }
    }
}

/// Keys that the client in Rust adds; its own reader does without them.
const OF_RUST: [&str; 7] = [
    "input_throughput",
    "max_model_len",
    "p90_e2el_ms",
    "p90_itl_ms",
    "p90_tpot_ms",
    "p90_ttft_ms",
    "steady_state",
];

#[test]
fn every_key_that_they_write_is_in_ours_with_a_value_of_its_kind() {
    let record = load(&fixture("records/serve.json")).unwrap();
    let form = VllmForm {
        detailed: true,
        ..VllmForm::default()
    };
    let ours = vllm_json(&record, &form).unwrap();
    for client in CLIENTS {
        let theirs = json(client);
        let further: &[&str] = if client == "vllm-0.32" { &[] } else { &OF_RUST };
        for (key, value) in theirs.as_object().unwrap() {
            let Some(own) = ours.get(key) else {
                assert!(
                    further.contains(&key.as_str()),
                    "{client}: {key} is not in ours"
                );
                continue;
            };
            let is_same = match value {
                // A number that this record does not have is null here and would be 0 there.
                Value::Number(_) => own.is_number() || own.is_null(),
                // The model's name may be all that tells the tokenizer, and a label may be absent.
                Value::String(_) => own.is_string() || own.is_null(),
                Value::Array(_) => own.is_array(),
                Value::Null => true,
                _ => false,
            };
            assert!(is_same, "{client}: {key} is {value} there and {own} here");
        }
    }
    // Of the keys in Python, none is missing.
    let keys = json("vllm-0.32");
    assert!(
        keys.as_object()
            .unwrap()
            .keys()
            .all(|key| ours.get(key).is_some())
    );
}

#[test]
fn a_load_of_ours_that_came_at_once_is_what_they_call_inf() {
    let mut record = load(&fixture("records/serve.json")).unwrap();
    let Payload::Serve(serve) = &mut record.payload else {
        panic!("not of a load");
    };
    let of_load = serve.load.as_mut().unwrap();
    of_load.arrivals = Arrivals::AllAtOnce;
    of_load.concurrency = None;
    let folder = std::env::temp_dir().join(format!("tplens-at-once-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let written = |name: &str, text: String| {
        let file = folder.join(name);
        std::fs::write(&file, text).unwrap();
        read_all(&file).unwrap().remove(0).run
    };
    let ours = written("record.json", serde_json::to_string(&record).unwrap());
    let export = vllm_json(&record, &VllmForm::default()).unwrap();
    assert_eq!(export["request_rate"], "inf");
    let theirs = written("theirs.json", export.to_string());
    std::fs::remove_dir_all(&folder).unwrap();
    for run in [ours, theirs] {
        assert_eq!(
            (run.request_rate_asked, run.concurrency_asked),
            (Some(f64::INFINITY), None)
        );
    }
}
