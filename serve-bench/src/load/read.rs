//! From what was found in a reply to what is recorded of a request. Runs after the reply has ended.
//!
//! What counts as success: a finish reason or `[DONE]` was seen (transformers never sends the latter), at least one token came,
//! and no error stood anywhere in the reply. A reply with another length than was asked for has succeeded: the caller tells of
//! it, because its time is true for what it was.

use std::time::Instant;

use openai::words;
use record::{RequestError, RequestErrorKind as Kind, ServeRequest, TokenCount};

use super::broke::failed;
use super::reply::Reply;

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
