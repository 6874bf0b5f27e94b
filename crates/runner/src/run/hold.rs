//! One run a folder: a file of the run is locked, so that no other works in its folder.
//!
//! It waits for nothing and says nothing; who cannot have the file decides what that means.

use std::fs::File;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// What came of trying to hold a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// It is held, for as long as this open file is: closed here and in every process that has it from this one.
    Here,
    /// Another open file holds it; the process that took it, where the kernel tells, which may have ended since.
    Elsewhere(Option<u32>),
    /// The file system has no locks.
    Unknown(Errno),
}

/// Tries to hold a file (flock(2)).
#[must_use]
pub fn hold(file: &File) -> Held {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Held::Here,
        Err(Errno::WOULDBLOCK) => Held::Elsewhere(holder(file)),
        Err(errno) => Held::Unknown(errno),
    }
}

/// The process that took a file, where the kernel tells: `1: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF` (proc(5)).
fn holder(file: &File) -> Option<u32> {
    let inode = file.metadata().ok()?.ino().to_string();
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, _, pid, place, ..] = words[..] else {
            return None;
        };
        let is_it = place.rsplit(':').next() == Some(inode.as_str());
        // A process of another name space has no number here.
        pid.parse().ok().filter(|pid| is_it && *pid > 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_held_once_and_free_again_when_it_is_closed() {
        let path = std::env::temp_dir().join(format!("program-hold-{}", std::process::id()));
        let first = File::create(&path).unwrap();
        let second = File::open(&path).unwrap();
        assert_eq!(hold(&first), Held::Here);
        // The kernel's list can miss a lock while other processes take and free theirs.
        let id = std::process::id();
        assert!(matches!(hold(&second), Held::Elsewhere(pid) if pid.is_none_or(|pid| pid == id)));
        drop(first);
        // A process that another test starts has the file until its exec.
        let freed = (0..1000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(5));
            hold(&second) == Held::Here
        });
        assert!(freed);
        std::fs::remove_file(path).unwrap();
    }
}
