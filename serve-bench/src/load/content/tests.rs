//! What replies keep together has a limit.

use super::*;

#[test]
fn lines_without_an_end_have_a_limit_together_that_streams_beside_them_do_not_feel() {
    let (at, piece) = (Instant::now(), vec![b'x'; 1 << 20]);
    let endless = || {
        let mut content = Content::default();
        content.take(b"data: ", at, true).unwrap();
        let taken = (0..15).try_for_each(|_| content.take(&piece, at, true));
        (content, taken.is_ok())
    };
    // 15 MiB are within the limit of a line; 17 of them are 255 of 256 MiB, and an 18th is too many.
    let mut all: Vec<Content> = Vec::new();
    for number in 1..=18 {
        let (content, fits) = endless();
        assert_eq!(fits, number <= 17, "{number}");
        all.push(content);
    }
    let mut beside = Content::default();
    for part in [
        &br#"data: {"choices":[{"index":0,"te"#[..],
        b"xt\":\"a\",\"finish_reason\":null}]}\n\n",
    ] {
        beside.take(part, at, true).unwrap();
    }
    assert_eq!(beside.token_chunks().instants, [at]);
    for content in &mut all {
        content.end(at);
    }
    assert!(endless().1);
}
