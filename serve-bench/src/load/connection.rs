//! One connection to the server, driven by the task that waits for its reply.
//!
//! The instants are taken at the socket: right before the first write of a request, and right after each read, before
//! HTTP, events or JSON are looked at. Connection and reply are polled by the same task one after the other, so that no
//! other request's work stands between a read and the chunk that came with it.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame, Incoming};
use hyper::client::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// What moves bytes between socket and request; `None` once it has ended, for it must not be polled again then.
type Driver = Option<Pin<Box<http1::Connection<Stamped, Full<Bytes>>>>>;

/// A connection that keeps the instants of its socket.
pub(super) struct Connection {
    sender: http1::SendRequest<Full<Bytes>>,
    driver: Driver,
    stamps: Rc<Stamps>,
    peer: Option<SocketAddr>,
}

/// Instants at the socket.
#[derive(Default)]
struct Stamps {
    /// Before the first write since the last [`Connection::send`].
    first_write: Cell<Option<Instant>>,
    /// After the latest read.
    last_read: Cell<Option<Instant>>,
}

impl Connection {
    /// Connects.
    pub(super) async fn open(addresses: &[SocketAddr]) -> io::Result<Self> {
        let stream = TcpStream::connect(addresses).await?;
        stream.set_nodelay(true)?;
        let peer = stream.peer_addr().ok();
        let stamps = Rc::new(Stamps::default());
        let io = Stamped {
            io: TokioIo::new(stream),
            stamps: Rc::clone(&stamps),
        };
        let (sender, driver) = http1::handshake(io).await.map_err(io::Error::other)?;
        Ok(Self {
            sender,
            driver: Some(Box::pin(driver)),
            stamps,
            peer,
        })
    }

    /// The address at the other end.
    pub(super) fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// Whether a request can be sent on it now, as far as is known here; the server may have closed it just then.
    pub(super) async fn is_open(&mut self) -> bool {
        poll_fn(|cx| {
            self.drive(cx);
            // Pending means that the last exchange is not over, such as a request that was answered before it was read.
            let ready = matches!(self.sender.poll_ready(cx), Poll::Ready(Ok(())));
            Poll::Ready(ready && self.driver.is_some())
        })
        .await
    }

    /// Sends a request and waits for the head of its reply.
    pub(super) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> hyper::Result<Response<Incoming>> {
        self.stamps.first_write.set(None);
        self.stamps.last_read.set(None);
        let mut response = pin!(self.sender.send_request(request));
        let driver = &mut self.driver;
        poll_fn(|cx| {
            drive(driver, cx);
            response.as_mut().poll(cx)
        })
        .await
    }

    /// Waits for the next frame of a reply's body; `None` at its end.
    pub(super) async fn frame(
        &mut self,
        body: &mut Incoming,
    ) -> Option<hyper::Result<Frame<Bytes>>> {
        poll_fn(|cx| {
            self.drive(cx);
            Pin::new(&mut *body).poll_frame(cx)
        })
        .await
    }

    /// When the latest request began to be written; `None` where not a byte of it was.
    pub(super) fn sent(&self) -> Option<Instant> {
        self.stamps.first_write.get()
    }

    /// When the latest bytes were read since that request; `None` where there were none.
    pub(super) fn last_read(&self) -> Option<Instant> {
        self.stamps.last_read.get()
    }

    fn drive(&mut self, cx: &mut Context<'_>) {
        drive(&mut self.driver, cx);
    }
}

fn drive(driver: &mut Driver, cx: &mut Context<'_>) {
    if let Some(running) = driver
        && running.as_mut().poll(cx).is_ready()
    {
        // What went wrong reaches the request that waits.
        *driver = None;
    }
}

/// A socket that notes when it is written and read.
struct Stamped {
    io: TokioIo<TcpStream>,
    stamps: Rc<Stamps>,
}

impl hyper::rt::Read for Stamped {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: hyper::rt::ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.io).poll_read(cx, buffer);
        if polled.is_ready() {
            self.stamps.last_read.set(Some(Instant::now()));
        }
        polled
    }
}

impl Stamped {
    /// Notes the instant before a write, where that write took bytes and is the first.
    fn note(&self, before: Instant, polled: &Poll<io::Result<usize>>) {
        if matches!(polled, Poll::Ready(Ok(_))) && self.stamps.first_write.get().is_none() {
            self.stamps.first_write.set(Some(before));
        }
    }
}

impl hyper::rt::Write for Stamped {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let before = Instant::now();
        let polled = Pin::new(&mut self.io).poll_write(cx, bytes);
        self.note(before, &polled);
        polled
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let before = Instant::now();
        let polled = Pin::new(&mut self.io).poll_write_vectored(cx, slices);
        self.note(before, &polled);
        polled
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
