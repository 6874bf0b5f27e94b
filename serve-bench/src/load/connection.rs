//! One connection to the server: a socket that is written and read without anything in between.
//!
//! The instants are taken at the socket: right before the first write of a request, and right after each read, before HTTP,
//! events or JSON are looked at. Where the kernel stamps packets (SO_TIMESTAMPING), the instant at which it received the bytes
//! comes along, so that a client that is late to read does not take its own delay for the server's. Where several packets are
//! read at once, the kernel keeps the stamp of the last. TLS, where it is, stands behind the stamped read and before the first write.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::task::{Poll, ready};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, TimestampingFlag, Timestamps, recv, recvmsg, setsockopt, sockopt,
};
use tokio::io::Interest;
use tokio::net::TcpStream;

use super::clock::{Arrival, Clock};
use super::tls::{Filter, Trust};

/// Bytes of one read at most.
const READ_BYTES: usize = 128 << 10;

/// What to look at where a handshake breaks off.
const NOT_TLS: &str = "TLS was not agreed on, does it answer http:// and not https://?";

/// A connection.
pub(super) struct Connection {
    stream: TcpStream,
    /// Whether the socket took the wish for time stamps.
    stamping: bool,
    /// Of a server at an `https://` address.
    tls: Option<Box<RefCell<Filter>>>,
}

thread_local! {
    /// What all connections of a thread read into, one after the other: a stream that waits holds no buffer.
    static INBOX: RefCell<Inbox> = RefCell::new(Inbox::new());
}

impl Connection {
    /// Connects, with TLS where there is something to trust in.
    pub(super) async fn open(addresses: &[SocketAddr], trust: Option<&Trust>) -> io::Result<Self> {
        let stream = TcpStream::connect(addresses).await?;
        stream.set_nodelay(true)?;
        let flags = TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE
            | TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE;
        let stamping = setsockopt(&stream, sockopt::Timestamping, &flags).is_ok();
        let begun = trust.map(Filter::begin).transpose()?;
        let connection = Self {
            stream,
            stamping,
            tls: begun.map(|tls| Box::new(RefCell::new(tls))),
        };
        if let Some(tls) = &connection.tls {
            connection.shake_hands(tls).await?;
        }
        Ok(connection)
    }

    async fn shake_hands(&self, tls: &RefCell<Filter>) -> io::Result<()> {
        loop {
            let bytes = tls.borrow_mut().outgoing()?;
            self.write([&bytes, b"", b""], &mut Instant::now()).await?;
            if !tls.borrow().is_shaking_hands() {
                return Ok(());
            }
            let take = |bytes: &[u8], arrival| tls.borrow_mut().decrypt(bytes, arrival);
            // Such as a reset by a server that takes the first bytes of TLS for a wrong request.
            let failed =
                |error: io::Error| io::Error::new(error.kind(), format!("{error}; {NOT_TLS}"));
            match self.receive_raw(take).await.map_err(failed)? {
                Some(Ok(())) => {}
                Some(Err(error)) => {
                    // The server is told why, where there is room for it.
                    let alert = tls.borrow_mut().outgoing()?;
                    drop(self.stream.try_write(&alert));
                    return Err(error);
                }
                None => {
                    let why = format!("the server closed the connection; {NOT_TLS}");
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
                }
            }
        }
    }

    /// The address at the other end.
    pub(super) fn peer(&self) -> Option<SocketAddr> {
        self.stream.peer_addr().ok()
    }

    /// Writes a request, in one system call where the socket takes it; notes in `sent` the instant before the first byte. Says whether
    /// all was written: where not, the server answered or closed before, and the connection is of no use behind the reply.
    ///
    /// # Errors
    /// Nothing of it could be written, or not all and the server did not say why.
    pub(super) async fn send(&self, parts: [&[u8]; 3], sent: &mut Instant) -> io::Result<bool> {
        match &self.tls {
            None => self.write(parts, sent).await,
            // What encryption takes is the client's own, and so before the instant.
            Some(tls) => {
                let bytes = tls.borrow_mut().encrypt(parts)?;
                self.write([&bytes, b"", b""], sent).await
            }
        }
    }

