//! Our file in vLLM's form has every key of vLLM 0.33's, each of vLLM's type, and reads back into what it was made from.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::Path;

use import::serve::{Latency, read_all};
use record::{Payload, Record, load};
use serde_json::Value;
use view::export::{VllmForm, vllm_json};

/// What Python writes for a type.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Text,
    TextOrNone,
    Whole,
    WholeOrNone,
    /// A float; Python reads a whole number as one, too.
    Number,
    NumberOrNone,
    /// A float, or `inf` as text.
    Rate,
    List,
}

/// The keys of vLLM 0.33 for a text model without a ramp, in its order (benchmarks/serve.py).
const KEYS: [(&str, Kind); 47] = [
    ("date", Kind::Text),
    ("endpoint_type", Kind::Text),
    ("backend", Kind::Text),
    ("label", Kind::TextOrNone),
    ("model_id", Kind::Text),
    ("tokenizer_id", Kind::TextOrNone),
    ("num_prompts", Kind::Whole),
    ("request_rate", Kind::Rate),
    ("burstiness", Kind::Number),
    ("max_concurrency", Kind::WholeOrNone),
    ("duration", Kind::Number),
    ("completed", Kind::Whole),
    ("failed", Kind::Whole),
    ("total_input_tokens", Kind::Whole),
    ("total_output_tokens", Kind::Whole),
    ("request_throughput", Kind::Number),
    ("request_goodput", Kind::NumberOrNone),
    ("output_throughput", Kind::Number),
    ("total_token_throughput", Kind::Number),
    ("input_lens", Kind::List),
    ("output_lens", Kind::List),
    ("ttfts", Kind::List),
    ("itls", Kind::List),
    ("latencies", Kind::List),
    ("start_times", Kind::List),
    ("queue_times", Kind::List),
    ("generated_texts", Kind::List),
    ("errors", Kind::List),
    // This record is from before the two peaks were there.
    ("max_output_tokens_per_s", Kind::NumberOrNone),
    ("max_concurrent_requests", Kind::WholeOrNone),
    ("rtfx", Kind::Number),
    ("mean_ttft_ms", Kind::Number),
    ("median_ttft_ms", Kind::Number),
    ("std_ttft_ms", Kind::Number),
    // Below 200 values a 99th percentile is not claimed; vLLM claims it of one.
    ("p99_ttft_ms", Kind::NumberOrNone),
    ("mean_tpot_ms", Kind::Number),
    ("median_tpot_ms", Kind::Number),
    ("std_tpot_ms", Kind::Number),
    ("p99_tpot_ms", Kind::NumberOrNone),
    ("mean_itl_ms", Kind::Number),
    ("median_itl_ms", Kind::Number),
    ("std_itl_ms", Kind::Number),
    ("p99_itl_ms", Kind::NumberOrNone),
    ("mean_e2el_ms", Kind::Number),
    ("median_e2el_ms", Kind::Number),
    ("std_e2el_ms", Kind::Number),
    ("p99_e2el_ms", Kind::NumberOrNone),
];

fn is_of(value: &Value, kind: Kind) -> bool {
    match kind {
        Kind::Text => value.is_string(),
        Kind::TextOrNone => value.is_string() || value.is_null(),
        Kind::Whole => value.is_u64(),
        Kind::WholeOrNone => value.is_u64() || value.is_null(),
        Kind::Number => value.is_number(),
        Kind::NumberOrNone => value.is_number() || value.is_null(),
        Kind::Rate => value.is_number() || value == "inf",
        Kind::List => value.is_array(),
    }
}

fn record() -> Record {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/fixtures/records/serve.json");
    load(&path).unwrap()
}

fn exported(record: &Record) -> Value {
    let form = VllmForm {
        detailed: true,
        ..VllmForm::default()
    };
    vllm_json(record, &form).unwrap()
}

#[test]
fn every_key_of_vllm_is_there_with_its_type() {
    let json = exported(&record());
    for (key, kind) in KEYS {
        let value = json.get(key);
        assert!(
            value.is_some_and(|value| is_of(value, kind)),
            "{key} is {value:?}, not {kind:?}"
        );
    }
    let requests = json["num_prompts"].as_u64().unwrap() as usize;
    for (key, _) in KEYS.iter().filter(|(_, kind)| *kind == Kind::List) {
        assert_eq!(json[*key].as_array().unwrap().len(), requests, "{key}");
    }
    // Seconds there, ms here: the first request's first token came after 50 ms.
    assert_eq!(json["ttfts"][0], 0.05);
    assert_eq!(json["itls"][0].as_array().unwrap().len(), 3);
}

#[test]
fn what_is_written_reads_back_into_the_same_result() {
    let record = record();
    let Payload::Serve(serve) = &record.payload else {
        panic!("a serving benchmark");
    };
    let summary = serve.summary.as_ref().unwrap();
    let folder = std::env::temp_dir().join(format!("tplens-export-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("result.json");
    std::fs::write(&path, exported(&record).to_string()).unwrap();
    let back = read_all(&path).unwrap().remove(0);
    std::fs::remove_dir_all(folder).unwrap();
    assert_eq!(back.run.completed, u64::from(summary.completed));
    assert_eq!(back.run.duration_s, summary.duration_s);
    assert_eq!(back.run.output_tokens, summary.output_tokens);
    assert_eq!(back.run.simulated.as_deref(), Some("rtxpro6000-mig"));
    assert_eq!(
        back.run.ttft_ms.unwrap().mean,
        summary.ttft_ms.as_ref().unwrap().mean
    );
    assert_eq!(
        back.run.tpot_ms.unwrap().mean,
        summary.tpot_ms.as_ref().unwrap().mean
    );
    // The requests are there again, so that nothing in the file contradicts its lists.
    assert_eq!(back.requests.len(), summary.completed as usize);
    assert!(back.clocked && !back.values(Latency::E2el).is_empty());
    assert!(
        back.findings
            .iter()
            .all(|one| one.code() != "figures-differ"),
        "{:?}",
        back.findings
    );
}
