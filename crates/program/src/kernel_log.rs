//! The kernel's log: `/dev/kmsg`, which mostly only the superuser may read, or a file below `/var/log` that a log service fills.
//!
//! Nothing here waits for a line, and no line is judged.

use std::fs::File;
use std::io::{Error, Read};
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, SeekFrom, open, seek};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

/// The kernel's own buffer.
const KMSG: &str = "/dev/kmsg";

/// Where log services put the kernel's lines, Debian's and Red Hat's names.
const FILES: [&str; 3] = ["/var/log/kern.log", "/var/log/messages", "/var/log/syslog"];

/// A record has at most so many bytes (Documentation/ABI/testing/dev-kmsg).
const RECORD: usize = 8192;

/// More records than the largest buffer of a kernel holds.
const MOST_RECORDS: usize = 1 << 20;

/// What is read of a file at most.
const MOST_BYTES: u64 = 16 << 20;

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    /// How long before it was read the kernel wrote it; `None` where only the line itself says when.
    pub ago: Option<Duration>,
    /// Its text.
    pub text: String,
}

/// A log that is open, at some place of it.
#[derive(Debug)]
pub enum KernelLog {
    /// The kernel's buffer, a record a read.
    Buffer(OwnedFd),
    /// A file that grows.
    File(File),
}

impl KernelLog {
    /// Opens the kernel's buffer before its first record.
    ///
    /// # Errors
    /// In words: why it may not be read.
    pub fn open() -> Result<Self, String> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = open(KMSG, flags, Mode::empty());
        opened
            .map(Self::Buffer)
            .map_err(|errno| format!("{KMSG}: {}", Error::from(errno)))
    }

    /// Opens the log behind its last line, so that [`Self::lines`] gives what comes from now on: the buffer, or else the first file
    /// that may be read.
    ///
    /// # Errors
    /// In words: why none may be read.
    pub fn from_now() -> Result<Self, String> {
        let why = match Self::open().and_then(Self::at_its_end) {
            Ok(log) => return Ok(log),
            Err(why) => why,
        };
        let files = FILES.iter().filter_map(|path| File::open(path).ok());
        files
            .filter_map(|file| Self::File(file).at_its_end().ok())
            .next()
            .ok_or_else(|| format!("{why}, and none of {} can be read", FILES.join(", ")))
    }

    /// Opens the log before the first line that is still kept: the buffer, or else the first file that may be read.
    ///
    /// # Errors
    /// In words: why none may be read.
    pub fn kept() -> Result<Self, String> {
        let why = match Self::open() {
            Ok(log) => return Ok(log),
            Err(why) => why,
        };
        let mut files = FILES.iter().filter_map(|path| File::open(path).ok());
        files
            .next()
            .map(Self::File)
            .ok_or_else(|| format!("{why}, and none of {} can be read", FILES.join(", ")))
    }

    fn at_its_end(self) -> Result<Self, String> {
        let end = SeekFrom::End(0);
        match &self {
            Self::Buffer(buffer) => seek(buffer, end),
            Self::File(file) => seek(file, end),
        }
        .map_err(|errno| format!("{KMSG}: {}", Error::from(errno)))?;
        Ok(self)
    }

    /// The text of every record from here to the end.
    ///
    /// # Errors
    /// In words: what the system refuses.
    pub fn lines(&mut self) -> Result<Vec<String>, String> {
        let text = |line: Logged| line.text;
        self.logged()
            .map(|lines| lines.into_iter().map(text).collect())
    }

    /// Every record from here to the end, each with how long ago it was written where the kernel says so.
    ///
    /// # Errors
    /// In words: what the system refuses.
    pub fn logged(&mut self) -> Result<Vec<Logged>, String> {
        match self {
            Self::Buffer(buffer) => {
                records(buffer).map_err(|errno| format!("{KMSG}: {}", Error::from(errno)))
            }
            Self::File(file) => {
                let mut bytes = Vec::new();
                file.take(MOST_BYTES)
                    .read_to_end(&mut bytes)
                    .map_err(|error| error.to_string())?;
                let text = String::from_utf8_lossy(&bytes);
                let line = |line: &str| Logged {
                    ago: None,
                    text: line.to_owned(),
                };
                Ok(text.lines().map(line).collect())
            }
        }
    }
}

fn records(buffer: &OwnedFd) -> Result<Vec<Logged>, Errno> {
    // The kernel's own clock of records stands still while the machine sleeps, as this one does.
    let now = clock_gettime(ClockId::Monotonic);
    let now = Duration::new(
        u64::try_from(now.tv_sec).unwrap_or_default(),
        u32::try_from(now.tv_nsec).unwrap_or_default(),
    );
    let mut lines = Vec::new();
    let mut record = vec![0; RECORD];
    for _ in 0..MOST_RECORDS {
        match rustix::io::read(buffer, &mut record[..]) {
            Ok(0) | Err(Errno::AGAIN) => break,
            Ok(length) => lines.extend(logged(&record[..length], now)),
            // The record was overwritten while this was read; the next call gives the oldest one that is left.
            Err(Errno::PIPE | Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(lines)
}

/// The text of `6,1234,5678,-;message` and of the lines below it that say more, the first of which is the message; the third number is
/// microseconds since the start (Documentation/ABI/testing/dev-kmsg).
fn logged(record: &[u8], now: Duration) -> Option<Logged> {
    let text = String::from_utf8_lossy(record);
    let (numbers, message) = text.split_once(';')?;
    let written = numbers.split(',').nth(2).and_then(|us| us.parse().ok());
    Some(Logged {
        ago: written.map(|us| now.saturating_sub(Duration::from_micros(us))),
        text: message.lines().next()?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_message_stands_behind_the_numbers() {
        let record = b"4,1042,8812345,-;NVRM: Xid (PCI:0000:21:00): 79, pid=1\n SUBSYSTEM=pci\n";
        // Written 8.812345 s behind the start, read at 10 s.
        let line = logged(record, Duration::from_secs(10)).unwrap();
        assert_eq!(line.text, "NVRM: Xid (PCI:0000:21:00): 79, pid=1");
        assert_eq!(line.ago, Some(Duration::from_micros(1_187_655)));
        assert_eq!(logged(b"no record", Duration::ZERO), None);
    }

    #[test]
    fn a_file_gives_what_was_added_since_and_nothing_twice() {
        let path = std::env::temp_dir().join(format!("tplens-kernel-log-{}", std::process::id()));
        std::fs::write(&path, "before\n").unwrap();
        let mut log = KernelLog::File(File::open(&path).unwrap())
            .at_its_end()
            .unwrap();
        assert_eq!(log.lines(), Ok(vec![]));
        let mut file = File::options().append(true).open(&path).unwrap();
        writeln!(file, "one\ntwo").unwrap();
        assert_eq!(log.lines(), Ok(vec!["one".to_owned(), "two".to_owned()]));
        assert_eq!(log.lines(), Ok(vec![]));
        std::fs::remove_file(&path).unwrap();
    }
}
