//! The memory that the ranks of a communicator map: who makes it, how the others find it, and where what lies.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use super::ffi::{Mapping, nameless};
use crate::collectives::UniqueId;
use crate::error::{DeviceError, Result};

/// Ranks that a communicator can have.
pub(super) const MAX_RANKS: u32 = 16;
/// Bytes of a piece of a message, a multiple of every element.
pub(super) const SLOT: usize = 64 << 10;
/// Bytes before the first slot: the rows of the members.
const HEADER: usize = 4096;
/// Bytes of all ranks' slots, two for each: one is written while the other may still be read.
const LENGTH: usize = HEADER + MAX_RANKS as usize * 2 * SLOT;
/// The first word of a file, with the version of its layout.
const MAGIC: [u8; 8] = *b"tplens\0\x06";
/// How an id of this library begins; then the process, and its descriptor.
const MARK: [u8; 4] = *b"host";

/// Where the slot of a rank begins that a step uses.
pub(super) fn slot(rank: u32, step: u64) -> usize {
    HEADER + (rank as usize * 2 + usize::from(step % 2 == 1)) * SLOT
}

/// A file without a name: the kernel frees it when the last process that has it ends, however that ends. Others open it by
/// way of the process that made it, until this value is dropped; those who have it open by then share it.
pub(super) struct Segment {
    _file: File,
    pub(super) id: UniqueId,
}

impl Segment {
    /// Makes a file, sparse and long enough for all ranks that there can be.
    pub(super) fn create() -> Result<Self> {
        let made = nameless(c"tplens-ranks").and_then(|file| {
            file.set_len(LENGTH as u64)?;
            file.write_all_at(&MAGIC, 0)?;
            Ok(file)
        });
        let file = made.map_err(|error| failed("making shared memory", error))?;
        let mut id = MARK.to_vec();
        id.extend(std::process::id().to_ne_bytes());
        id.extend(file.as_raw_fd().to_ne_bytes());
        Ok(Self {
            id: UniqueId::from_bytes(&id),
            _file: file,
        })
    }
}

/// Maps the memory of an id; `Argument` where the id names none of this library.
pub(super) fn map(id: &UniqueId) -> Result<Mapping> {
    let argument = |why: &str| DeviceError::Argument {
        what: "the unique id",
        why: why.to_owned(),
    };
    let bytes: [u8; 12] = id.bytes("host")?;
    // The machine's byte order, as ids do not leave the machine.
    let word = |at: usize| bytes[at..at + 4].try_into().map_or(0, u32::from_ne_bytes);
    if bytes[..4] != MARK {
        return Err(argument("it is not one of the host backend's"));
    }
    let path = format!("/proc/{}/fd/{}", word(4), word(8));
    let file = OpenOptions::new().read(true).write(true).open(path);
    let mapping = file.and_then(|file| Mapping::new(&file, LENGTH)).map_err(|error| {
        let doing = "opening the first rank's memory, which goes away with its process and once all ranks have joined";
        failed(doing, error)
    })?;
    if mapping.word(0).load(std::sync::atomic::Ordering::Acquire) != u64::from_ne_bytes(MAGIC) {
        return Err(argument(
            "its memory was not made by this version of the program",
        ));
    }
    Ok(mapping)
}

/// An error of the system, with what was tried.
fn failed(doing: &str, error: io::Error) -> DeviceError {
    DeviceError::SharedMemory {
        doing: doing.to_owned(),
        error,
    }
}
