//! A socket whose reads tell when the kernel took the bytes in (SO_TIMESTAMPING, Linux's networking/timestamping.rst).

use std::io::{self, ErrorKind, IoSliceMut, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, TimestampingFlag, Timestamps, recvmsg, setsockopt, sockopt,
};

use super::clock::Clock;

/// A connection's socket; it never blocks.
pub(super) struct Socket {
    stream: TcpStream,
    is_stamped: bool,
}

/// Bytes that were read.
pub(super) struct Taken {
    /// How many; 0 at the end of the connection.
    pub(super) bytes: usize,
    /// When the last of them came in.
    pub(super) at_ns: u64,
    /// Whether the kernel says so; else it is when they were read.
    pub(super) by_kernel: bool,
}

impl Socket {
    /// Takes a connection.
    pub(super) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        // A token must not wait for the acknowledgement of the one before it.
        stream.set_nodelay(true)?;
        let flags = TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE
            | TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE;
        Ok(Self {
            // A kernel without them leaves the instants of the reads.
            is_stamped: setsockopt(&stream, sockopt::Timestamping, &flags).is_ok(),
            stream,
        })
    }

    /// Reads what is there.
    pub(super) fn read(&mut self, buffer: &mut [u8], clock: &Clock) -> io::Result<Taken> {
        let (bytes, stamp) = if self.is_stamped {
            self.read_stamped(buffer)?
        } else {
            (self.stream.read(buffer)?, None)
        };
        let by_kernel = stamp.and_then(|stamp| clock.of_stamp(stamp));
        Ok(Taken {
            bytes,
            at_ns: by_kernel.unwrap_or_else(|| clock.now()),
            by_kernel: by_kernel.is_some(),
        })
    }

    fn read_stamped(&mut self, buffer: &mut [u8]) -> io::Result<(usize, Option<Duration>)> {
        let mut control = nix::cmsg_space!(Timestamps);
        let mut slices = [IoSliceMut::new(buffer)];
        let flags = MsgFlags::empty();
        let message = recvmsg::<()>(
            self.stream.as_raw_fd(),
            &mut slices,
            Some(&mut control),
            flags,
        )?;
        let stamp = message.cmsgs()?.find_map(|control| match control {
            ControlMessageOwned::ScmTimestampsns(stamps) => Some(Duration::from(stamps.system)),
            _ => None,
        });
        Ok((message.bytes, stamp))
    }

    /// Writes as much as the socket takes now.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.stream.write(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(0),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
