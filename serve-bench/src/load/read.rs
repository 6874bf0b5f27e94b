//! From the bytes of a reply to what is recorded of a request. Runs after the reply has ended.
//!
//! A chunk carries the instant of the read that completed it. What counts as success: a finish reason or `[DONE]` was seen
//! (transformers never sends the latter), at least one token came, and no error stood anywhere in the reply. A reply with
//! another length than was asked for has succeeded: the caller tells of it, because its time is true for what it was.

use std::time::Instant;

use measure::record::{RequestError, RequestErrorKind, ServeRequest, TokenCount};

use super::chunk::{Carries, Seen, Usage, look, words};
use super::reply::{Broke, Reply};
use super::sse::{Event, Reader};

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
    let mut content = Content::default();
    let outcome = match reply.status {
        Some(status) if !status.is_success() => Err(Failure(
            RequestErrorKind::Status,
            format!("{status}: {}", content.error_words(reply)),
        )),
        Some(_) if streamed => content.stream(reply),
        Some(_) => content.whole(reply),
        None => Ok(()),
    };
    let outcome = outcome.and_then(|()| content.ended(reply, streamed));
    let tokens = content.token_chunks();
    let counted = content.usage.and_then(|usage| usage.completion_tokens);
    let (output_tokens, counted_by) = match counted {
        Some(count) => (Some(count), Some(TokenCount::Usage)),
        None if streamed && reply.status.is_some_and(|status| status.is_success()) => {
            (u32::try_from(tokens.len()).ok(), Some(TokenCount::Chunks))
        }
        None => (None, None),
    };
    let outcome = outcome.and_then(|()| match output_tokens {
        Some(0) => Err(Failure(
            RequestErrorKind::WrongLength,
            "the reply has no tokens".to_owned(),
        )),
        _ => Ok(()),
    });
    // Such a count is of something else, and rates from it would be too high.
    let outcome = outcome.and_then(|()| match (counted, asked.max_tokens) {
        (Some(count), Some(limit)) if count > limit => Err(Failure(
            RequestErrorKind::WrongLength,
            format!("the server counted {count} tokens where {limit} were the limit"),
        )),
        _ => Ok(()),
    });
    let ms = |instant: Instant| instant.saturating_duration_since(start).as_secs_f64() * 1e3;
    Read {
        request: ServeRequest {
            id: reply.id,
            sent_ms: ms(reply.sent),
            ended_ms: ms(reply.ended),
            token_chunks_ms: tokens.into_iter().map(ms).collect(),
            input_tokens: content.usage.and_then(|usage| usage.prompt_tokens),
            output_tokens,
            counted_by,
            error: outcome
                .err()
                .map(|Failure(kind, seen)| RequestError { kind, seen }),
        },
        cached_tokens: content.usage.and_then(|usage| usage.cached_tokens()),
        other_model: content.model.filter(|model| *model != asked.model),
    }
}

/// Why a request failed.
struct Failure(RequestErrorKind, String);

/// What was found in a body so far.
#[derive(Default)]
struct Content {
    tokens: Vec<Instant>,
    /// Empty text with a finish reason after which no more tokens came.
    empty_finish: Option<Instant>,
    usage: Option<Usage>,
    /// The model that the last chunk with one names.
    model: Option<String>,
    finished: bool,
    done: bool,
}

impl Content {
    fn stream(&mut self, reply: &Reply) -> Result<(), Failure> {
        let mut reader = Reader::default();
        let mut events = 0;
        for (instant, bytes) in &reply.frames {
            for event in reader.push(bytes) {
                events += 1;
                self.event(&event, *instant)?;
            }
        }
        if let Some(event) = reader.finish() {
            events += 1;
            self.event(&event, reply.ended)?;
        }
        if events == 0 && reply.broke.is_none() {
            return Err(self.no_stream(reply));
        }
        Ok(())
    }

    fn event(&mut self, event: &Event, instant: Instant) -> Result<(), Failure> {
        if event.data.trim_ascii() == b"[DONE]" {
            self.done = true;
            return Ok(());
        }
        match look(&event.data) {
            Ok(seen) => self.take(seen, event.error, instant),
            Err(_) if event.error => Err(Failure(
                RequestErrorKind::InStream,
                words(&String::from_utf8_lossy(&event.data)),
            )),
            // Half an event at the end of a stream is no fault of the format.
            Err(_) if event.unfinished => Ok(()),
            Err(error) => Err(Failure(
                RequestErrorKind::Garbled,
                format!("a chunk is not JSON of the OpenAI kind: {error}"),
            )),
        }
    }

