//! Each metric on requests whose instants are written here.

use super::*;
use crate::{ServeRequest, TokenCount};

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
        ..ServeRequest::default()
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
    assert_eq!(ttft(&request), Some(50.0));
    // (1110 - 1050) / (4 - 1): the 8 ms until the stream closed belong to no token.
    assert_eq!(tpot(&request), Some(20.0));
    // 1070 - 1050, 1090 - 1070, 1110 - 1090.
    assert_eq!(itl(&request), [20.0, 20.0, 20.0]);
    // 1110 - 1000, so that TPOT = (E2EL - TTFT) / (tokens - 1) holds: (110 - 50) / 3 = 20.
    assert_eq!(e2el(&request), 110.0);
}

#[test]
fn several_tokens_in_a_chunk_change_tpot_and_not_itl() {
    // 13 tokens in 4 chunks: (1110 - 1050) / (13 - 1) = 5, while chunks still come every 20 ms.
    let request = streamed(Some(13));
    assert_eq!(tpot(&request), Some(5.0));
    assert_eq!(itl(&request), [20.0, 20.0, 20.0]);
}

#[test]
fn tpot_is_undefined_where_it_would_be_a_guess() {
    assert_eq!(tpot(&streamed(Some(1))), None);
    assert_eq!(tpot(&streamed(Some(0))), None);
    assert_eq!(tpot(&streamed(None)), None);
    // All tokens in one chunk: 0 ms would be a number about the network, not about the tokens.
    let mut burst = streamed(Some(4));
    burst.token_chunks_ms.truncate(1);
    assert_eq!(tpot(&burst), None);
    assert_eq!(itl(&burst), Vec::<f64>::new());
}

#[test]
fn a_reply_that_was_not_streamed_has_a_latency_only() {
    let request = whole_reply();
    assert_eq!((ttft(&request), tpot(&request)), (None, None));
    assert!(itl(&request).is_empty());
    // 1118 - 1000.
    assert_eq!(e2el(&request), 118.0);
}

#[test]
fn requests_in_flight_follow_from_how_long_each_was_held() {
    // Three requests held 118 ms each within 0.236 s: 3 * 118 / 236 = 1.5.
    let requests = vec![streamed(None), whole_reply(), streamed(Some(4))];
    assert!((in_flight(&requests, 0.236) - 1.5).abs() < 1e-12);
}

#[test]
fn the_first_chunk_and_the_queue_count_from_sending_and_from_the_schedule() {
    let mut request = streamed(Some(4));
    assert_eq!((ttfc(&request), queue_time(&request)), (None, None));
    request.first_chunk_ms = Some(1003.0);
    request.intended_ms = Some(900.0);
    // 1003 - 1000, 1000 - 900, and 100 + (1110 - 1000).
    assert_eq!(ttfc(&request), Some(3.0));
    assert_eq!(queue_time(&request), Some(100.0));
    assert_eq!(e2el_intended(&request), Some(210.0));
}

#[test]
fn a_gap_is_shared_among_the_tokens_that_end_it() {
    assert_eq!(itl_per_token(&streamed(Some(4))), [20.0, 20.0, 20.0]);
    // Seven tokens in four chunks, and nobody tells which: no value.
    assert!(itl_per_token(&streamed(Some(7))).is_empty());
    // One, four, one, one: 20 / 4 four times, then 20 twice; TPOT is (1110 - 1050) / 6 = 10.
    let told = ServeRequest {
        chunk_tokens: vec![1, 4, 1, 1],
        ..streamed(Some(7))
    };
    assert_eq!(itl_per_token(&told), [5.0, 5.0, 5.0, 5.0, 20.0, 20.0]);
    assert_eq!(tpot(&told), Some(10.0));
}

#[test]
fn the_peak_counts_tokens_and_not_chunks() {
    // Five chunks 400 ms apart: at most three within a second (0, 400, 800); the one at 1000 after the first is outside.
    let request = |chunk_tokens: Vec<u32>, output_tokens| ServeRequest {
        token_chunks_ms: vec![0.0, 400.0, 800.0, 1200.0, 1600.0],
        chunk_tokens,
        output_tokens: Some(output_tokens),
        ..ServeRequest::default()
    };
    assert_eq!(peak_output(&[request(vec![], 5)]), Some(3.0));
    // 1 + 4 + 4 = 9 and later 4 + 4 + 4 = 12.
    assert_eq!(peak_output(&[request(vec![1, 4, 4, 4, 4], 17)]), Some(12.0));
    // Twenty tokens and nobody tells which: four each, 12.
    assert_eq!(peak_output(&[request(vec![], 20)]), Some(12.0));
    assert_eq!(peak_output(&[whole_reply()]), None);
}

#[test]
fn the_peak_in_flight_is_that_of_an_instant() {
    let held = |sent_ms, ended_ms| ServeRequest {
        sent_ms,
        ended_ms,
        ..ServeRequest::default()
    };
    // Two places, each request followed by the next at the instant of its end: never three.
    let requests = [
        held(0.0, 10.0),
        held(0.0, 12.0),
        held(10.0, 20.0),
        held(12.0, 22.0),
    ];
    assert_eq!(peak_in_flight(&requests), Some(2));
    assert_eq!(peak_in_flight(&[]), None);
}

#[test]
fn a_goal_that_cannot_be_judged_is_not_kept_nor_missed() {
    let goals = |ttft_ms, tpot_ms, e2el_ms| crate::Goals {
        ttft_ms,
        tpot_ms,
        e2el_ms,
    };
    // TTFT 50, TPOT 20, E2EL 110.
    let request = streamed(Some(4));
    for (of, kept) in [
        (goals(Some(50.0), Some(20.0), Some(110.0)), Some(true)),
        (goals(Some(49.0), None, None), Some(false)),
        (goals(None, Some(19.0), None), Some(false)),
        (goals(None, None, Some(109.0)), Some(false)),
    ] {
        assert_eq!(keeps(&request, &of), kept, "{of:?}");
    }
    let first = goals(Some(50.0), None, None);
    assert_eq!(keeps(&whole_reply(), &first), None);
    assert_eq!(good(&[&request, &whole_reply()], &first), None);
    assert_eq!(good(&[&request], &first), Some(1));
    // One token has no time per output token after the first, and keeps any.
    let mut single = streamed(Some(1));
    single.token_chunks_ms.truncate(1);
    assert_eq!(keeps(&single, &goals(None, Some(1.0), None)), Some(true));
}
