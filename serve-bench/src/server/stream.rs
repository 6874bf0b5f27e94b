//! The body of a streamed reply: an event for each token, or for so many, as the engine gives them.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::{Body, Frame};
use tokio::sync::Notify;
use tokio::time::Sleep;

use super::broken::Severing;
use super::counters::Counters;
use super::dialect::{Chunks, Tally, Timings};
use super::error::ApiError;
use super::fault::Kind;
use super::pacer::{Token, Tokens};
use super::reply::Usage;

/// What llama.cpp sends so that nobody in between closes a connection that is silent.
const COMMENT: &str = ":\n\n";

/// How a stream is sent.
#[derive(Debug)]
pub(super) struct Manner {
    /// Whether the count is told at the end.
    pub(super) counts: bool,
    /// Tokens in an event; the first one comes alone, as with vLLM's `--stream-interval`.
    pub(super) tokens_per_chunk: u32,
    /// The role comes at once instead of with the first token.
    pub(super) early_role: bool,
    /// Comments come this far apart until the first token does.
    pub(super) ping: Option<Duration>,
    /// What is told when the stream has ended, so that its connection is closed.
    pub(super) closing: Option<Arc<Notify>>,
    /// A fault, and the tokens before it.
    pub(super) trouble: Option<(Kind, u64)>,
}

/// What is known of a reply while its tokens come.
#[derive(Debug, Default)]
pub(super) struct Progress {
    given: u32,
    cached: u32,
    admitted: Option<Instant>,
    first: Option<Instant>,
    last: Option<Instant>,
}

impl Progress {
    /// Takes a token.
    pub(super) fn add(&mut self, token: &Token) {
        self.given += 1;
        self.cached = token.cached;
        self.admitted = Some(token.admitted);
        self.first.get_or_insert(token.due);
        self.last = Some(token.due);
    }

    /// Tokens so far.
    pub(super) fn given(&self) -> u32 {
        self.given
    }

    /// What the reply's end tells.
    pub(super) fn tally(&self, prompt_tokens: u32) -> Tally {
        let ms = |from: Option<Instant>, to: Option<Instant>| {
            let between = from
                .zip(to)
                .map(|(from, to)| to.saturating_duration_since(from));
            between.map_or(0.0, |time| time.as_secs_f64() * 1e3)
        };
        Tally {
            usage: Usage {
                prompt_tokens,
                completion_tokens: self.given,
                cached_tokens: self.cached,
            },
            timings: Timings {
                prompt_ms: ms(self.admitted, self.first),
                predicted_ms: ms(self.first, self.last),
            },
        }
    }
}

/// Server-sent events of one reply. Dropping it early, as when the client has gone, cancels the request.
pub(super) struct Stream {
    /// `None` once nothing more is waited for.
    tokens: Option<Tokens>,
    chunks: Chunks,
    counters: Arc<Counters>,
    prompt_tokens: u32,
    manner: Manner,
    progress: Progress,
    /// Tokens at the end of those given that are in no event yet.
    held: u32,
    next_ping: Option<Pin<Box<Sleep>>>,
    state: State,
}

/// What comes next.
#[derive(Debug)]
enum State {
    /// The role, before anything else.
    Role,
    /// Tokens.
    Tokens,
    /// Nothing, for ever.
    Stalled,
    /// The end of the connection.
    Severed(Severing),
    /// Nothing: the reply is whole.
    Ended,
}

impl Stream {
    /// A stream of these tokens.
    pub(super) fn new(
        tokens: Tokens,
        chunks: Chunks,
        prompt_tokens: u32,
        manner: Manner,
        counters: Arc<Counters>,
    ) -> Self {
        Self {
            tokens: Some(tokens),
            chunks,
            counters,
            prompt_tokens,
            progress: Progress::default(),
            held: 0,
            next_ping: manner.ping.map(|time| Box::pin(tokio::time::sleep(time))),
            state: if manner.early_role {
                State::Role
            } else {
                State::Tokens
            },
            manner,
        }
    }