    fn take(&mut self, seen: Seen, error: bool, instant: Instant) -> Result<(), Failure> {
        if let Some(words) = seen.error {
            return Err(Failure(RequestErrorKind::InStream, words));
        }
        if error {
            return Err(Failure(
                RequestErrorKind::InStream,
                "an error event without a message".to_owned(),
            ));
        }
        match seen.carries {
            Carries::Tokens => {
                self.tokens.push(instant);
                self.empty_finish = None;
            }
            Carries::EmptyFinish => self.empty_finish = Some(instant),
            Carries::Nothing => {}
        }
        self.finished |= seen.finished;
        self.usage = seen.usage.or(self.usage);
        self.model = seen.model.or(self.model.take());
        Ok(())
    }

    /// A reply that was not streamed.
    fn whole(&mut self, reply: &Reply) -> Result<(), Failure> {
        if reply.broke.is_some() {
            return Ok(());
        }
        let seen = look(&body(reply)).map_err(|error| {
            Failure(
                RequestErrorKind::Garbled,
                format!("the reply is not JSON of the OpenAI kind: {error}"),
            )
        })?;
        if let Some(words) = seen.error {
            return Err(Failure(RequestErrorKind::InStream, words));
        }
        self.finished = seen.finished || seen.carries != Carries::Nothing;
        self.usage = seen.usage;
        self.model = seen.model;
        Ok(())
    }

    /// A body without events: an error as one JSON object, or something else.
    fn no_stream(&self, reply: &Reply) -> Failure {
        let body = body(reply);
        match look(&body) {
            Ok(Seen {
                error: Some(words), ..
            }) => Failure(RequestErrorKind::InStream, words),
            Ok(_) => Failure(
                RequestErrorKind::Garbled,
                "the server does not stream: one JSON object came; use --no-stream".to_owned(),
            ),
            Err(_) if body.trim_ascii().is_empty() => {
                Failure(RequestErrorKind::CutShort, "the stream is empty".to_owned())
            }
            Err(_) => Failure(
                RequestErrorKind::Garbled,
                format!("not a stream: {}", words(&String::from_utf8_lossy(&body))),
            ),
        }
    }

    /// How the exchange ended, seen with what was in it.
    fn ended(&self, reply: &Reply, streamed: bool) -> Result<(), Failure> {
        let complete = self.done || self.finished;
        match &reply.broke {
            // All of it was there before the connection broke.
            Some(Broke::Cut(_)) if complete && streamed => Ok(()),
            Some(Broke::Connect(why)) => Err(Failure(RequestErrorKind::Connect, why.clone())),
            Some(Broke::TimedOut(limit)) => Err(Failure(
                RequestErrorKind::TimedOut,
                format!("not done after {} s (--timeout)", limit.as_secs_f64()),
            )),
            Some(Broke::NotHttp(why)) => Err(Failure(RequestErrorKind::Garbled, why.clone())),
            Some(Broke::TooLarge) => Err(Failure(
                RequestErrorKind::Garbled,
                "the reply is larger than 1 GiB".to_owned(),
            )),
            Some(Broke::Cut(why)) => Err(Failure(RequestErrorKind::CutShort, why.clone())),
            None if complete => Ok(()),
            None if streamed => Err(Failure(
                RequestErrorKind::CutShort,
                "the stream ended without a finish reason and without [DONE]".to_owned(),
            )),
            None => Err(Failure(
                RequestErrorKind::CutShort,
                "the reply has no finish reason".to_owned(),
            )),
        }
    }

    /// The instants of chunks with tokens.
    ///
    /// Empty text with the finish reason is a token where the server counted one more than other chunks came, or where it
    /// counted none and nothing else came. With more than one token too many, chunks hold several, and it need not hold any.
    fn token_chunks(&self) -> Vec<Instant> {
        let certain = self.tokens.len();
        let counted = self.usage.and_then(|usage| usage.completion_tokens);
        let is_token = counted.map_or(certain == 0, |count| count as usize == certain + 1);
        let last = self.empty_finish.filter(|_| is_token);
        self.tokens.iter().copied().chain(last).collect()
    }

    fn error_words(&self, reply: &Reply) -> String {
        let body = body(reply);
        match look(&body).map(|seen| seen.error) {
            Ok(Some(words)) => words,
            _ => words(&String::from_utf8_lossy(&body)),
        }
    }
}

fn body(reply: &Reply) -> Vec<u8> {
    let parts = reply.frames.iter().map(|(_, bytes)| bytes.as_ref());
    parts.collect::<Vec<_>>().concat()
}
