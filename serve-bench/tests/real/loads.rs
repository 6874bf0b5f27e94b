//! Every kind of load at both endpoints, streamed and not.

use record::{Arrivals, TokenCount};

use crate::real::llama::Llama;

/// A kind of load, and how the record names it.
type Case = (&'static [&'static str], fn(&Arrivals) -> bool);

const LOADS: [Case; 6] = [
    (&["--max-concurrency", "3"], |arrivals| {
        matches!(arrivals, Arrivals::ClosedLoop)
    }),
    (&[], |arrivals| matches!(arrivals, Arrivals::AllAtOnce)),
    (
        &["--request-rate", "60", "--burstiness", "inf"],
        |arrivals| matches!(arrivals, Arrivals::Constant { .. }),
    ),
    (&["--request-rate", "60"], |arrivals| {
        matches!(arrivals, Arrivals::Poisson { .. })
    }),
    (
        &["--request-rate", "60", "--burstiness", "0.5"],
        |arrivals| matches!(arrivals, Arrivals::Gamma { .. }),
    ),
    (
        &[
            "--ramp-up-strategy",
            "linear",
            "--ramp-up-start-rps",
            "30",
            "--ramp-up-end-rps",
            "90",
        ],
        |arrivals| matches!(arrivals, Arrivals::Ramp { .. }),
    ),
];

#[test]
fn every_load_at_every_endpoint_gets_the_tokens_that_the_server_made() {
    let Some(llama) = Llama::start() else {
        return;
    };
    for (flags, is_it) in LOADS {
        for endpoint in ["completions", "chat"] {
            for form in [&[][..], &["--no-stream"]] {
                let before = llama.metric("llamacpp:tokens_predicted_total");
                let lengths = ["--num-prompts", "8", "--random-output-len", "8"];
                let fixed = [&lengths[..], &["--endpoint", endpoint]].concat();
                let more = [&fixed[..], flags, form].concat();
                let serve = llama.run(&llama.url(), &more);
                let after = llama.metric("llamacpp:tokens_predicted_total");
                assert!(is_it(&serve.load.as_ref().unwrap().arrivals), "{more:?}");
                assert_eq!(serve.requests.len(), 8, "{more:?}");
                for request in &serve.requests {
                    // Eight tokens were asked for, and the end of sequence is ignored.
                    assert_eq!(request.output_tokens, Some(8), "{more:?}: {request:?}");
                    assert_eq!(request.counted_by, Some(TokenCount::Usage), "{more:?}");
                    assert!(request.input_tokens > Some(0), "{more:?}: {request:?}");
                    // The server may put several tokens into a chunk, never none; its finish chunk is no token.
                    let chunks = request.token_chunks_ms.len();
                    let range = if form.is_empty() { 1..=8 } else { 0..=0 };
                    assert!(range.contains(&chunks), "{more:?}: {request:?}");
                }
                // The server's own count: 8 x 8.
                assert!((after - before - 64.0).abs() < 0.5, "{before} {after}");
                let summary = serve.summary.unwrap();
                assert_eq!((summary.completed, summary.failed), (8, 0), "{more:?}");
                assert_eq!(summary.output_tokens, Some(64), "{more:?}");
            }
        }
    }
}
