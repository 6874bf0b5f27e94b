//! The file that the ranks of a communicator map: where it is, who makes it, and how it goes away.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::collectives::UniqueId;
use crate::error::{DeviceError, Result};

/// Ranks that a communicator can have.
pub(super) const MAX_RANKS: u32 = 16;
/// Bytes before the first slot: the rows of the members.
pub(super) const HEADER: usize = 4096;
/// Bytes of a slot; longer messages go through it piece by piece. A multiple of every element.
pub(super) const SLOT: usize = 512 << 10;
/// Slots of a rank: one that others may still read, and one to write meanwhile.
pub(super) const SLOTS: usize = 2;
/// The first word of a file, with the version of its layout.
pub(super) const MAGIC: u64 = u64::from_ne_bytes(*b"tplens\0\x01");

/// How an id of this library begins.
const MARK: [u8; 4] = *b"host";
const TOKEN: usize = 16;
const ID: usize = MARK.len() + 1 + TOKEN;

/// Bytes of a file with slots for so many ranks.
pub(super) fn length(ranks: u32) -> usize {
    slot(ranks as usize, 0)
}

/// Where a slot begins.
pub(super) fn slot(rank: usize, which: usize) -> usize {
    HEADER + (rank * SLOTS + which) * SLOT
}

/// A file with a random name; removed when dropped, after which only those who have it open share it.
pub(super) struct Segment {
    path: PathBuf,
    id: UniqueId,
}

/// Where files are put: memory of its own, or the folder of temporary files where there is none.
fn folder(place: u8) -> Option<PathBuf> {
    match place {
        0 => Some(PathBuf::from("/dev/shm")),
        1 => Some(std::env::temp_dir()),
        _ => None,
    }
}

impl Segment {
    /// Makes a file that only this user can open, sparse and long enough for all ranks that there can be.
    pub(super) fn create() -> Result<Self> {
        let mut id = [0; ID];
        id[..MARK.len()].copy_from_slice(&MARK);
        File::open("/dev/urandom")
            .and_then(|mut random| random.read_exact(&mut id[MARK.len() + 1..]))
            .map_err(|error| failed("reading /dev/urandom", error))?;
        if !Path::new("/dev/shm").is_dir() {
            id[MARK.len()] = 1;
        }
        let id = UniqueId::from_bytes(&id);
        let segment = Self {
            path: path(&id)?,
            id,
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        let written = options.open(&segment.path).and_then(|file| {
            file.set_len(length(MAX_RANKS) as u64)?;
            file.write_all_at(&MAGIC.to_ne_bytes(), 0)
        });
        written.map_err(|error| failed(&format!("making {}", segment.path.display()), error))?;
        Ok(segment)
    }

    /// The id that names it.
    pub(super) fn id(&self) -> &UniqueId {
        &self.id
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // The ranks have removed it where all joined; nobody is left to tell where it stays.
        let _ = fs::remove_file(&self.path);
    }
}

/// The file that an id names; an id holds no path, so that it cannot name any other file.
pub(super) fn path(id: &UniqueId) -> Result<PathBuf> {
    let bytes: [u8; ID] = id.bytes("host")?;
    let (mark, rest) = bytes.split_at(MARK.len());
    let folder = rest.first().and_then(|place| folder(*place));
    let folder = folder
        .filter(|_| mark == MARK)
        .ok_or(DeviceError::Argument {
            what: "the unique id",
            why: "it is not one of the host backend's".to_owned(),
        })?;
    let token: String = rest[1..].iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(folder.join(format!("tplens-ranks-{token}")))
}

/// Opens the file of an id.
pub(super) fn open(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .custom_flags(libc::O_NOFOLLOW);
    options.open(path).map_err(|error| {
        let doing = format!(
            "opening {}, which goes away with the process that made the id and once all ranks have joined",
            path.display()
        );
        failed(&doing, error)
    })
}

/// An error of the system, with what was tried.
pub(super) fn failed(doing: &str, error: io::Error) -> DeviceError {
    let full = error.kind() == io::ErrorKind::StorageFull;
    let next = if full {
        "; a container needs a larger --shm-size"
    } else {
        ""
    };
    DeviceError::SharedMemory {
        doing: format!("{doing}{next}"),
        error,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_file_is_its_users_only_sparse_and_gone_when_dropped() {
        let segment = Segment::create().unwrap();
        let file = open(&path(segment.id()).unwrap()).unwrap();
        let found = file.metadata().unwrap();
        assert_eq!(found.mode() & 0o777, 0o600);
        // 16 ranks with 2 slots of 512 KiB: 16 MiB and the header, of which one page at most is there (blocks of 512).
        assert_eq!(found.len(), (16 << 20) + 4096);
        assert!(found.blocks() <= 8, "{}", found.blocks());
        let path = segment.path.clone();
        drop(segment);
        assert!(matches!(open(&path), Err(DeviceError::SharedMemory { .. })));
    }

    #[test]
    fn an_id_names_files_of_this_library_only() {
        let id = |mark: &[u8], place: u8| {
            path(&UniqueId::from_bytes(
                &[mark, &[place], &[b'/'; 16]].concat(),
            ))
        };
        // '/' is 2f in hex.
        let name = format!("/dev/shm/tplens-ranks-{}", "2f".repeat(16));
        assert_eq!(id(b"host", 0).unwrap(), Path::new(&name));
        for refused in [
            id(b"host", 2),
            id(b"hos_", 0),
            path(&UniqueId::from_bytes(&[0; 128])),
        ] {
            assert!(
                matches!(refused, Err(DeviceError::Argument { .. })),
                "{refused:?}"
            );
        }
    }
}
