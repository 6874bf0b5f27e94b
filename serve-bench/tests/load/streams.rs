//! What becomes of each trap that serving engines set in their replies.

use record::TokenCount;

use crate::load::common::Scratch;
use crate::load::mock::{Mock, end, event, gap, good, head, part, text, usage_and_done};

#[test]
fn a_plain_stream_gives_counts_instants_and_a_summary() {
    let mock = Mock::playing(|_| good());
    let scratch = Scratch::new();
    let ran = scratch.run(&mock.url, &["--tp", "2", "--seed", "7"]);
    ran.expect(0);
    let serve = ran.serve();
    for (index, request) in serve.requests.iter().enumerate() {
        assert_eq!(request.id as usize, index);
        assert_eq!(request.token_chunks_ms.len(), 2);
        let [first, last] = request.token_chunks_ms[..] else {
            unreachable!()
        };
        // In order, whatever the machine does meanwhile.
        assert!(request.sent_ms < first && first <= last && last <= request.ended_ms);
        assert_eq!(
            (request.input_tokens, request.output_tokens),
            (Some(8), Some(2))
        );
        assert_eq!(request.counted_by, Some(TokenCount::Usage));
    }
    assert!(serve.requests[0].ended_ms <= serve.requests[1].sent_ms);
    let summary = serve.summary.as_ref().unwrap();
    assert_eq!((summary.completed, summary.failed), (2, 0));
    // Two requests of eight and two tokens.
    assert_eq!(
        (summary.input_tokens, summary.output_tokens),
        (Some(16), Some(4))
    );
    let target = serve.target.as_ref().unwrap();
    assert_eq!(
        (target.model.as_str(), target.endpoint.as_str()),
        ("mock-model", "/v1/completions")
    );
    assert_eq!(
        (target.server.as_deref(), target.tp, target.streamed),
        (Some("mock"), Some(2), true)
    );
    assert_eq!(target.base_url, mock.url);
    assert_eq!(serve.load.as_ref().unwrap().seed, 7);
    assert_eq!(ran.record().header.simulated, None);
    let asked = mock.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].path, "/v1/completions");
    assert_ne!(asked[0].body["prompt"], asked[1].body["prompt"]);
}

#[test]
fn a_character_split_between_two_packets_is_one_character() {
    let mock = Mock::playing(|_| {
        let token = text("\u{1f600}");
        let middle = token.find('\u{1f600}').unwrap() + 2;
        let (first, rest) = token.as_bytes().split_at(middle);
        // No usage and no end mark, only a finish reason, as transformers ends without usage.
        let finish = event(r#"{"choices":[{"text":"","finish_reason":"length"}]}"#);
        vec![
            head(),
            part(first),
            gap(20),
            part(rest),
            part(text("b")),
            part(finish),
            end(),
        ]
    });
    let scratch = Scratch::new();
    let ran = scratch.run(&mock.url, &[]);
    ran.expect(0);
    for request in &ran.serve().requests {
        assert_eq!(
            (request.output_tokens, request.counted_by),
            (Some(2), Some(TokenCount::Chunks))
        );
        // The character was whole only after the gap.
        assert!(request.token_chunks_ms[0] - request.sent_ms >= 20.0);
    }
    assert!(ran.caveats().contains("tokens-by-chunks"));
}

#[test]
fn a_reply_of_another_length_has_succeeded_and_is_told() {
    let mock = Mock::playing(|_| vec![head(), part(text("a")), part(usage_and_done(8, 1)), end()]);
    let scratch = Scratch::new();
    let ran = scratch.run(&mock.url, &[]);
    ran.expect(0);
    assert!(ran.caveats().contains("output-length-differs"));
    // Where the model may end its replies, that is what was asked for.
    let scratch = Scratch::new();
    let ran = scratch.run(&mock.url, &["--no-ignore-eos"]);
    ran.expect(0);
    assert!(!ran.caveats().contains("length"), "{}", ran.caveats());
}
