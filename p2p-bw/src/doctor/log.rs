//! The kernel's log from `/dev/kmsg`, which mostly only the superuser may read.

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use topology::Fact;

const PATH: &str = "/dev/kmsg";
/// A record has at most so many bytes (Documentation/ABI/testing/dev-kmsg).
const RECORD: usize = 8192;
/// More records than the largest buffer of a kernel holds.
const MOST_RECORDS: usize = 1 << 20;

/// The text of every record that is still kept.
pub(super) fn lines() -> Fact<Vec<String>> {
    read().unwrap_or_else(|errno| {
        let reason = std::io::Error::from(errno);
        Fact::Unknown(format!("{PATH}: {reason}"))
    })
}

fn read() -> Result<Fact<Vec<String>>, Errno> {
    let log = open(
        PATH,
        OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let mut lines = Vec::new();
    let mut record = vec![0; RECORD];
    for _ in 0..MOST_RECORDS {
        match rustix::io::read(&log, &mut record[..]) {
            Ok(0) | Err(Errno::AGAIN) => break,
            Ok(length) => lines.extend(text_of(&record[..length])),
            // The record was overwritten while this was read; the next call gives the oldest one that is left.
            Err(Errno::PIPE | Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(if lines.is_empty() {
        Fact::Unknown(format!("{PATH}: it is empty, as in a container"))
    } else {
        Fact::Known(lines)
    })
}

/// The text of `6,1234,5678,-;message` and of the lines below it that say more; the first line is the message.
fn text_of(record: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(record);
    let (_, message) = text.split_once(';')?;
    message.lines().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_stands_behind_the_numbers() {
        let record = b"4,1042,8812345,-;NVRM: Xid (PCI:0000:21:00): 79, pid=1\n SUBSYSTEM=pci\n";
        let text = text_of(record).unwrap();
        assert_eq!(text, "NVRM: Xid (PCI:0000:21:00): 79, pid=1");
        assert_eq!(text_of(b"no record"), None);
    }
}
