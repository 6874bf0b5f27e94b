//! Reading a whole file that anybody may have written: regular, and not too large. What stands in it is not looked at.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// The bytes of a regular file, or `None` where there are more than `most`.
///
/// # Errors
/// It cannot be opened or read, or is a folder, pipe or device.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    open(path)?
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}

/// The first bytes of a regular file.
///
/// # Errors
/// As [`read`].
pub(crate) fn head(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a regular file. A pipe does not make it wait.
fn open(path: &Path) -> io::Result<File> {
    let without_waiting = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(without_waiting)
        .open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is no regular file"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_limit_and_a_folder_not_at_all() {
        let path = std::env::temp_dir().join(format!("accept-bounded-{}", std::process::id()));
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, 5).unwrap().as_deref(), Some(&b"12345"[..]));
        assert_eq!(read(&path, 4).unwrap(), None);
        assert_eq!(head(&path, 2).unwrap(), b"12");
        std::fs::remove_file(&path).unwrap();
        assert!(read(&std::env::temp_dir(), 5).is_err());
        assert!(read(Path::new("/dev/zero"), 5).is_err());
    }
}
