//! Each metric on requests whose instants are written here.

use super::*;
use crate::record::{ServeRequest, TokenCount};

/// Sent at 1000 ms; chunks at 1050, 1070, 1090 and 1110 ms; the stream closed at 1118 ms.
fn streamed(output_tokens: Option<u32>) -> ServeRequest {
    ServeRequest {
        id: 0,
        sent_ms: 1000.0,
        ended_ms: 1118.0,
        token_chunks_ms: vec![1050.0, 1070.0, 1090.0, 1110.0],
        input_tokens: Some(89),
        output_tokens,
        counted_by: output_tokens.map(|_| TokenCount::Usage),
        error: None,
    }
}

fn whole_reply() -> ServeRequest {
    ServeRequest {
        token_chunks_ms: Vec::new(),
        ..streamed(Some(4))
    }
}

#[test]
fn a_streamed_request_has_all_four() {
    let request = streamed(Some(4));
    // 1050 - 1000.
    assert_eq!(ttft::of(&request), Some(50.0));
    // (1110 - 1050) / (4 - 1): the 8 ms until the stream closed belong to no token.
    assert_eq!(tpot::of(&request), Some(20.0));
    // 1070 - 1050, 1090 - 1070, 1110 - 1090.
    assert_eq!(itl::of(&request), [20.0, 20.0, 20.0]);
    // 1110 - 1000, so that TPOT = (E2EL - TTFT) / (tokens - 1) holds: (110 - 50) / 3 = 20.
    assert_eq!(e2el::of(&request), 110.0);
}

#[test]
fn several_tokens_in_a_chunk_change_tpot_and_not_itl() {
    // 13 tokens in 4 chunks: (1110 - 1050) / (13 - 1) = 5, while chunks still come every 20 ms.
    let request = streamed(Some(13));
    assert_eq!(tpot::of(&request), Some(5.0));
    assert_eq!(itl::of(&request), [20.0, 20.0, 20.0]);
}

#[test]
fn tpot_is_undefined_where_it_would_be_a_guess() {
    assert_eq!(tpot::of(&streamed(Some(1))), None);
    assert_eq!(tpot::of(&streamed(Some(0))), None);
    assert_eq!(tpot::of(&streamed(None)), None);
    // All tokens in one chunk: 0 ms would be a number about the network, not about the tokens.
    let mut burst = streamed(Some(4));
    burst.token_chunks_ms.truncate(1);
    assert_eq!(tpot::of(&burst), None);
    assert_eq!(itl::of(&burst), Vec::<f64>::new());
}

#[test]
fn a_reply_that_was_not_streamed_has_a_latency_only() {
    let request = whole_reply();
    assert_eq!((ttft::of(&request), tpot::of(&request)), (None, None));
    assert!(itl::of(&request).is_empty());
    // 1118 - 1000.
    assert_eq!(e2el::of(&request), 118.0);
}

#[test]
fn rates_are_over_the_whole_duration() {
    // 64 requests of 256 tokens in 32 s: 2 req/s, 16,384 / 32 = 512 tok/s.
    assert_eq!(request_throughput::of(64, 32.0), 2.0);
    assert_eq!(output_throughput::of(16_384, 32.0), 512.0);
}

#[test]
fn requests_in_flight_follow_from_how_long_each_was_held() {
    // Three requests held 118 ms each within 0.236 s: 3 * 118 / 236 = 1.5.
    let requests = vec![streamed(None), whole_reply(), streamed(Some(4))];
    assert!((in_flight::of(&requests, 0.236) - 1.5).abs() < 1e-12);
}
