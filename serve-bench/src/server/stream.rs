//! The body of a streamed reply: one event a token, as the engine gives them.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame};

use super::counters::Counters;
use super::error::ApiError;
use super::pacer::Tokens;
use super::reply::{Chunks, DONE, Usage};

/// Server-sent events of one reply. Dropping it early, as when the client has gone, cancels the request.
pub(super) struct Stream {
    tokens: Tokens,
    chunks: Chunks,
    counters: Arc<Counters>,
    prompt_tokens: u32,
    given: u32,
    usage: bool,
    ended: bool,
}

impl Stream {
    /// A stream that ends with a usage chunk where it was asked for.
    pub(super) fn new(
        tokens: Tokens,
        chunks: Chunks,
        prompt_tokens: u32,
        usage: bool,
        counters: Arc<Counters>,
    ) -> Self {
        Self {
            tokens,
            chunks,
            counters,
            prompt_tokens,
            given: 0,
            usage,
            ended: false,
        }
    }

    /// What follows the last token.
    fn tail(&self) -> String {
        let mut events = String::new();
        if self.usage {
            events.push_str(
                &self
                    .chunks
                    .usage(Usage::new(self.prompt_tokens, self.given)),
            );
        }
        events.push_str(DONE);
        events
    }
}

impl Body for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let token = ready!(self.tokens.poll_next(context));
        let events = if let Some(token) = token {
            self.counters.token_taken(token.due.elapsed());
            let number = self.given;
            self.given += 1;
            let mut events = self.chunks.token(number, token.last);
            if token.last {
                self.ended = true;
                events.push_str(&self.tail());
            }
            events
        } else {
            // As vLLM ends a stream whose engine has died: status 200 went out long ago.
            self.ended = true;
            format!("data: {}\n\n{DONE}", ApiError::engine_gone().json())
        };
        Poll::Ready(Some(Ok(Frame::data(Bytes::from(events)))))
    }

    fn is_end_stream(&self) -> bool {
        self.ended
    }
}
