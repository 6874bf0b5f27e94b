//! The memory that the ranks of a communicator map: who makes it, how the others find it, and how it goes away.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;

use super::ffi::nameless;
use crate::collectives::UniqueId;
use crate::error::{DeviceError, Result};

/// Ranks that a communicator can have.
pub(super) const MAX_RANKS: u32 = 16;
/// Bytes before the first slot: the rows of the members.
pub(super) const HEADER: usize = 4096;
/// Bytes of a piece of a message, a multiple of every element.
pub(super) const SLOT: usize = 64 << 10;
/// Slots of a rank, one written while the other may still be read.
const SLOTS: u64 = 2;
/// Bytes of a rank's slots, in whole pages, which may lie on nodes of their own.
pub(super) const ROOM: usize = SLOTS as usize * SLOT;
/// The first word of a file, with the version of its layout.
pub(super) const MAGIC: u64 = u64::from_ne_bytes(*b"tplens\0\x05");

/// How an id of this library begins; then the process, its descriptor, and the number of the file.
const MARK: [u8; 4] = *b"host";
const ID: usize = MARK.len() + 4 + 4 + 8;

/// Bytes of a file with slots for so many ranks.
pub(super) fn length(ranks: u32) -> usize {
    room(ranks)
}

/// Where the slots of a rank begin.
pub(super) fn room(rank: u32) -> usize {
    HEADER + rank as usize * ROOM
}

/// Where the slot of a rank begins that a step uses.
pub(super) fn slot(rank: u32, step: u64) -> usize {
    room(rank) + if step.is_multiple_of(SLOTS) { 0 } else { SLOT }
}

/// A file without a name: the kernel frees it when the last process that has it ends, however that ends. Others open it by
/// way of the process that made it, until this value is dropped; those who have it open by then share it.
pub(super) struct Segment {
    _file: File,
    id: UniqueId,
}

impl Segment {
    /// Makes a file, sparse and long enough for all ranks that there can be.
    pub(super) fn create() -> Result<Self> {
        let made = nameless(c"tplens-ranks").and_then(|file| {
            file.set_len(length(MAX_RANKS) as u64)?;
            file.write_all_at(&MAGIC.to_ne_bytes(), 0)?;
            let number = file.metadata()?.ino();
            Ok((file, number))
        });
        let (file, number) = made.map_err(|error| failed("making shared memory", error))?;
        let mut id = MARK.to_vec();
        id.extend(std::process::id().to_ne_bytes());
        id.extend(file.as_raw_fd().to_ne_bytes());
        id.extend(number.to_ne_bytes());
        Ok(Self {
            _file: file,
            id: UniqueId::from_bytes(&id),
        })
    }

    /// The id that names it.
    pub(super) fn id(&self) -> &UniqueId {
        &self.id
    }
}

/// Opens the file of an id.
pub(super) fn open(id: &UniqueId) -> Result<File> {
    let bytes: [u8; ID] = id.bytes("host")?;
    let (mark, rest) = bytes.split_at(MARK.len());
    let (process, rest) = rest.split_at(4);
    let (descriptor, number) = rest.split_at(4);
    if mark != MARK {
        return Err(DeviceError::Argument {
            what: "the unique id",
            why: "it is not one of the host backend's".to_owned(),
        });
    }
    // The machine's byte order, as ids do not leave the machine.
    let word = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_ne_bytes);
    let (process, descriptor) = (word(process), word(descriptor));
    let number = number.try_into().map_or(0, u64::from_ne_bytes);
    let file = others(
        process,
        descriptor,
        number,
        OpenOptions::new().read(true).write(true),
    );
    file.map_err(|error| {
        let doing = format!(
            "opening the memory of process {process}, which goes away with that process and once all ranks have joined"
        );
        failed(&doing, error)
    })
}

/// Opens a file that a process has open, by its descriptor there and its number; `NotFound` where it has that no more.
fn others(process: u32, descriptor: u32, number: u64, how: &OpenOptions) -> io::Result<File> {
    let path = PathBuf::from(format!("/proc/{process}/fd/{descriptor}"));
    // Looked at before it is opened: the descriptor may be that of another file by now.
    let found = fs::metadata(&path)?;
    if found.is_file() && found.ino() == number {
        how.open(path)
    } else {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// An error of the system, with what was tried.
pub(super) fn failed(doing: &str, error: io::Error) -> DeviceError {
    DeviceError::SharedMemory {
        doing: doing.to_owned(),
        error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_no_name_is_sparse_and_gone_when_dropped() {
        let segment = Segment::create().unwrap();
        let file = open(segment.id()).unwrap();
        let found = file.metadata().unwrap();
        // Nothing in any folder refers to it.
        assert_eq!(found.nlink(), 0);
        // One page at most is there (blocks of 512).
        assert!(found.blocks() <= 8, "{}", found.blocks());
        // The page of the header, and two slots of 64 KiB for each of 16 ranks: 1 + 16 x 32 pages.
        assert_eq!(found.len(), 513 * 4096);
        let id = segment.id().clone();
        drop(segment);
        assert!(matches!(open(&id), Err(DeviceError::SharedMemory { .. })));
    }

    #[test]
    fn an_id_names_memory_of_this_library_only() {
        let segment = Segment::create().unwrap();
        let bytes: [u8; ID] = segment.id().bytes("host").unwrap();
        let mut foreign = bytes;
        foreign[0] = b'g';
        let mut other_file = bytes;
        other_file[ID - 8] ^= 1;
        for refused in [foreign.to_vec(), vec![0; 128]] {
            let refused = open(&UniqueId::from_bytes(&refused));
            assert!(
                matches!(refused, Err(DeviceError::Argument { .. })),
                "{refused:?}"
            );
        }
        let refused = open(&UniqueId::from_bytes(&other_file));
        assert!(
            matches!(refused, Err(DeviceError::SharedMemory { .. })),
            "{refused:?}"
        );
    }
}
