//! Reading files that anybody may have written: no more bytes than a limit, whatever the file is.
//!
//! It knows no format. Files of the kernel and of a run in progress are read where they are used.
#![forbid(unsafe_code)]

mod encoding;
pub mod pasted;

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

pub use encoding::{decoded, decoded_lossy, other_encoding};

/// Records and journals: a load's ten million instants at 20 bytes each, and room.
pub const RECORD: u64 = 256 << 20;

/// JSON of other tools, and reports and baselines of `accept`: a benchmark's list of three million gaps between tokens.
pub const RESULT: u64 = 64 << 20;

/// Printed text of other tools, and CSV: a server's or a job's whole output around a table.
pub const TEXT: u64 = 16 << 20;

/// What people write by hand: plans, machines, profiles; and a model's `config.json`, the largest known below 1 MiB.
pub const SETTINGS: u64 = 4 << 20;

/// The bytes of a file, which may be a pipe or a device.
///
/// # Errors
/// It cannot be read, or has more than `most` bytes ([`io::ErrorKind::FileTooLarge`]).
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    all(File::open(path)?, most)
}

/// All bytes of a source.
///
/// # Errors
/// As [`read`].
pub fn all(source: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(too_large(most));
    }
    Ok(bytes)
}

/// The error for more than `most` bytes.
#[must_use]
pub fn too_large(most: u64) -> io::Error {
    let words = format!("it is larger than {} MiB", most >> 20);
    io::Error::new(io::ErrorKind::FileTooLarge, words)
}

/// A file as text without the mark of its encoding.
///
/// # Errors
/// As [`read`], and where it is in another encoding than UTF-8, which the error names.
pub fn text(path: &Path, most: u64) -> io::Result<String> {
    decoded(read(path, most)?)
}

/// The bytes of a regular file; a pipe does not make it wait.
///
/// # Errors
/// As [`read`], and where it is a folder, pipe or device.
pub fn regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    all(open_regular(path)?, most)
}

/// The first bytes of a regular file.
///
/// # Errors
/// It cannot be read, or is a folder, pipe or device.
pub fn head(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A regular file, open to be read; a pipe does not make it wait.
///
/// # Errors
/// It cannot be opened, or is a folder, pipe or device.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let without_waiting = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(without_waiting)
        .open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is no regular file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_limit_and_a_device_no_further() {
        let path = std::env::temp_dir().join(format!("bounded-{}", std::process::id()));
        std::fs::write(&path, "12345").unwrap();
        let too_large = |read: io::Result<Vec<u8>>| read.unwrap_err().kind();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert_eq!(too_large(read(&path, 4)), io::ErrorKind::FileTooLarge);
        assert_eq!(regular(&path, 5).unwrap(), b"12345");
        assert_eq!(too_large(regular(&path, 4)), io::ErrorKind::FileTooLarge);
        assert_eq!(head(&path, 2).unwrap(), b"12");
        std::fs::remove_file(&path).unwrap();
        let endless = Path::new("/dev/zero");
        assert_eq!(too_large(read(endless, 9)), io::ErrorKind::FileTooLarge);
        assert!(regular(endless, 9).is_err());
        assert!(regular(&std::env::temp_dir(), 9).is_err());
    }
}
