//! The thread that reads a server's counters: once before the measured part, then every second, and once after it.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::asker::{Asker, NoReading, Reading};

/// From one reading to the next.
const EVERY: Duration = Duration::from_secs(1);

/// How long the load waits for the reading before it.
const FIRST: Duration = Duration::from_secs(3);

/// A thread that reads.
pub(super) struct Counters {
    tell: Sender<Told>,
    thread: JoinHandle<Seen>,
}

/// A message to the thread.
enum Told {
    /// Read now, go on every second, and say when the first reading is there, or that there is none.
    Begin(Sender<()>),
    /// Read once more and end.
    End,
}

/// What was read.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Seen {
    pub(super) engine: &'static str,
    pub(super) readings: Vec<Reading>,
    pub(super) missed: u32,
    /// Why there are no more, or none at all.
    pub(super) ended: Option<String>,
}

impl Counters {
    /// Starts the thread, which waits.
    ///
    /// # Errors
    /// The system refuses it.
    pub(super) fn start(asker: Asker) -> Result<Self, String> {
        let (tell, told) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("counters".to_owned())
            .spawn(move || watch(&asker, &told))
            .map_err(|error| format!("no thread: {error}"))?;
        Ok(Self { tell, thread })
    }

    /// Begins to read, and waits for the first reading or until there is none; why is told with the result.
    pub(super) fn begin(&self) {
        let (done, first) = mpsc::channel();
        // A thread that is gone drops the sender, which ends the wait.
        drop(self.tell.send(Told::Begin(done)));
        let _ = first.recv_timeout(FIRST);
    }

    /// Reads once more and gives all.
    pub(super) fn end(self) -> Seen {
        drop(self.tell.send(Told::End));
        self.thread.join().unwrap_or_else(|_| Seen {
            ended: Some("the thread that read them crashed".to_owned()),
            ..Seen::default()
        })
    }
}

fn watch(asker: &Asker, told: &Receiver<Told>) -> Seen {
    let mut seen = Seen::default();
    let Ok(Told::Begin(done)) = told.recv() else {
        return seen;
    };
    seen.add(asker.read());
    let _ = done.send(());
    let mut due = Instant::now() + EVERY;
    while seen.ended.is_none() {
        let left = due.saturating_duration_since(Instant::now());
        match told.recv_timeout(left) {
            Err(RecvTimeoutError::Timeout) => {
                seen.add(asker.read());
                // A reading that took longer than a second leaves its place empty.
                let now = Instant::now();
                while due <= now {
                    due += EVERY;
                }
            }
            Ok(Told::Begin(_)) => {}
            Ok(Told::End) | Err(RecvTimeoutError::Disconnected) => {
                seen.add(asker.read());
                break;
            }
        }
    }
    seen
}

impl Seen {
    fn add(&mut self, read: Result<(Reading, &'static str), NoReading>) {
        match read {
            Ok((reading, engine)) => {
                self.engine = engine;
                self.readings.push(reading);
            }
            Err(NoReading::Now) => self.missed += 1,
            Err(NoReading::Never(why)) => self.ended = Some(why),
        }
    }
}