    async fn write(&self, parts: [&[u8]; 3], sent: &mut Instant) -> io::Result<bool> {
        let mut parts = parts.map(IoSlice::new);
        let mut left = &mut parts[..];
        let mut begun = false;
        while left.iter().any(|part| !part.is_empty()) {
            let before = Instant::now();
            match self.stream.try_write_vectored(left) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(bytes) => {
                    if !begun {
                        (begun, *sent) = (true, before);
                    }
                    IoSlice::advance_slices(&mut left, bytes);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if !self.until_writable().await? {
                        return Ok(false);
                    }
                }
                // Why it closed may stand in what it answered before.
                Err(_) if begun && self.has_input() => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Waits for bytes and gives them to `take` with the instant at which they came; `None` where the server closed.
    pub(super) async fn receive<R>(
        &self,
        mut take: impl FnMut(&[u8], Arrival) -> R,
    ) -> io::Result<Option<R>> {
        let Some(tls) = &self.tls else {
            return self.receive_raw(take).await;
        };
        loop {
            let taken = tls.borrow_mut().take();
            if let Some((bytes, arrival)) = taken {
                return Ok(Some(take(&bytes, arrival)));
            }
            if tls.borrow().closed {
                return Ok(None);
            }
            let decrypt = |bytes: &[u8], arrival| tls.borrow_mut().decrypt(bytes, arrival);
            match self.receive_raw(decrypt).await? {
                Some(decrypted) => decrypted?,
                None => tls.borrow_mut().closed = true,
            }
        }
    }

    /// The same with the bytes of the wire.
    async fn receive_raw<R>(
        &self,
        mut take: impl FnMut(&[u8], Arrival) -> R,
    ) -> io::Result<Option<R>> {
        poll_fn(|cx| {
            loop {
                ready!(self.stream.poll_read_ready(cx))?;
                match self.try_receive(&mut take) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    received => return Poll::Ready(received),
                }
            }
        })
        .await
    }

    fn try_receive<R>(&self, take: &mut impl FnMut(&[u8], Arrival) -> R) -> io::Result<Option<R>> {
        INBOX.with_borrow_mut(|inbox| {
            let mut received = None;
            let tried = self.stream.try_io(Interest::READABLE, || {
                let (bytes, arrival) = inbox.read(self.stream.as_raw_fd(), self.stamping)?;
                received = Some((bytes, arrival));
                // A short read has emptied the socket, and what comes later is told anew (the socket is watched by edges), so
                // that it is waited for without another read. tokio's own reads do the same.
                match bytes {
                    0 | READ_BYTES => Ok(()),
                    _ => Err(io::ErrorKind::WouldBlock.into()),
                }
            });
            match received {
                Some((0, _)) => Ok(None),
                Some((bytes, arrival)) => Ok(Some(take(&inbox.bytes[..bytes], arrival))),
                None => tried.map(|()| None),
            }
        })
    }

    /// Waits until more can be written; false where there is something to read before.
    async fn until_writable(&self) -> io::Result<bool> {
        loop {
            let ready = self
                .stream
                .ready(Interest::READABLE | Interest::WRITABLE)
                .await?;
            if ready.is_writable() || self.has_input() {
                return Ok(ready.is_writable());
            }
            // Readable was said of bytes that are read by now.
            let nothing = || Err::<(), _>(io::ErrorKind::WouldBlock.into());
            drop(self.stream.try_io(Interest::READABLE, nothing));
        }
    }

    /// Whether a socket has something to read: bytes, its end, or its error. Without, a request can be sent on it now, as far as is
    /// known here; the server may close it just then.
    pub(super) fn has_input(&self) -> bool {
        if let Some(tls) = &self.tls {
            return self.has_input_within(tls);
        }
        let flags = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
        recv(self.stream.as_raw_fd(), &mut [0], flags) != Err(Errno::EAGAIN)
    }

    /// The same within TLS, whose own messages, such as tickets behind a handshake, are nothing to be read.
    fn has_input_within(&self, tls: &RefCell<Filter>) -> bool {
        loop {
            let pulled = INBOX.with_borrow_mut(|inbox| {
                let (bytes, arrival) = inbox.read(self.stream.as_raw_fd(), self.stamping)?;
                let mut tls = tls.borrow_mut();
                match bytes {
                    0 => tls.closed = true,
                    _ => tls.decrypt(&inbox.bytes[..bytes], arrival)?,
                }
                Ok::<(), io::Error>(())
            });
            let tls = tls.borrow();
            match pulled {
                _ if tls.arrival.is_some() || tls.closed => return true,
                Ok(()) => {}
                Err(error) => return error.kind() != io::ErrorKind::WouldBlock,
            }
        }
    }
}

/// Where reads go.
struct Inbox {
    bytes: Box<[u8]>,
    /// The kernel's messages that come with bytes.
    control: Vec<u8>,
    clock: Clock,
}

impl Inbox {
    fn new() -> Self {
        Self {
            bytes: vec![0; READ_BYTES].into(),
            control: nix::cmsg_space!(Timestamps),
            clock: Clock::default(),
        }
    }

