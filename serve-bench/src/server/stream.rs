//! The body of a streamed reply: an event for each token, or for so many, as the engine gives them.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame};

use super::args::Fault;
use super::dialect::{Chunks, DONE};
use super::error::ApiError;
use super::pacer::Tokens;

/// What is known of a reply while its tokens come.
#[derive(Debug, Default)]
pub(super) struct Progress {
    given: u32,
    /// Tokens at the end of those given that are in no event yet.
    held: u32,
    /// Whether the reply is whole.
    is_ended: bool,
    /// Whether it is about to be cut.
    is_cut: bool,
}

/// Server-sent events of one reply. Dropping it early, as when the client has gone, cancels the request.
pub(super) struct Stream {
    pub(super) tokens: Tokens,
    pub(super) chunks: Chunks,
    /// Whether the count is told at the end.
    pub(super) counts: bool,
    /// Tokens in an event; the first one comes alone, as with vLLM's `--stream-interval`.
    pub(super) tokens_per_chunk: u32,
    pub(super) fault: Option<Fault>,
    pub(super) progress: Progress,
}

impl Stream {
    /// Waits for tokens until there is an event.
    fn poll_events(&mut self, context: &mut Context<'_>) -> Poll<String> {
        loop {
            let Some(token) = ready!(self.tokens.poll_recv(context)) else {
                // As vLLM ends a stream whose engine has died: status 200 went out long ago.
                self.progress.is_ended = true;
                let gone = engine_gone().json();
                return Poll::Ready(format!("data: {gone}\n\n{DONE}"));
            };
            self.progress.given += 1;
            self.progress.held += 1;
            let is_full = self.progress.given == 1 || self.progress.held >= self.tokens_per_chunk;
            if !(is_full || token.last) {
                continue;
            }
            let held = std::mem::take(&mut self.progress.held);
            let first = self.progress.given - held;
            let mut events = self.chunks.tokens(first, held, token.last);
            if token.last {
                self.progress.is_ended = true;
                let given = self.progress.given;
                events += &self.chunks.tail(given, token.cached, self.counts);
            }
            return Poll::Ready(events);
        }
    }
}

impl Body for Stream {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if self.progress.is_ended {
            return Poll::Ready(None);
        }
        match self.fault {
            Some(Fault::Stall(tokens)) if self.progress.given >= tokens => return Poll::Pending,
            Some(Fault::Cut(tokens)) if self.progress.given >= tokens => {
                if std::mem::replace(&mut self.progress.is_cut, true) {
                    return Poll::Ready(Some(Err(io::ErrorKind::ConnectionAborted.into())));
                }
                // What was given leaves first.
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            _ => {}
        }
        let events = ready!(self.poll_events(context));
        Poll::Ready(Some(Ok(Frame::data(Bytes::from(events)))))
    }

    fn is_end_stream(&self) -> bool {
        self.progress.is_ended
    }
}

/// The engine has stopped.
pub(super) fn engine_gone() -> ApiError {
    ApiError::internal("EngineCore encountered an issue. The simulated engine has stopped.")
}
