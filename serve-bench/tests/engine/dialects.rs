//! What the load generator makes of each engine's words: tokens, chunks, times to first token, connections, /metrics.

use measure::record::TokenCount;

use crate::engine::common::Scratch;
use crate::engine::served::Served;

const DIALECTS: [&str; 4] = ["vllm", "llama.cpp", "sglang", "transformers"];
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
fn whole_replies_are_counted_in_every_dialect() {
    for dialect in DIALECTS {
        let engine = Served::start(100, &["--dialect", dialect]);
        for endpoint in ENDPOINTS {
            let ran = run(&engine, &["--endpoint", endpoint, "--no-stream"]);
            for request in &ran.serve().requests {
                let counts = (request.input_tokens, request.output_tokens);
                assert_eq!(counts, (Some(8), Some(9)), "{dialect} {endpoint}");
            }
        }
    }
}

#[test]
fn reasoning_counts_as_tokens_under_either_name() {
    for dialect in ["vllm", "llama.cpp", "sglang"] {
        let arguments = ["--dialect", dialect, "--reasoning-tokens", "3"];
        let engine = Served::start(100, &arguments);
        let body = r#"{"messages":[{"role":"user","content":"a"}],"max_tokens":4,"stream":true}"#;
        let reply = engine.post("/v1/chat/completions", body);
        let name = match dialect {
            "vllm" => r#""reasoning":""#,
            _ => r#""reasoning_content":""#,
        };
        assert_eq!(reply.matches(name).count(), 3, "{dialect}: {reply}");
        let ran = run(&engine, &["--endpoint", "chat"]);
        for request in &ran.serve().requests {
            assert_eq!(request.token_chunks_ms.len(), 9, "{dialect}: {request:?}");
        }
    }
}

#[test]
fn several_tokens_in_a_chunk_are_counted_by_the_server_or_by_their_ids() {
    let engine = Served::start(100, &["--tokens-per-chunk", "4", "--token-ids"]);
    // The first token alone, then four and four.
    let ran = run(&engine, &[]);
    for request in &ran.serve().requests {
        assert_eq!(request.chunk_tokens, [1, 4, 4], "{request:?}");
        assert_eq!(request.token_chunks_ms.len(), 3, "{request:?}");
        assert_eq!(request.counted_by, Some(TokenCount::Usage));
    }
    let ran = run(&engine, &["--extra-body", r#"{"stream_options":null}"#]);
    for request in &ran.serve().requests {
        assert_eq!(request.output_tokens, Some(9), "{request:?}");
        assert_eq!(request.counted_by, Some(TokenCount::TokenIds));
    }
    // A request can ask for the ids by itself.
    let engine = Served::start(100, &[]);
    let ran = run(&engine, &["--extra-body", r#"{"return_token_ids":true}"#]);
    for request in &ran.serve().requests {
        assert_eq!(request.chunk_tokens, [1; 9], "{request:?}");
    }
}

#[test]
fn llama_cpp_closes_the_connection_after_each_stream() {
    let engine = Served::start(100, &["--dialect", "llama.cpp"]);
    let ran = run(&engine, &[]);
    // The first of four has one that was made before.
    assert_eq!(ran.serve().client.as_ref().unwrap().reconnects, 3);
    let ran = run(&engine, &["--no-stream"]);
    assert_eq!(ran.serve().client.as_ref().unwrap().reconnects, 0);
    let engine = Served::start(100, &["--dialect", "sglang"]);
    let ran = run(&engine, &[]);
    assert_eq!(ran.serve().client.as_ref().unwrap().reconnects, 0);
}

#[test]
fn comments_before_the_first_token_are_no_tokens() {
    // A fiftieth of the box's speed: the first step, above 10 ms there, takes above 0.5 s, and a comment comes every 20 ms.
    let arguments = ["--dialect", "llama.cpp", "--sse-ping-interval", "0.02"];
    let slow = [&arguments[..], &["--speed", "0.02"]].concat();
    let engine = Served::with(&slow);
    let body = r#"{"prompt":"a b","max_tokens":1,"stream":true}"#;
    let reply = engine.post("/v1/completions", body);
    let (before, _) = reply.split_once("data: ").unwrap();
    assert!(before.contains(":\n\n"), "{reply}");
    let more = ["--requests", "1", "--output-tokens", "1"];
    let ran = Scratch::new().run(&engine.url, &more);
    ran.expect(0);
    let request = &ran.serve().requests[0];
    assert_eq!(request.token_chunks_ms.len(), 1);
    assert!(request.first_chunk_ms.unwrap() < request.token_chunks_ms[0]);
}

#[test]
fn each_engine_tells_its_metrics_under_its_own_names() {
    // Requests, output tokens and first tokens of four requests of nine tokens, and prompt tokens of eight.
    let cases: [(&str, &[(&str, f64)]); 3] = [
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
        (
            "llama.cpp",
            &[
                ("llamacpp:prompt_tokens_total", 32.0),
                ("llamacpp:tokens_predicted_total", 36.0),
                ("llamacpp:requests_processing", 0.0),
                ("llamacpp:requests_deferred", 0.0),
                // One after the other, a step for each token.
                ("llamacpp:n_decode_total", 36.0),
                ("llamacpp:n_busy_slots_per_decode", 1.0),
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
    let engine = Served::start(100, &["--dialect", "transformers"]);
    for path in ["/metrics", "/version"] {
        assert!(engine.get(path).starts_with("HTTP/1.1 404"), "{path}");
    }
}
