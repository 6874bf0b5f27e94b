//! Command lines of `vllm bench serve` as they are, its files and its block, and the log of requests.

use std::path::PathBuf;

use import::serve;
use serde_json::Value;

use crate::load::common::{Ran, Scratch};
use crate::load::mock::{Mock, good};

/// Runs a command line of vLLM's client with host and port of a mock.
fn vllm(scratch: &Scratch, mock: &Mock, words: &str) -> Ran {
    let address = mock.url.strip_prefix("http://").unwrap();
    let (host, port) = address.split_once(':').unwrap();
    let fixed = ["run", "--host", host, "--port", port, "--out", "out"];
    let words: Vec<&str> = fixed.into_iter().chain(words.split_whitespace()).collect();
    Ran::of(
        scratch.program(&words).output().unwrap(),
        &scratch.join("out"),
    )
}

fn only_file(folder: &std::path::Path) -> PathBuf {
    let files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

#[test]
fn a_command_line_of_vllm_works_as_it_is_and_writes_its_file() {
    let mock = Mock::playing(|_| good());
    let scratch = Scratch::new();
    let ran = vllm(
        &scratch,
        &mock,
        "--backend vllm --model org/mock-model --served-model-name served --tokenizer org/mock-model --trust-remote-code \
         --endpoint /v1/completions --dataset-name random --random-input-len 8 --random-output-len 2 \
         --random-range-ratio 0.0 --num-prompts 4 --request-rate inf --burstiness 1.0 --max-concurrency 2 --seed 0 \
         --num-warmups 1 --ignore-eos --disable-tqdm --percentile-metrics ttft,tpot,e2el --metric-percentiles 25,50,99 \
         --goodput ttft:60000 e2el:60000 --save-result --save-detailed --result-dir results --label mine \
         --metadata gpu=two tp=2 --header x-route=a x-other=b --temperature 0.5 --top-p 0.9",
    );
    ran.expect(0);
    let asked = mock.asked();
    // One to warm up.
    assert_eq!(asked.len(), 5);
    assert_eq!(asked[1].path, "/v1/completions");
    assert_eq!(asked[1].headers["x-route"], "a");
    assert_eq!(asked[1].headers["x-other"], "b");
    let body = &asked[1].body;
    assert_eq!(body["model"], "served");
    assert_eq!(
        (&body["temperature"], &body["top_p"]),
        (&0.5.into(), &0.9.into())
    );
    assert_eq!(body["ignore_eos"], true);
    assert!(ran.stderr.contains("--trust-remote-code"), "{}", ran.stderr);
    assert!(ran.caveats().contains("tokenizer-unused"));

    let file = only_file(&scratch.join("results"));
    let name = file.file_name().unwrap().to_str().unwrap();
    assert!(
        name.starts_with("mine-infqps-concurrency2-mock-model-2") && name.ends_with(".json"),
        "{name}"
    );
    let text = std::fs::read_to_string(&file).unwrap();
    // vLLM's own readers take a line for a result.
    assert_eq!(text.lines().count(), 1);
    let json: Value = serde_json::from_str(&text).unwrap();
    for (key, value) in [
        ("backend", Value::from("vllm")),
        ("label", "mine".into()),
        ("model_id", "org/mock-model".into()),
        ("tokenizer_id", "org/mock-model".into()),
        ("num_prompts", 4.into()),
        ("gpu", "two".into()),
        ("tp", "2".into()),
        ("request_rate", "inf".into()),
        ("burstiness", 1.0.into()),
        ("max_concurrency", 2.into()),
        ("completed", 4.into()),
        ("total_input_tokens", 32.into()),
        ("total_output_tokens", 8.into()),
        ("rtfx", 0.0.into()),
    ] {
        assert_eq!(json[key], value, "{key}");
    }
    // Four good ones; at most two at once.
    assert_eq!(json["request_goodput"], json["request_throughput"]);
    assert!(json["max_concurrent_requests"].as_u64().unwrap() <= 2);
    let keys = json.as_object().unwrap();
    for key in [
        "p25_ttft_ms",
        "p50_tpot_ms",
        "p99_e2el_ms",
        "start_times",
        "queue_times",
        "latencies",
    ] {
        assert!(keys.contains_key(key), "{key}");
    }
    assert!(!keys.contains_key("mean_itl_ms"));
    assert_eq!(json["start_times"].as_array().unwrap().len(), 4);
    // Our own reader takes it back.
    let read = serve::read(&file).unwrap();
    assert_eq!((read.completed, read.output_tokens), (4, Some(8)));
}

#[test]
fn the_block_is_that_of_vllm_and_is_read_back() {
    let mock = Mock::playing(|_| good());
    let scratch = Scratch::new();
    let ran = vllm(
        &scratch,
        &mock,
        "--num-prompts 4 --max-concurrency 2 --random-input-len 8 --random-output-len 2 --num-warmups 0 --format vllm",
    );
    ran.expect(0);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    for (number, line) in [
        (0, "============ Serving Benchmark Result ============"),
        (1, "Successful requests:                     4         "),
        (3, "Maximum request concurrency:             2         "),
        (5, "Total input tokens:                      32        "),
        (6, "Total generated tokens:                  8         "),
        (12, "---------------Time to First Token----------------"),
        (16, "-----Time per Output Token (excl. 1st token)------"),
    ] {
        assert_eq!(lines[number], line);
    }
    // vLLM gives one of four values, too.
    let p99 = lines[15].strip_prefix("P99 TTFT (ms):").unwrap().trim();
    assert!(p99.parse::<f64>().unwrap() > 0.0, "{p99}");
    assert_eq!(lines.last().unwrap(), &"=".repeat(50));
}

#[test]
fn prompts_of_a_file_are_sent_and_not_recorded() {
    let mock = Mock::playing(|_| good());
    let scratch = Scratch::new();
    std::fs::write(
        scratch.join("own.jsonl"),
        "{\"prompt\": \"canary one\", \"output_tokens\": 2}\n{\"prompt\": \"canary two\", \"output_tokens\": 2}\n",
    )
    .unwrap();
    let more = [
        "--dataset-name",
        "custom",
        "--dataset-path",
        "own.jsonl",
        "--output-tokens",
        "2",
    ];
    let ran = scratch.run(&mock.url, &more);
    ran.expect(0);
    let mut prompts: Vec<String> = mock
        .asked()
        .iter()
        .map(|asked| asked.body["prompt"].as_str().unwrap().to_owned())
        .collect();
    prompts.sort();
    assert_eq!(prompts, ["canary one", "canary two"]);
    // What people wrote may end at its own end.
    assert!(mock.asked()[0].body.get("ignore_eos").is_none());
    for name in ["journal.jsonl", "record.json"] {
        let text = std::fs::read_to_string(scratch.join("out").join(name)).unwrap();
        assert!(!text.contains("canary"), "{name}");
    }
    assert_eq!(
        ran.serve().load.as_ref().unwrap().data.as_deref(),
        Some("prompts of a file")
    );
}
