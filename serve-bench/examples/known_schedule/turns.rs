//! The server's only thread: it takes requests in, and writes each reply's tokens when they are due.

mod replies;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::os::fd::OwnedFd;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::clock::Clock;
use super::connection::Connection;
use super::manner::Manner;
use super::socket::Socket;
use super::truth::TruthOf;
use super::words::{self, Chunks};

/// Writes that are done before sockets are looked at again, so that requests are read in between.
const WRITES: usize = 64;

/// What stands for the listener among the places of connections.
const LISTENER: u64 = u64::MAX;

/// Bytes that are read at once.
const READ_BYTES: usize = 64 << 10;

/// When a connection's next write is due: the instant, the place, and which of its connections is meant.
type Due = Reverse<(u64, u32, u32)>;

/// The server's state.
pub(super) struct Turns {
    clock: Clock,
    manner: Manner,
    chunks: Chunks,
    epoll: OwnedFd,
    listener: TcpListener,
    places: Vec<Place>,
    free: Vec<u32>,
    due: BinaryHeap<Due>,
    truth: Vec<TruthOf>,
    buffer: Vec<u8>,
    out: Vec<u8>,
}

/// A place for a connection.
#[derive(Default)]
struct Place {
    /// Counts the connections that were here, so that what is due for an earlier one is known as such.
    life: u32,
    connection: Option<Connection>,
}

impl Turns {
    /// Watches a listener.
    pub(super) fn new(listener: TcpListener, manner: Manner) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(
            &epoll,
            &listener,
            EventData::new_u64(LISTENER),
            EventFlags::IN,
        )?;
        Ok(Self {
            clock: Clock::start(),
            chunks: Chunks::new(),
            manner,
            epoll,
            listener,
            places: Vec::new(),
            free: Vec::new(),
            due: BinaryHeap::new(),
            truth: Vec::new(),
            buffer: vec![0; READ_BYTES],
            out: Vec::new(),
        })
    }

    /// Serves for ever.
    ///
    /// # Errors
    /// The system refuses to wait.
    pub(super) fn run(&mut self) -> io::Result<()> {
        let mut events: Vec<Event> = Vec::with_capacity(256);
        loop {
            self.write_due();
            if !self.wait()? {
                continue;
            }
            match epoll::wait(
                &self.epoll,
                spare_capacity(&mut events),
                Some(&Timespec::default()),
            ) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in events.drain(..) {
                // Both are copied out: the event is packed.
                let (data, flags) = (event.data, event.flags);
                match data.u64() {
                    LISTENER => self.accept(),
                    key => self.ready(key, flags),
                }
            }
        }
    }

    /// Waits until a socket is ready or a write is due; says whether a socket is.
    ///
    /// epoll's own time limit has whole milliseconds.
    fn wait(&self) -> io::Result<bool> {
        let limit = self.due.peek().map(|Reverse((due, ..))| {
            let left = due.saturating_sub(self.clock.now());
            Timespec {
                tv_sec: i64::try_from(left / 1_000_000_000).unwrap_or(i64::MAX),
                tv_nsec: i64::try_from(left % 1_000_000_000).unwrap_or(0),
            }
        });
        let mut watched = [PollFd::new(&self.epoll, PollFlags::IN)];
        match poll(&mut watched, limit.as_ref()) {
            Ok(ready) => Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn accept(&mut self) {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    if let Ok(socket) = Socket::new(stream) {
                        self.seat(socket);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Also where no descriptor is left: the next look finds it again.
                Err(_) => return,
            }
        }
    }

    fn seat(&mut self, socket: Socket) {
        let number = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place::default());
            u32::try_from(self.places.len() - 1).unwrap_or(u32::MAX)
        });
        let place = &mut self.places[number as usize];
        let key = EventData::new_u64(key(number, place.life));
        if epoll::add(&self.epoll, &socket, key, EventFlags::IN).is_ok() {
            place.connection = Some(Connection::new(socket));
        } else {
            self.free.push(number);
        }
    }

    /// Sees to a socket that is ready.
    fn ready(&mut self, key: u64, flags: EventFlags) {
        let (number, life) = parts(key);
        let Some(place) = self.places.get_mut(number as usize) else {
            return;
        };
        let Some(connection) = place.connection.as_mut().filter(|_| place.life == life) else {
            return;
        };
        let mut is_good = true;
        if flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
            is_good = connection.fill(&mut self.buffer, &self.clock);
        }
        if is_good && flags.contains(EventFlags::OUT) {
            is_good = connection.drain().is_ok();
            if is_good
                && connection.is_drained()
                && connection.reply.is_some()
                && !self.manner.paced
            {
                self.due.push(Reverse((self.clock.now(), number, life)));
            }
        }
        if is_good {
            self.answer(number);
        } else {
            self.leave(number);
        }
    }

    /// Answers the requests that a connection has, up to the first that takes its time.
    fn answer(&mut self, number: u32) {
        loop {
            let Some(connection) = self.places[number as usize].connection.as_mut() else {
                return;
            };
            let request = match connection.request() {
                Ok(None) => break,
                Ok(Some(request)) => Ok(request),
                Err(why) => {
                    connection.close = true;
                    Err(why)
                }
            };
            let sent = match request {
                Err(why) => connection.send(&words::refusal(400, why)),
                Ok((request, body)) => {
                    connection.close = request.close;
                    self.respond(number, request, &body)
                }
            };
            if sent.is_err() {
                return self.leave(number);
            }
        }
        self.settle(number);
    }

    /// Does writes that are due, up to a number of them.
    fn write_due(&mut self) {
        for _ in 0..WRITES {
            match self.due.peek() {
                Some(Reverse((due, ..))) if *due <= self.clock.now() => {}
                _ => return,
            }
            let Some(Reverse((_, number, life))) = self.due.pop() else {
                return;
            };
            if self.places[number as usize].life == life && self.write(number, life).is_err() {
                self.leave(number);
            }
        }
    }

    /// Watches for room where bytes wait for it, and closes what is over.
    fn settle(&mut self, number: u32) {
        let place = &mut self.places[number as usize];
        let Some(connection) = place.connection.as_mut() else {
            return;
        };
        let is_drained = connection.is_drained();
        if is_drained && connection.close && connection.reply.is_none() {
            return self.leave(number);
        }
        if connection.is_watched_for_room == is_drained {
            let room = if is_drained {
                EventFlags::empty()
            } else {
                EventFlags::OUT
            };
            let key = EventData::new_u64(key(number, place.life));
            let changed =
                epoll::modify(&self.epoll, &connection.socket, key, EventFlags::IN | room);
            connection.is_watched_for_room = !is_drained;
            if changed.is_err() {
                self.leave(number);
            }
        }
    }

    /// Gives a connection up; closing it takes it out of what is watched.
    fn leave(&mut self, number: u32) {
        let place = &mut self.places[number as usize];
        if place.connection.take().is_some() {
            place.life = place.life.wrapping_add(1);
            self.free.push(number);
        }
    }
}

/// A place and the life of its connection in one number.
fn key(number: u32, life: u32) -> u64 {
    u64::from(life) << 32 | u64::from(number)
}

#[expect(clippy::cast_possible_truncation, reason = "the halves of a number")]
fn parts(key: u64) -> (u32, u32) {
    (key as u32, (key >> 32) as u32)
}