    /// Reads once.
    fn read(&mut self, socket: i32, stamping: bool) -> io::Result<(usize, Arrival)> {
        let flags = MsgFlags::MSG_DONTWAIT;
        if !stamping {
            let bytes = recv(socket, &mut self.bytes, flags)?;
            let read = Instant::now();
            let received = None;
            return Ok((bytes, Arrival { read, received }));
        }
        let mut slices = [IoSliceMut::new(&mut self.bytes)];
        let message = recvmsg::<()>(socket, &mut slices, Some(&mut self.control), flags)?;
        let read = Instant::now();
        let stamp = message
            .cmsgs()
            .ok()
            .and_then(|mut messages| messages.find_map(stamp));
        let bytes = message.bytes;
        let received = stamp.and_then(|stamp| self.clock.receipt(stamp, read));
        Ok((bytes, Arrival { read, received }))
    }
}

/// The kernel's stamp, since 1970.
fn stamp(message: ControlMessageOwned) -> Option<Duration> {
    let ControlMessageOwned::ScmTimestampsns(stamps) = message else {
        return None;
    };
    let stamp = Duration::from(stamps.system);
    (!stamp.is_zero()).then_some(stamp)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn bytes_come_with_the_instant_at_which_the_kernel_received_them() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addresses = [listener.local_addr().unwrap()];
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let connection = Connection::open(&addresses, None).await.unwrap();
            let (mut server, _) = listener.accept().unwrap();
            assert!(!connection.has_input());
            let mut sent = Instant::now();
            let written = connection.send([b"a", b"", b"bc"], &mut sent).await;
            assert!(written.unwrap());
            let mut request = [0; 3];
            server.read_exact(&mut request).unwrap();
            assert_eq!(&request, b"abc");
            let before = Instant::now();
            server.write_all(b"xyz").unwrap();
            let received = connection.receive(|bytes, arrival| (bytes.to_vec(), arrival));
            let (bytes, arrival) = received.await.unwrap().unwrap();
            assert_eq!(bytes, b"xyz");
            assert!(arrival.read >= before && arrival.at() <= arrival.read);
            if let Some(received) = arrival.received {
                // The two clocks are compared to within microseconds; a millisecond leaves room for a suspended thread.
                assert!(received + Duration::from_millis(1) >= before);
            }
            drop(server);
            let closed = connection.receive(|bytes, _| bytes.len()).await;
            assert_eq!(closed.unwrap(), None);
            assert!(connection.has_input());
        });
    }
}
