//! One connection: bytes of requests that came in, the reply under way, and bytes that the socket did not take yet.

use std::io::{self, ErrorKind};

use super::asked::Asked;
use super::clock::Clock;
use super::http::{self, Found, Request};
use super::socket::Socket;

/// A connection.
pub(super) struct Connection {
    pub(super) socket: Socket,
    input: Vec<u8>,
    /// Of the latest bytes: when they came in, and whether the kernel says so.
    pub(super) receipt: (u64, bool),
    backlog: Vec<u8>,
    /// Bytes of the backlog that are written.
    written: usize,
    /// Whether its readiness for writes is watched.
    pub(super) is_watched_for_room: bool,
    /// The reply under way.
    pub(super) reply: Option<Reply>,
    /// Whether it is closed once all is written.
    pub(super) close: bool,
}

/// A reply with tokens still to come.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reply {
    pub(super) asked: Asked,
    /// Tokens that were written.
    pub(super) next: u32,
    /// Its place in the truth.
    pub(super) truth: usize,
    pub(super) receipt_ns: u64,
}

impl Connection {
    /// A new one.
    pub(super) fn new(socket: Socket) -> Self {
        Self {
            socket,
            input: Vec::new(),
            receipt: (0, false),
            backlog: Vec::new(),
            written: 0,
            is_watched_for_room: false,
            reply: None,
            close: false,
        }
    }

    /// Takes in what the socket has; says whether the other side still speaks.
    pub(super) fn fill(&mut self, buffer: &mut [u8], clock: &Clock) -> bool {
        loop {
            match self.socket.read(buffer, clock) {
                Ok(taken) if taken.bytes == 0 => return false,
                Ok(taken) => {
                    self.receipt = (taken.at_ns, taken.by_kernel);
                    self.input.extend_from_slice(&buffer[..taken.bytes]);
                    if taken.bytes < buffer.len() {
                        return true;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
    }

    /// The next request with its body, where one is there and no reply is under way.
    pub(super) fn request(&mut self) -> Result<Option<(Request, Vec<u8>)>, &'static str> {
        if self.reply.is_some() || self.close || self.input.is_empty() {
            return Ok(None);
        }
        match http::find(&self.input) {
            Found::Part => Ok(None),
            Found::Bad(why) => Err(why),
            Found::Request(request) => {
                let body = self.input[request.body.clone()].to_vec();
                self.input.drain(..request.body.end);
                Ok(Some((request, body)))
            }
        }
    }

    /// Hands bytes to the socket, or keeps them until it takes them; says whether it took all at once.
    pub(super) fn send(&mut self, bytes: &[u8]) -> io::Result<bool> {
        let taken = if self.is_drained() {
            self.socket.write(bytes)?
        } else {
            0
        };
        self.backlog.extend_from_slice(&bytes[taken..]);
        Ok(taken == bytes.len())
    }

    /// Hands over what was kept.
    pub(super) fn drain(&mut self) -> io::Result<()> {
        self.written += self.socket.write(&self.backlog[self.written..])?;
        if self.written == self.backlog.len() {
            self.backlog.clear();
            self.written = 0;
        }
        Ok(())
    }

    /// Whether nothing is kept.
    pub(super) fn is_drained(&self) -> bool {
        self.backlog.is_empty()
    }
}
