//! What the load generator makes of each engine's words: tokens, chunks, times to first token, connections, /metrics.

use record::TokenCount;

use crate::engine::common::Scratch;
use crate::engine::served::Served;

const DIALECTS: [&str; 2] = ["vllm", "sglang"];
const ENDPOINTS: [&str; 2] = ["completions", "chat"];

/// Runs four requests of eight prompt and nine output tokens, one after the other unless `more` says otherwise.
#[track_caller]
fn run(engine: &Served, more: &[&str]) -> crate::engine::common::Ran {
    let fixed = ["--requests", "4", "--output-tokens", "9"];
    let ran = Scratch::new().run(&engine.url, &[&fixed[..], more].concat());
    ran.expect(0);
    ran
}

#[test]
fn tokens_and_chunks_are_right_in_every_dialect() {
    for dialect in DIALECTS {
        let engine = Served::start(100, &["--dialect", dialect]);
        for endpoint in ENDPOINTS {
            let ran = run(&engine, &["--endpoint", endpoint, "--concurrency", "2"]);
            let serve = ran.serve();
            for request in &serve.requests {
                let said = format!("{dialect} {endpoint}: {request:?}");
                assert_eq!(request.output_tokens, Some(9), "{said}");
                assert_eq!(request.input_tokens, Some(8), "{said}");
                assert_eq!(request.counted_by, Some(TokenCount::Usage), "{said}");
                // Neither a role nor a finish chunk is a token.
                assert_eq!(request.token_chunks_ms.len(), 9, "{said}");
                let [first, .., last] = request.token_chunks_ms[..] else {
                    unreachable!()
                };
                let first_bytes = request.first_chunk_ms.unwrap();
                assert!(request.sent_ms < first_bytes, "{said}");
                assert!(first_bytes <= first && first <= last, "{said}");
                assert!(last <= request.ended_ms, "{said}");
            }
            // 4 x 9.
            let summary = serve.summary.as_ref().unwrap();
            assert_eq!(summary.output_tokens, Some(36), "{dialect} {endpoint}");
        }
    }
}

#[test]
fn several_tokens_in_a_chunk_are_counted_by_the_server() {
    let engine = Served::start(100, &["--tokens-per-chunk", "4"]);
    // The first token alone, then four and four.
    let ran = run(&engine, &[]);
    for request in &ran.serve().requests {
        assert_eq!(request.token_chunks_ms.len(), 3, "{request:?}");
        assert_eq!(request.output_tokens, Some(9), "{request:?}");
        assert_eq!(request.counted_by, Some(TokenCount::Usage));
    }
}

#[test]
fn each_engine_tells_its_metrics_under_its_own_names() {
    // Requests, output tokens and first tokens of four requests of nine tokens, and prompt tokens of eight.
    let cases: [(&str, &[(&str, f64)]); 2] = [
        (
            "vllm",
            &[
                ("vllm:num_requests_running", 0.0),
                ("vllm:prompt_tokens_total", 32.0),
                ("vllm:generation_tokens_total", 36.0),
                ("vllm:request_success_total", 4.0),
                ("vllm:time_to_first_token_seconds_count", 4.0),
                // Each request has eight gaps.
                ("vllm:inter_token_latency_seconds_count", 32.0),
                ("vllm:e2e_request_latency_seconds_count", 4.0),
                ("vllm:request_queue_time_seconds_count", 4.0),
                ("vllm:prefix_cache_queries_total", 0.0),
            ],
        ),
        (
            "sglang",
            &[
                ("sglang:num_running_reqs", 0.0),
                ("sglang:num_queue_reqs", 0.0),
                ("sglang:prompt_tokens_total", 32.0),
                ("sglang:generation_tokens_total", 36.0),
                ("sglang:num_requests_total", 4.0),
                ("sglang:time_to_first_token_seconds_count", 4.0),
                ("sglang:inter_token_latency_seconds_count", 32.0),
            ],
        ),
    ];
    for (dialect, metrics) in cases {
        let engine = Served::start(100, &["--dialect", dialect]);
        run(&engine, &[]);
        for (name, expected) in metrics {
            let found = engine.metric(name);
            assert!((found - expected).abs() < 1e-9, "{name}: {found}");
        }
    }
}
