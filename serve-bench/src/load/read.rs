//! From what was found in a reply to what is recorded of a request. Runs after the reply has ended.
//!
//! What counts as success: a finish reason or `[DONE]` was seen (transformers never sends the latter), at least one token came,
//! and no error stood anywhere in the reply. A reply with another length than was asked for has succeeded: the caller tells of
//! it, because its time is true for what it was.

use std::time::Instant;

use openai::words;
use record::{RequestError, RequestErrorKind, ServeRequest, TokenCount};

use super::broke::Broke;
use super::content::Failure;
use super::reply::Reply;

/// A request as it is recorded, and what else its reply told.
#[derive(Debug, PartialEq)]
pub(super) struct Read {
    /// What is recorded.
    pub(super) request: ServeRequest,
    /// Prompt tokens that the server took from its cache.
    pub(super) cached_tokens: Option<u32>,
    /// The model that the reply says it is of, where that is not the one that was asked for.
    pub(super) other_model: Option<String>,
}

/// What every request asks for.
#[derive(Debug, Clone)]
pub(super) struct AskedFor {
    /// The model.
    pub(super) model: String,
    /// Output tokens at most; `None` where the body was made so that this is not known.
    pub(super) max_tokens: Option<u32>,
    /// Whether the reply is to be streamed.
    pub(super) streamed: bool,
}

/// Reads a reply; instants are counted from `start`.
pub(super) fn read(reply: &Reply, asked: &AskedFor, start: Instant) -> Read {
    let streamed = asked.streamed;
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
    let failure = failure_of(reply, streamed).or_else(|| {
        let wrong = |seen| Some(Failure(RequestErrorKind::WrongLength, seen));
        match (output_tokens, asked.max_tokens) {
            (Some(0), _) => wrong("the reply has no tokens".to_owned()),
            // Such a count is of something else, and rates from it would be too high.
            (Some(count), Some(limit)) if count > limit && counted.is_some() => wrong(format!(
                "the server counted {count} tokens where {limit} were the limit"
            )),
            _ => None,
        }
    });
    // A count per chunk that is more than that of the reply is none.
    let told: u64 = chunks.tokens.iter().map(|tokens| u64::from(*tokens)).sum();
    let chunk_tokens = match output_tokens {
        Some(count) if told <= u64::from(count) => chunks.tokens,
        _ => Vec::new(),
    };
    let ms = |instant: Instant| instant.saturating_duration_since(start).as_secs_f64() * 1e3;
    let cached_tokens = usage.and_then(|usage| usage.cached_tokens);
    Read {
        request: ServeRequest {
            id: reply.id,
            intended_ms: reply.intended.map(ms),
            sent_ms: ms(reply.sent),
            ended_ms: ms(reply.ended),
            first_chunk_ms: content.first.filter(|_| streamed && succeeded).map(ms),
            token_chunks_ms: chunks.instants.into_iter().map(ms).collect(),
            chunk_tokens,
            cached_tokens,
            input_tokens: usage.and_then(|usage| usage.prompt_tokens),
            output_tokens,
            counted_by,
            error: failure.map(|Failure(kind, seen)| RequestError { kind, seen }),
        },
        cached_tokens,
        other_model: content.model.clone().filter(|model| *model != asked.model),
    }
}

/// Why a request failed: by its status, by what stands in its reply, or by how the exchange ended.
fn failure_of(reply: &Reply, streamed: bool) -> Option<Failure> {
    match reply.status {
        Some(status) if !status.is_success() => Some(Failure(
            RequestErrorKind::Status,
            format!("{status}: {}", reply.content.error_words()),
        )),
        Some(_) => reply.content.failure(streamed, reply.broke.is_none()),
        None => None,
    }
    .or_else(|| ended(reply, streamed))
}

/// How the exchange ended, seen with what was in it.
fn ended(reply: &Reply, streamed: bool) -> Option<Failure> {
    let is_complete = reply.content.is_complete;
    let (kind, seen) = match &reply.broke {
        // All of it was there before the connection broke, or before it was given up.
        Some(Broke::Cut(_) | Broke::TimedOut(_)) if is_complete && streamed => {
            return None;
        }
        Some(Broke::Refused(why)) => (RequestErrorKind::Refused, words(why)),
        Some(Broke::Connect(why)) => (RequestErrorKind::Connect, words(why)),
        Some(Broke::TimedOut(limit)) => (
            RequestErrorKind::TimedOut,
            format!("not done after {} s (--timeout)", limit.as_secs_f64()),
        ),
        Some(Broke::NotHttp(why)) => (RequestErrorKind::Garbled, words(why)),
        Some(Broke::TooLarge(what)) => (RequestErrorKind::Garbled, (*what).to_owned()),
        Some(Broke::TooLong(most)) => (
            RequestErrorKind::ReplyTooLong,
            format!("more than {most} chunks of tokens came, four for each that was asked for"),
        ),
        Some(Broke::Cut(why)) => (RequestErrorKind::CutShort, words(why)),
        None if is_complete => return None,
        None if streamed => (
            RequestErrorKind::CutShort,
            "the stream ended without a finish reason and without [DONE]".to_owned(),
        ),
        None => (
            RequestErrorKind::CutShort,
            "the reply has no finish reason".to_owned(),
        ),
    };
    Some(Failure(kind, seen))
}
