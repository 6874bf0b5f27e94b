//! Mangled replies of real servers through all readers: head, body, events, chunks. Nothing panics, what is read does not depend
//! on where the bytes were cut, and both looks at a chunk agree.
//!
//! Inputs are numbered, and a number makes its input again. See `docs/fuzzing.md`.

use openai::{Body, Carries, Head, Reader, look};

use crate::random::Random;

/// Inputs where nothing else is said, and with `TPLENS_FULL=1`.
const INPUTS: [u64; 2] = [2_000, 20_000];

const STREAMS: &[&str] = &[
    include_str!("../streams/vllm_chat_stream.sse"),
    include_str!("../streams/vllm_cmpl_stream.sse"),
    include_str!("../streams/vllm_spec_interval4_reasoning.sse"),
    include_str!("../streams/vllm_cmpl_spec.sse"),
    include_str!("../streams/vllm_midstream_error.sse"),
    include_str!("../streams/nixl_decode_stream.sse"),
    include_str!("../streams/llamacpp_chat_stream.sse"),
    include_str!("../streams/llamacpp_cmpl_stream.sse"),
    include_str!("../streams/tfs_chat.sse"),
    include_str!("../streams/tfs_cmpl.sse"),
];

/// Pieces that hurt.
const PIECES: &[&str] = &[
    "\r\n",
    "\r",
    "\n\n",
    "data: ",
    "data: [DONE]\n\n",
    ": ping\n\n",
    "event: error\n",
    "error: {}\n\n",
    "\u{feff}",
    "\0",
    "\"",
    "\\",
    "\\u",
    "\\ud800",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "-",
    "1e999",
    "18446744073709551616",
    "0\r\n\r\n",
    "ffffffffffffffff\r\n",
    "HTTP/1.1 100 Continue\r\n\r\n",
    "Content-Length: 5\r\n",
    "Transfer-Encoding: gzip\r\n",
    "\"choices\":[]",
    "\"usage\":{\"completion_tokens\":-1}",
    "\"token_ids\":[1,2]",
    "\u{1f600}",
    "\u{1b}[31m",
];

/// What was read of a reply: whether it was HTTP, its parts of interest, whether it was whole.
#[derive(Debug, Default, PartialEq)]
struct Found {
    head: Option<(u16, bool)>,
    events: Vec<(Vec<u8>, bool, bool)>,
    done: bool,
    /// Why it ended early; behind an error nothing is compared but that there was one.
    error: bool,
}

#[test]
fn mangled_replies_neither_panic_nor_depend_on_cuts() {
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .map(|text| text.parse::<u64>().unwrap())
    };
    let inputs = number("TPLENS_FUZZ_INPUTS")
        .unwrap_or(INPUTS[usize::from(number("TPLENS_FULL") == Some(1))]);
    let first = number("TPLENS_FUZZ_FIRST").unwrap_or(0);
    let (mut http, mut chunks, mut tokens) = (0_u64, 0_u64, 0_u64);
    for seed in first..first + inputs {
        let mut random = Random::new(seed);
        let bytes = input(&mut random);
        let whole = read(&bytes, |left| left);
        let cut = read(&bytes, |left| 1 + random.below(left.min(64)));
        assert_eq!(whole.error, cut.error, "input {seed}");
        if !whole.error {
            assert_eq!(whole, cut, "input {seed}");
        }
        http += u64::from(whole.head.is_some());
        for (data, _, _) in &whole.events {
            if let Ok(seen) = look(data) {
                chunks += 1;
                tokens += u64::from(seen.carries == Carries::Tokens);
                let words = seen.error.as_deref().unwrap_or_default();
                assert!(!words.chars().any(char::is_control), "input {seed}");
            }
        }
    }
    // Seen with --nocapture; a run in which nothing gets through would show nothing.
    let said = format!(
        "{inputs} inputs from {first} on: {http} heads, {chunks} chunks, {tokens} with tokens"
    );
    assert!(
        inputs < 1000 || (http > inputs / 4 && tokens > inputs / 4),
        "{said}"
    );
    if let Some(path) = std::env::var_os("TPLENS_FUZZ_SAID") {
        std::fs::write(path, said).unwrap();
    }
}

/// A reply in one of three framings, mangled up to six times.
fn input(random: &mut Random) -> Vec<u8> {
    let stream = random.one_of(STREAMS).as_bytes();
    let mut bytes = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n".to_vec();
    match random.below(3) {
        0 => {
            bytes.extend(b"transfer-encoding: chunked\r\n\r\n");
            for part in stream.chunks(1 + random.below(600)) {
                bytes.extend(format!("{:x}\r\n", part.len()).bytes());
                bytes.extend(part);
                bytes.extend(b"\r\n");
            }
            bytes.extend(b"0\r\n\r\n");
        }
        1 => {
            bytes.extend(format!("content-length: {}\r\n\r\n", stream.len()).bytes());
            bytes.extend(stream);
        }
        _ => {
            bytes.extend(b"\r\n");
            bytes.extend(stream);
        }
    }
    for _ in 0..random.below(7) {
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => bytes[at] = random.next() as u8,
            1 => bytes.truncate(at + 1),
            2 => {
                let end = (at + random.below(40)).min(bytes.len());
                drop(bytes.drain(at..end));
                bytes.push(b'\n');
            }
            3 => {
                let end = (at + random.below(80)).min(bytes.len());
                let copied = bytes[at..end].to_vec();
                let to = random.below(bytes.len());
                drop(bytes.splice(to..to, copied));
            }
            _ => {
                let piece = random.one_of(PIECES).bytes();
                drop(bytes.splice(at..at, piece));
            }
        }
    }
    bytes
}

/// Reads a reply of which `next` says how many bytes come at once, of so many that are left.
fn read(bytes: &[u8], mut next: impl FnMut(usize) -> usize) -> Found {
    let mut found = Found::default();
    let mut opening = Vec::new();
    let mut body: Option<Body> = None;
    let mut reader = Reader::default();
    let mut left = bytes;
    while !left.is_empty() {
        let (part, behind) = left.split_at(next(left.len()));
        left = behind;
        opening.extend_from_slice(part);
        if body.is_none() {
            match Head::parse(&opening) {
                Ok(None) => continue,
                Ok(Some((head, used))) => {
                    found.head = Some((head.status, head.keep));
                    body = Some(Body::new(head.framing));
                    drop(opening.drain(..used));
                }
                Err(_) => {
                    found.error = true;
                    return found;
                }
            }
        }
        let arrived = std::mem::take(&mut opening);
        let mut rest = &arrived[..];
        let Some(body) = &mut body else {
            continue;
        };
        loop {
            match body.next(&mut rest) {
                Ok(Some(mut part)) => {
                    while let Some(event) = reader.next(&mut part).unwrap() {
                        found
                            .events
                            .push((event.data.to_vec(), event.error, event.unfinished));
                    }
                }
                Ok(None) => break,
                Err(_) => {
                    found.error = true;
                    return found;
                }
            }
        }
        found.done = body.is_done();
    }
    let last = reader.finish();
    found
        .events
        .extend(last.map(|event| (event.data.to_vec(), event.error, event.unfinished)));
    found
}
