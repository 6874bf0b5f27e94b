//! Bodies of replies that are faulty on purpose: cut off, a byte at a time, or one line without an end.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Body, Frame};
use tokio::time::{Instant, Sleep};

/// The body of any response; an error closes its connection.
pub(super) type Reply = UnsyncBoxBody<Bytes, io::Error>;

type Frames = Poll<Option<io::Result<Frame<Bytes>>>>;

/// Bytes of one part of an endless line.
const PART: usize = 64 << 10;

/// A body that cannot fail.
pub(super) fn whole<B>(body: B) -> Reply
where
    B: Body<Data = Bytes, Error = Infallible> + Send + 'static,
{
    body.map_err(|never| match never {}).boxed_unsync()
}

/// Ends a body so that its connection is closed within it, after what came before has gone out.
#[derive(Debug, Default)]
pub(super) struct Severing(bool);

impl Severing {
    /// Waits once, so that the connection is flushed, and then fails.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Frames {
        if !std::mem::replace(&mut self.0, true) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Some(Err(io::Error::other("cut on purpose"))))
    }
}

/// Bytes, and then the end of the connection.
pub(super) struct Severed {
    bytes: Option<Bytes>,
    severing: Severing,
}

impl Severed {
    /// The first half of a body.
    pub(super) fn half(body: &str) -> Reply {
        let half = &body.as_bytes()[..body.len() / 2];
        Self {
            bytes: Some(Bytes::copy_from_slice(half)),
            severing: Severing::default(),
        }
        .boxed_unsync()
    }
}

impl Body for Severed {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Frames {
        match self.bytes.take() {
            Some(bytes) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
            None => self.severing.poll(context),
        }
    }
}

/// A body that comes a byte at a time.
pub(super) struct Trickle {
    whole: Reply,
    left: Bytes,
    every: Duration,
    next: Pin<Box<Sleep>>,
}

impl Trickle {
    /// The same body, a byte in this time.
    pub(super) fn of(whole: Reply, every: Duration) -> Reply {
        Self {
            whole,
            left: Bytes::new(),
            every,
            next: Box::pin(tokio::time::sleep(every)),
        }
        .boxed_unsync()
    }
}

impl Body for Trickle {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Frames {
        while self.left.is_empty() {
            match ready!(Pin::new(&mut self.whole).poll_frame(context)) {
                Some(Ok(frame)) => self.left = frame.into_data().unwrap_or_default(),
                end => return Poll::Ready(end),
            }
        }
        ready!(self.next.as_mut().poll(context));
        let then = Instant::now() + self.every;
        self.next.as_mut().reset(then);
        let byte = self.left.split_to(1);
        Poll::Ready(Some(Ok(Frame::data(byte))))
    }
}

/// The beginning of an event, and then one letter again and again without a line end.
pub(super) struct EndlessLine {
    left: u64,
    part: Bytes,
}

impl EndlessLine {
    /// So many bytes of it.
    pub(super) fn of(bytes: u64) -> Reply {
        Self {
            left: bytes,
            part: Bytes::from_static(b"data: "),
        }
        .boxed_unsync()
    }
}

impl Body for EndlessLine {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Frames {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX);
        let part = self.part.slice(..self.part.len().min(most));
        self.left -= part.len() as u64;
        if self.part.len() < PART {
            self.part = Bytes::from(vec![b'x'; PART]);
        }
        Poll::Ready(Some(Ok(Frame::data(part))))
    }
}
