//! What two copies of this program say to each other, and the TCP connection for it: one JSON message a line, and an empty line
//! as a sign of life.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use record::Failure;
use runner::child::last_line;
use runner::{Event, Interrupt, Signal, Worker};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::seat::Seat;
use crate::messages::{RankReply, RankRequest};

/// An order to a follower.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    /// It was understood who it is.
    Welcome,
    /// Start the process of the rank; whether the library's log is wanted.
    Start { log: bool },
    /// Pass on a request.
    Ask(RankRequest),
    /// Ask it to leave, and end it where it does not; answered by [`Report::Ended`], and by nothing of this process after it.
    End,
    /// The run is over.
    Leave,
}

/// What comes of a rank: from its process, or from the follower that has it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// Of which job and rank a follower is, and with what it can work, or why it cannot, with its exit code.
    Here {
        job: String,
        rank: u32,
        seat: Result<Box<Seat>, (u8, String)>,
    },
    /// The rank answered.
    Reply(RankReply),
    /// A line that the rank wrote on standard error.
    Line(String),
    /// The rank's process is gone, or what it said was not understood.
    Lost(Failure),
    /// The rank's process is gone, or cannot be ended.
    Ended { is_hung: bool },
    /// A signal came, here or to the follower.
    Signalled(Signal),
}

/// What comes next from a child of this process; nothing where it is silent for so long.
pub(super) fn heard(worker: &mut Worker, limit: Duration, interrupt: &Interrupt) -> Option<Report> {
    Some(match worker.next::<RankReply>(limit, interrupt) {
        Event::Message(reply) => Report::Reply(reply),
        Event::Silent { .. } => return None,
        Event::Interrupted(signal) => Report::Signalled(signal),
        Event::Exited(status) => {
            let said = last_line(&worker.tail());
            Report::Lost(format!("it ended with {status}: {said}").into())
        }
        Event::Garbled { error, .. } => {
            Report::Lost(format!("its answer was not understood: {error}").into())
        }
    })
}

/// How long a process that takes no request has to end, so that it is said how it did.
const ENDS: Duration = Duration::from_secs(1);

/// Sends a request to a child of this process.
///
/// # Errors
/// How it ended, or why else it takes none.
pub(super) fn sent(worker: &mut Worker, request: &RankRequest) -> Result<(), Failure> {
    let Err(error) = worker.send(request) else {
        return Ok(());
    };
    Err(match heard(worker, ENDS, &Interrupt::none()) {
        Some(Report::Lost(reason)) => reason,
        _ => format!("{error}: {}", last_line(&worker.tail())).into(),
    })
}

/// Time between signs of life.
const BEAT: Duration = Duration::from_secs(2);

/// A peer that is silent for this long is gone.
const SILENCE: Duration = Duration::from_secs(20);

/// The longest message; the largest holds what is known of a machine.
const LONGEST: u64 = 64 << 20;

/// One end of the connection.
pub(crate) struct Wire {
    pub(super) writer: Writer,
    inbox: Receiver<Vec<u8>>,
}

/// What writes messages, from any thread.
#[derive(Clone)]
pub(super) struct Writer(Arc<Mutex<TcpStream>>);

impl Wire {
    /// Reads what comes and shows that this side is alive.
    pub(super) fn over(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE))?;
        stream.set_write_timeout(Some(SILENCE))?;
        let lines = BufReader::new(stream.try_clone()?);
        let (sender, inbox) = channel();
        thread::spawn(move || read(lines, &sender));
        let writer = Writer(Arc::new(Mutex::new(stream)));
        let weak = Arc::downgrade(&writer.0);
        thread::spawn(move || {
            while weak
                .upgrade()
                .is_some_and(|stream| Writer(stream).line(b"\n").is_ok())
            {
                thread::sleep(BEAT);
            }
        });
        Ok(Self { writer, inbox })
    }

    /// The next message, where one comes in time.
    ///
    /// # Errors
    /// The other side is gone, or is no copy of this program.
    pub(super) fn take<T: DeserializeOwned>(&self, limit: Duration) -> io::Result<Option<T>> {
        match self.inbox.recv_timeout(limit) {
            Ok(line) => Ok(Some(serde_json::from_slice(&line)?)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(ErrorKind::ConnectionAborted.into()),
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        let stream = self.writer.0.lock().unwrap_or_else(PoisonError::into_inner);
        // One that is gone already needs no end.
        drop(stream.shutdown(Shutdown::Both));
    }
}

impl Writer {
    pub(super) fn put(&self, message: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        self.line(&line)
    }

    fn line(&self, line: &[u8]) -> io::Result<()> {
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stream.write_all(line)
    }
}

/// Hands on lines until the connection ends, is silent, or sends what is too long.
fn read(mut lines: impl BufRead, inbox: &Sender<Vec<u8>>) {
    loop {
        let mut line = Vec::new();
        let read = (&mut lines).take(LONGEST).read_until(b'\n', &mut line);
        if read.is_err() || line.pop() != Some(b'\n') {
            return;
        }
        if !line.is_empty() && inbox.send(line).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runner::WorkerSpec;

    #[test]
    fn a_process_that_takes_no_request_is_said_to_have_ended_and_how() {
        let spec = WorkerSpec::new("rank 1", "sh", ["-c", "kill -9 $$"]);
        let mut worker = Worker::spawn(spec).unwrap();
        let reason = loop {
            if let Err(reason) = sent(&mut worker, &RankRequest::Check) {
                break reason;
            }
        };
        assert!(reason.contains("signal: 9"), "{reason}");
    }
}
