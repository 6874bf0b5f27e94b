//! Folders and files of results, logs and journals: their owner alone may open them. A server may print its key into its log, and
//! names of machines stand in every record.
//!
//! What was there before keeps its mode.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Mode of a folder that is made.
const FOLDER: u32 = 0o700;

/// Mode of a file that is made.
const FILE: u32 = 0o600;

/// Makes a folder and those above it that are missing.
///
/// # Errors
/// The system refuses.
pub fn make_folders(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER).create(path)
}

/// Makes a folder that is not there yet, in one that is.
///
/// # Errors
/// There is something of that name, or the system refuses.
pub fn make_new_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(FOLDER).create(path)
}

/// Opens a file whose end is written to, and makes it where it is missing.
///
/// # Errors
/// The system refuses.
pub fn append(path: &Path) -> io::Result<File> {
    options().create(true).append(true).open(path)
}

/// Makes a file whose end is written to.
///
/// # Errors
/// There is something of that name, or the system refuses.
pub fn append_new(path: &Path) -> io::Result<File> {
    options().create_new(true).append(true).open(path)
}

/// Opens a file that is written from its start, and makes it where it is missing.
///
/// # Errors
/// The system refuses.
pub fn create(path: &Path) -> io::Result<File> {
    options().create(true).truncate(true).write(true).open(path)
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(FILE);
    options
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn folders_and_files_that_are_made_are_their_owners_alone() {
        let above = std::env::temp_dir().join(format!("tplens-private-{}", std::process::id()));
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        let below = above.join("a/b");
        make_folders(&below).unwrap();
        make_new_folder(&below.join("c")).unwrap();
        for folder in [&above, &above.join("a"), &below, &below.join("c")] {
            assert_eq!(mode(folder), 0o700, "{}", folder.display());
        }
        // The same folder again, and one that has to be new.
        make_folders(&below).unwrap();
        assert!(make_new_folder(&below).is_err());
        type Open = fn(&Path) -> io::Result<File>;
        for (name, open) in [
            ("log", append as Open),
            ("journal", append_new),
            ("whole", create),
        ] {
            open(&below.join(name)).unwrap();
            assert_eq!(mode(&below.join(name)), 0o600, "{name}");
        }
        assert!(append_new(&below.join("log")).is_err());
        std::fs::remove_dir_all(&above).unwrap();
    }
}
