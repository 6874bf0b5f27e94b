//! A reply as it came in: what was found in it and when, and how the exchange went; and what is recorded of it after it has ended.
//!
//! What counts as success: a finish reason or `[DONE]` was seen (transformers never sends the latter), at least one token came,
//! and no error stood anywhere in the reply. A reply with another length than was asked for has succeeded: the caller tells of
//! it, because its time is true for what it was.

use std::time::{Duration, Instant};

use hyper::StatusCode;
use openai::words;
use record::{RequestError, RequestErrorKind as Kind, ServeRequest, TokenCount};

use super::clock::Arrival;
use super::content::Content;
use super::intake::failed;

/// What came of one request.
#[derive(Debug)]
pub(super) struct Reply {
    /// Number of the request within its phase, from 0.
    pub(super) id: u32,
    /// Output tokens that it may have at most, where that is known.
    pub(super) limit: Option<u32>,
    /// When the load's schedule wanted it sent; the dispatcher fills it in, and `None` is a closed loop.
    pub(super) intended: Option<Instant>,
    /// Right before its first byte was handed to the socket; where there was no connection, when one was asked for.
    pub(super) sent: Instant,
    /// When its last byte came, or when it was given up.
    pub(super) ended: Instant,
    /// The status, once the head was there.
    pub(super) status: Option<StatusCode>,
    /// The simulated machine that the server says it plays.
    pub(super) soft_box: Option<String>,
    /// What was found in the body.
    pub(super) content: Content,
    /// The reads of the socket.
    pub(super) reads: Reads,
    /// Why there is no more of it; `None` where it was read to its end.
    pub(super) broke: Option<RequestError>,
    /// From the end of the slot's reply before to this request's first byte; `None` for a slot's first.
    pub(super) turnaround: Option<Duration>,
    /// Connections that had to be made anew for it.
    pub(super) reconnects: u32,
    /// How often it was sent again, because the server had closed the connection.
    pub(super) resent: u32,
}

/// The reads of a socket.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Reads {
    /// All of them.
    pub(super) count: u32,
    /// From the kernel's receipt of the bytes to their read, ns, one for each read with a stamp of the kernel.
    pub(super) lags_ns: Vec<u32>,
}

impl Reads {
    /// Adds a read.
    pub(super) fn add(&mut self, arrival: &Arrival) {
        self.count += 1;
        self.lags_ns.extend(arrival.received.map(|received| {
            let lag = arrival.read.saturating_duration_since(received);
            u32::try_from(lag.as_nanos()).unwrap_or(u32::MAX)
        }));
    }
}

impl Reply {
    /// A request that is about to be sent.
    pub(super) fn begin(id: u32) -> Self {
        let now = Instant::now();
        Self {
            id,
            limit: None,
            intended: None,
            sent: now,
            ended: now,
            status: None,
            soft_box: None,
            content: Content::default(),
            reads: Reads::default(),
            broke: None,
            turnaround: None,
            reconnects: 0,
            resent: 0,
        }
    }
}

/// Reads a reply to a request that was or was not to be streamed; instants are counted from `start`.
pub(super) fn read(reply: &Reply, streamed: bool, start: Instant) -> ServeRequest {
    let content = &reply.content;
    let succeeded = reply.status.is_some_and(|status| status.is_success());
    let chunks = if streamed {
        content.token_chunks()
    } else {
        Default::default()
    };
    let usage = content.usage;
    let counted = usage.and_then(|usage| usage.completion_tokens);
    let (output_tokens, counted_by) = match (counted, chunks.by_ids) {
        (Some(count), _) => (Some(count), Some(TokenCount::Usage)),
        (None, Some(ids)) => (Some(ids), Some(TokenCount::TokenIds)),
        (None, None) if streamed && succeeded => (
            u32::try_from(chunks.instants.len()).ok(),
            Some(TokenCount::Chunks),
        ),
        (None, None) => (None, None),
    };
    let wrong_length = || {
        let seen = match (output_tokens?, reply.limit) {
            (0, _) => "the reply has no tokens".to_owned(),
            // Such a count is of something else, and rates from it would be too high.
            (count, Some(limit)) if count > limit && counted.is_some() => {
                format!("the server counted {count} tokens where {limit} were the limit")
            }
            _ => return None,
        };
        Some(failed(Kind::WrongLength, seen))
    };
    // A count per chunk that is more than that of the reply is none.
    let told: u64 = chunks.tokens.iter().map(|tokens| u64::from(*tokens)).sum();
    let chunk_tokens = match output_tokens {
        Some(count) if told <= u64::from(count) => chunks.tokens,
        _ => Vec::new(),
    };
    let ms = |instant: Instant| instant.saturating_duration_since(start).as_secs_f64() * 1e3;
    ServeRequest {
        id: reply.id,
        intended_ms: reply.intended.map(ms),
        sent_ms: ms(reply.sent),
        ended_ms: ms(reply.ended),
        first_chunk_ms: content.first.filter(|_| streamed && succeeded).map(ms),
        token_chunks_ms: chunks.instants.into_iter().map(ms).collect(),
        chunk_tokens,
        cached_tokens: usage.and_then(|usage| usage.cached_tokens),
        input_tokens: usage.and_then(|usage| usage.prompt_tokens),
        output_tokens,
        counted_by,
        error: failure(reply, streamed).or_else(wrong_length),
    }
}

/// Why a request failed: by its status, by what stands in its reply, or by how the exchange ended.
fn failure(reply: &Reply, streamed: bool) -> Option<RequestError> {
    let content = &reply.content;
    let by_content = match reply.status {
        Some(status) if !status.is_success() => {
            let seen = format!("{status}: {}", content.error_words());
            Some(failed(Kind::Status, seen))
        }
        Some(_) => content.failure(streamed, reply.broke.is_none()),
        None => None,
    };
    let is_late = |broke: &RequestError| matches!(broke.kind, Kind::CutShort | Kind::TimedOut);
    by_content.or_else(|| match &reply.broke {
        // All of it was there before the connection broke, or before it was given up.
        Some(broke) if content.is_complete && streamed && is_late(broke) => None,
        Some(broke) => Some(failed(broke.kind, words(&broke.seen))),
        None if content.is_complete => None,
        None if streamed => Some(failed(
            Kind::CutShort,
            "the stream ended without a finish reason and without [DONE]",
        )),
        None => Some(failed(Kind::CutShort, "the reply has no finish reason")),
    })
}