    /// The next events; `None` where there are none to come.
    fn poll_events(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<String>>> {
        loop {
            match &mut self.state {
                State::Role => {
                    self.state = State::Tokens;
                    if let Some(role) = self.chunks.role() {
                        return Poll::Ready(Some(Ok(role)));
                    }
                }
                State::Stalled => return Poll::Pending,
                State::Severed(severing) => {
                    return severing
                        .poll(context)
                        .map(|end| end.map(|frame| frame.map(|_| String::new())));
                }
                State::Ended => return Poll::Ready(None),
                State::Tokens => {
                    if let Some(events) = self.trouble() {
                        return Poll::Ready(Some(Ok(events)));
                    }
                    if matches!(self.state, State::Tokens) {
                        return self.poll_token(context).map(|events| Some(Ok(events)));
                    }
                }
            }
        }
    }

    /// Begins the fault where its time has come; gives what goes out before it.
    fn trouble(&mut self) -> Option<String> {
        let (kind, after) = self.manner.trouble?;
        if u64::from(self.progress.given) < after {
            return None;
        }
        self.manner.trouble = None;
        self.tokens = None;
        let mut events = self.held_events(false).unwrap_or_default();
        self.state = match kind {
            Kind::Stall => State::Stalled,
            Kind::Cut => State::Severed(Severing::default()),
            _ => {
                events.push_str(&self.dead());
                State::Ended
            }
        };
        (!events.is_empty()).then_some(events)
    }

    /// Waits for tokens until there is an event.
    fn poll_token(&mut self, context: &mut Context<'_>) -> Poll<String> {
        loop {
            let Some(tokens) = &mut self.tokens else {
                return Poll::Pending;
            };
            let token = match tokens.poll_next(context) {
                Poll::Ready(token) => token,
                Poll::Pending => {
                    ready!(self.poll_ping(context));
                    return Poll::Ready(COMMENT.to_owned());
                }
            };
            let Some(token) = token else {
                // As vLLM ends a stream whose engine has died: status 200 went out long ago.
                self.state = State::Ended;
                return Poll::Ready(self.dead());
            };
            self.counters.token_taken(token.due.elapsed());
            self.next_ping = None;
            self.progress.add(&token);
            self.held += 1;
            let is_full = self.progress.given == 1 || self.held >= self.manner.tokens_per_chunk;
            let is_cut = self
                .manner
                .trouble
                .is_some_and(|(_, after)| u64::from(self.progress.given) >= after);
            if !(is_full || token.last || is_cut) {
                continue;
            }
            let mut events = self.held_events(token.last).unwrap_or_default();
            if token.last {
                self.state = State::Ended;
                self.manner.trouble = None;
                let tally = self.progress.tally(self.prompt_tokens);
                events.push_str(&self.chunks.tail(tally, self.manner.counts));
                if let Some(closing) = &self.manner.closing {
                    closing.notify_one();
                }
            }
            return Poll::Ready(events);
        }
    }

    /// Ready when a comment is due.
    fn poll_ping(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let (Some(sleep), Some(every)) = (&mut self.next_ping, self.manner.ping) else {
            return Poll::Pending;
        };
        ready!(sleep.as_mut().poll(context));
        sleep.as_mut().reset(tokio::time::Instant::now() + every);
        Poll::Ready(())
    }

    /// The events of the tokens that are in none yet.
    fn held_events(&mut self, last: bool) -> Option<String> {
        let held = std::mem::take(&mut self.held);
        (held > 0).then(|| self.chunks.tokens(self.progress.given - held, held, last))
    }

    fn dead(&self) -> String {
        format!(
            "data: {}\n\n{}",
            ApiError::engine_gone().json(),
            self.chunks.end()
        )
    }
}

impl Body for Stream {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let events = ready!(self.poll_events(context));
        Poll::Ready(events.map(|events| events.map(|events| Frame::data(Bytes::from(events)))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.state, State::Ended)
    }
}
