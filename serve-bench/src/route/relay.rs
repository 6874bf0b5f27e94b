//! The body of a decode engine's reply on its way to the client: bytes as they come, whole events only, and an error as an event.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming};
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::{Instant, Sleep};

use super::journal::Kv;
use super::peer::{Exchange, Failure, Whole, kept};
use super::router::Ticket;
use crate::listener::{JSON, Reply, whole};

/// Bytes of an event that are kept until it is whole.
const LARGEST_EVENT: usize = 16 << 20;

/// What ends a stream.
const DONE: &[u8] = b"[DONE]";

/// What a poll of a reply's body gives.
type Polled = Poll<Option<Result<Frame<Bytes>, io::Error>>>;

/// A prefill engine's request beside a decode engine's. Dropping it closes it.
pub(super) struct Beside(pub(super) JoinHandle<Result<Whole, Failure>>);

impl Drop for Beside {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A decode engine's reply that has begun, with the prefill engine's request that is still under way.
pub(super) struct Begun(
    pub(super) Exchange,
    pub(super) Response<Incoming>,
    pub(super) Option<Beside>,
);

impl Begun {
    /// The reply for the client.
    pub(super) fn relayed(self, mut ticket: Ticket, patience: Duration) -> Response<Reply> {
        ticket.row.decode_head_us = ticket.now();
        let Self(exchange, response, beside) = self;
        let (mut head, body) = response.into_parts();
        head.headers = kept(&head.headers, None);
        let kind = head.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        let is_events = kind.is_some_and(|kind| kind.starts_with(b"text/event-stream"))
            && !head.headers.contains_key(CONTENT_ENCODING);
        let relay = Relay {
            body,
            exchange: Some(exchange),
            ticket,
            beside,
            is_events,
            partial: BytesMut::new(),
            saw_done: false,
            is_ended: false,
            silence: Box::pin(tokio::time::sleep(patience)),
            patience,
        };
        Response::from_parts(head, relay.boxed_unsync())
    }
}

/// A reply on its way.
struct Relay {
    body: Incoming,
    exchange: Option<Exchange>,
    ticket: Ticket,
    beside: Option<Beside>,
    /// Whether these are server-sent events that can be read.
    is_events: bool,
    /// The beginning of an event whose end has not come.
    partial: BytesMut,
    saw_done: bool,
    is_ended: bool,
    silence: Pin<Box<Sleep>>,
    patience: Duration,
}

impl Relay {
    /// Bytes of whole events; the rest is kept.
    fn whole_events(&mut self, bytes: Bytes) -> Bytes {
        let tail = &bytes[bytes.len().saturating_sub(32)..];
        self.saw_done |= tail.windows(DONE.len()).any(|window| window == DONE);
        if self.partial.is_empty() && (bytes.ends_with(b"\n\n") || bytes.ends_with(b"\r\n\r\n")) {
            return bytes;
        }
        self.partial.extend_from_slice(&bytes);
        let behind = |end: &[u8]| {
            let at = self.partial.windows(end.len()).rposition(|of| of == end);
            at.map(|at| at + end.len())
        };
        match behind(b"\n\n").max(behind(b"\r\n\r\n")) {
            Some(end) => self.partial.split_to(end).freeze(),
            None if self.partial.len() > LARGEST_EVENT => self.partial.split().freeze(),
            None => Bytes::new(),
        }
    }

    /// The decode engine's body has ended.
    fn finish(&mut self) -> Polled {
        if self.is_events && !self.saw_done {
            return self.fail("decode-broke", "the decode engine's stream has no end");
        }
        self.is_ended = true;
        if let Some(exchange) = self.exchange.take() {
            exchange.finished();
        }
        // A prefill engine may say its last word a little later.
        if let Some(mut beside) = self.beside.take() {
            tokio::spawn(async move { drop((&mut beside.0).await) });
        }
        self.ticket.row.decode_last_us = self.ticket.now();
        self.ticket.end("done", Kv::Taken);
        let rest = self.partial.split().freeze();
        Poll::Ready((!rest.is_empty()).then_some(Ok(Frame::data(rest))))
    }

    /// An engine failed: an event says so, or the connection is broken where there are no events.
    fn fail(&mut self, code: &'static str, message: &str) -> Polled {
        self.is_ended = true;
        self.exchange = None;
        self.beside = None;
        // What came of tokens came after the keys and values.
        let kv = match self.ticket.row.decode_first_us {
            Some(_) => Kv::Taken,
            None => Kv::Lease,
        };
        self.ticket.row.decode_last_us = self.ticket.now();
        self.ticket.end(code, kv);
        if !self.is_events {
            return Poll::Ready(Some(Err(io::Error::other(code))));
        }
        let json = error_json(StatusCode::BAD_GATEWAY, code, message);
        let event = Bytes::from(format!("data: {json}\n\n"));
        Poll::Ready(Some(Ok(Frame::data(event))))
    }

    /// Looks at the prefill engine beside, and says whether it failed.
    fn poll_beside(&mut self, context: &mut Context<'_>) -> bool {
        let beside = self.beside.as_mut();
        let polled = beside.map(|beside| Pin::new(&mut beside.0).poll(context));
        let Some(Poll::Ready(outcome)) = polled else {
            return false;
        };
        self.beside = None;
        let is_done = matches!(outcome, Ok(Ok(_)));
        if is_done {
            self.ticket.row.prefill_reply_us = self.ticket.now();
        }
        !is_done
    }
}

/// An error in the form of OpenAI's interface.
pub(super) fn error(status: StatusCode, code: &str, message: &str) -> Response<Reply> {
    whole(status, JSON, error_json(status, code, message))
}

fn error_json(status: StatusCode, code: &str, message: &str) -> String {
    let kind = match status.is_client_error() {
        true => "invalid_request_error",
        false => "upstream_error",
    };
    json!({"error": {"message": message, "type": kind, "code": code}}).to_string()
}

impl Body for Relay {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Polled {
        let this = &mut *self;
        if this.is_ended {
            return Poll::Ready(None);
        }
        if this.poll_beside(context) {
            return this.fail("prefill-broke", "the prefill engine failed");
        }
        loop {
            let frame = match Pin::new(&mut this.body).poll_frame(context) {
                Poll::Ready(frame) => frame,
                Poll::Pending => {
                    ready!(this.silence.as_mut().poll(context));
                    return this.fail(
                        "decode-silent",
                        "the decode engine said nothing for too long",
                    );
                }
            };
            let frame = match frame {
                None => return this.finish(),
                Some(Err(_)) => {
                    return this.fail("decode-broke", "the decode engine broke its reply off");
                }
                Some(Ok(frame)) => frame,
            };
            this.silence.as_mut().reset(Instant::now() + this.patience);
            let bytes = match frame.into_data() {
                Ok(bytes) => bytes,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            };
            if this.ticket.row.decode_first_us.is_none() {
                this.ticket.row.decode_first_us = this.ticket.now();
            }
            this.ticket.row.parts += 1;
            let bytes = match this.is_events {
                true => this.whole_events(bytes),
                false => bytes,
            };
            if !bytes.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
        }
    }
}
