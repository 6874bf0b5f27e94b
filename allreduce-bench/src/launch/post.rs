//! Messages and signs of life between two copies: numbered files in a folder for each direction, and a counter that moves each
//! second.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::folder;

/// How often a counter moves.
const BEAT: Duration = Duration::from_secs(1);

/// How often another's counter is looked at, at most.
const LOOK: Duration = Duration::from_millis(500);

/// The folder of what is said to a follower, and by it.
pub(super) fn to(room: &Path, rank: u32) -> PathBuf {
    room.join(format!("to-{rank}"))
}

/// See [`to`].
pub(super) fn from(room: &Path, rank: u32) -> PathBuf {
    room.join(format!("from-{rank}"))
}

/// Where messages are put.
pub(super) struct Outbox {
    folder: PathBuf,
    next: u64,
}

impl Outbox {
    pub(super) fn at(folder: PathBuf) -> Self {
        Self { folder, next: 0 }
    }

    /// Writes the next message; the other side sees it whole or not at all.
    pub(super) fn put(&mut self, message: &impl Serialize) -> io::Result<()> {
        folder::write(&self.folder, &name(self.next), message)?;
        self.next += 1;
        Ok(())
    }
}

/// Where messages are found, in the order in which they were put.
pub(super) struct Inbox {
    folder: PathBuf,
    next: u64,
}

impl Inbox {
    pub(super) fn at(folder: PathBuf) -> Self {
        Self { folder, next: 0 }
    }

    /// Takes the next message, where it is there.
    pub(super) fn take<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let name = name(self.next);
        let message = folder::read(&self.folder, &name)?;
        if message.is_some() {
            self.next += 1;
            // The listing of a long run stays short.
            drop(fs::remove_file(self.folder.join(name)));
        }
        Ok(message)
    }
}

fn name(number: u64) -> String {
    format!("{number:010}")
}

/// The pauses of somebody who looks again and again: short after something was found, longer while there is nothing.
pub(super) struct Pace(Duration);

impl Pace {
    const SHORT: Duration = Duration::from_millis(1);
    const LONG: Duration = Duration::from_millis(20);

    pub(super) fn new() -> Self {
        Self(Self::SHORT)
    }

    /// The next pause.
    pub(super) fn pause(&mut self) -> Duration {
        let pause = self.0;
        self.0 = (pause * 2).min(Self::LONG);
        pause
    }

    /// Something was found.
    pub(super) fn hurry(&mut self) {
        self.0 = Self::SHORT;
    }
}

/// Moves this process's counter until it is dropped.
pub(super) struct Beat {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Beat {
    pub(super) fn start(room: &Path, rank: u32) -> io::Result<Self> {
        let (stop, stopped) = channel::<()>();
        let (room, name) = (room.to_owned(), beat(rank));
        folder::write(&room, &name, &0_u64)?;
        let thread = thread::Builder::new()
            .name("beat".to_owned())
            .spawn(move || {
                let mut count = 0_u64;
                while stopped.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
                    count += 1;
                    // A disk that is full for a moment must not end the run; one that stays so is seen by the other side.
                    drop(folder::write(&room, &name, &count));
                }
            })?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Beat {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn beat(rank: u32) -> String {
    format!("beat-{rank}")
}

/// Another's counter, as seen from here.
pub(super) struct Pulse {
    room: PathBuf,
    name: String,
    seen: Option<u64>,
    moved: Instant,
    looked: Instant,
}

impl Pulse {
    pub(super) fn of(room: &Path, rank: u32) -> Self {
        let mut pulse = Self {
            room: room.to_owned(),
            name: beat(rank),
            seen: None,
            moved: Instant::now(),
            looked: Instant::now(),
        };
        pulse.seen = pulse.read();
        pulse
    }

    fn read(&self) -> Option<u64> {
        folder::read(&self.room, &self.name).ok().flatten()
    }

    /// Whether there is a counter.
    pub(super) fn is_there(&self) -> bool {
        self.seen.is_some()
    }

    /// Whether it moved since the last look.
    pub(super) fn moved(&mut self) -> bool {
        let now = self.read();
        let moved = now.is_some() && now != self.seen;
        self.looked = Instant::now();
        if moved {
            self.seen = now;
            self.moved = self.looked;
        }
        moved
    }

    /// For how long it has stood still. A process that was stopped itself, as in a debugger, does not blame the other.
    pub(super) fn still(&mut self) -> Duration {
        let pause = self.looked.elapsed();
        if pause >= LOOK && !self.moved() && pause > 4 * LOOK {
            self.moved = self.looked;
        }
        self.moved.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn messages_come_in_order_once_and_are_their_users_only() {
        let room = std::env::temp_dir().join(format!("tplens-post-{}", std::process::id()));
        measure::private::make_new_folder(&room).unwrap();
        let (mut outbox, mut inbox) = (Outbox::at(room.clone()), Inbox::at(room.clone()));
        assert_eq!(inbox.take::<u32>().unwrap(), None);
        for message in [7, 8, 9] {
            outbox.put(&message).unwrap();
        }
        for entry in fs::read_dir(&room).unwrap() {
            let mode = entry.unwrap().metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let taken: Vec<u32> = (0..3).filter_map(|_| inbox.take().unwrap()).collect();
        let left = fs::read_dir(&room).unwrap().count();
        fs::remove_dir_all(&room).unwrap();
        assert_eq!((taken, left), (vec![7, 8, 9], 0));
        // A folder that went away holds nothing.
        assert_eq!(inbox.take::<u32>().unwrap(), None);
    }

    #[test]
    fn pauses_double_from_1_ms_to_20_ms_and_begin_anew() {
        let mut pace = Pace::new();
        let pauses: Vec<u128> = (0..7).map(|_| pace.pause().as_millis()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 20, 20]);
        pace.hurry();
        assert_eq!(pace.pause().as_millis(), 1);
    }
}
