//! Whether what a command line names can be written and nothing of it would replace something else, before anything is
//! measured. Nothing stays on the disk.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf, absolute};

use anyhow::anyhow;
use record::private;

use crate::stop::Stop;

/// What a run writes: a flag, or a word for what has none, and where.
pub(crate) type Place<'a> = (&'a str, PathBuf);

/// Whether a file that a flag names can be made.
///
/// # Errors
/// Says that its folder is missing or cannot be written, or that it is a folder itself.
pub fn check_file(flag: &str, path: &Path) -> Result<(), String> {
    // Standard output.
    if path == Path::new("-") {
        return Ok(());
    }
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let named = format!("{flag} {}", path.display());
    if !folder.is_dir() {
        let folder = folder.display();
        return Err(format!(
            "{named}: there is no folder {folder}; make it first"
        ));
    }
    if path.is_dir() {
        return Err(format!("{named}: this is a folder; name a file"));
    }
    if is_device(path) {
        return Ok(());
    }
    try_writing(folder).map_err(|error| {
        let folder = folder.display();
        format!("{named}: cannot write in the folder {folder}: {error}; name a file elsewhere")
    })
}

/// Whether a folder that a flag names can be written, or made where it is not there.
///
/// # Errors
/// Says that there is a file in its place, or that the folder which is to hold it cannot be written.
pub fn check_folder(flag: &str, path: &Path) -> Result<(), String> {
    let named = format!("{flag} {}", path.display());
    // What stands above a name without a folder is the working folder.
    let is_here = path.as_os_str().is_empty();
    let path = if is_here { Path::new(".") } else { path };
    let whole = absolute(path).map_err(|error| format!("{named}: {error}; name a folder"))?;
    let Some(there) = whole.ancestors().find(|ancestor| ancestor.exists()) else {
        return Ok(());
    };
    let shown = there.display();
    if !there.is_dir() {
        let what = if is_device(there) {
            "device, not a folder"
        } else {
            "file"
        };
        return Err(format!("{named}: {shown} is a {what}; name a folder"));
    }
    try_writing(there).map_err(|error| {
        format!("{named}: cannot write in the folder {shown}: {error}; name a folder elsewhere")
    })
}

/// Makes a folder that a flag names, and those above it.
///
/// # Errors
/// It cannot be made: the command line's matter ([`Stop::Usage`]), but for a full disk.
pub fn make_folder(flag: &str, folder: &Path) -> Result<(), Stop> {
    check_folder(flag, folder).map_err(Stop::Usage)?;
    private::make_folders(folder).map_err(|error| {
        let why = format!("cannot make the folder {}: {error}", folder.display());
        match is_full(&error) {
            true => Stop::Internal(anyhow!(why)),
            false => Stop::Usage(format!("{why}; choose one that can be written with {flag}")),
        }
    })
}

/// Whether a disk has no room left, which is not the command line's matter.
fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded
    )
}

/// Whether no file is in the place of another one or of a folder.
///
/// # Errors
/// Names the two that want the same place.
pub fn check_apart(files: &[Place<'_>], folders: &[Place<'_>]) -> Result<(), String> {
    for (index, (name, path)) in files.iter().enumerate() {
        if is_device(path) {
            continue;
        }
        let file = resolved(path);
        let other = files[..index]
            .iter()
            .find(|(_, other)| resolved(other) == file)
            .or_else(|| {
                let below = |(_, folder): &&Place<'_>| resolved(folder).starts_with(&file);
                folders.iter().find(below)
            });
        if let Some((other, _)) = other {
            return Err(format!(
                "{other} and {name} both want {}; give one of them another name",
                path.display()
            ));
        }
    }
    Ok(())
}

/// Whether what a flag writes is none of what others read; a folder that is read counts with the files that lie in it.
///
/// # Errors
/// Names both flags and the file.
pub fn check_not_read(flag: &str, path: &Path, read: &[Place<'_>]) -> Result<(), String> {
    if is_device(path) {
        return Ok(());
    }
    let file = resolved(path);
    let source = read
        .iter()
        .find(|(_, source)| path.exists() && file.starts_with(resolved(source)));
    match source {
        None => Ok(()),
        Some((other, _)) => Err(format!(
            "{flag} {} would replace what {other} reads; name another file",
            path.display()
        )),
    }
}

/// What is written to and not replaced, such as `/dev/null`.
fn is_device(path: &Path) -> bool {
    path.exists() && !path.is_file() && !path.is_dir()
}

/// A path without links, as far as it is there.
fn resolved(path: &Path) -> PathBuf {
    let whole = absolute(path).unwrap_or_else(|_| path.to_owned());
    let known = whole.ancestors().find_map(|ancestor| {
        let rest = whole.strip_prefix(ancestor).ok()?;
        Some(ancestor.canonicalize().ok()?.join(rest))
    });
    known.unwrap_or(whole)
}

/// Makes a file and removes it: permissions alone do not tell of file systems that take none. A full disk passes: whatever is
/// written there says so, with its own exit code.
fn try_writing(folder: &Path) -> io::Result<()> {
    let file = folder.join(format!(".tplens-{}", std::process::id()));
    let made = OpenOptions::new().write(true).create_new(true).open(&file);
    match made {
        Ok(_) => std::fs::remove_file(&file),
        Err(error) if is_full(&error) => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of its own with a file in it.
    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("tplens-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("file"), "text").unwrap();
        folder
    }

    #[test]
    fn a_device_is_no_folder_and_a_full_disk_is_told_from_a_wrong_name() {
        let Err(Stop::Usage(told)) = make_folder("--out", Path::new("/dev/full")) else {
            panic!("a device was taken for a folder");
        };
        assert_eq!(
            told,
            "--out /dev/full: /dev/full is a device, not a folder; name a folder"
        );
        // ENOSPC is 28 and EACCES 13 on every Linux.
        assert!(is_full(&io::Error::from_raw_os_error(28)));
        assert!(!is_full(&io::Error::from_raw_os_error(13)));
    }

    #[test]
    fn a_folder_may_be_made_and_not_below_a_file() {
        let folder = scratch("places");
        assert_eq!(check_folder("--svg", &folder.join("a/b")), Ok(()));
        for path in ["file", "file/a"] {
            let told = check_folder("--svg", &folder.join(path)).unwrap_err();
            assert!(
                told.starts_with("--svg ") && told.contains("is a file"),
                "{told}"
            );
        }
        // A file system of the kernel's own: also root makes no file there.
        for told in [
            check_folder("--out", Path::new("/proc/a")).unwrap_err(),
            check_file("--json", Path::new("/proc/a")).unwrap_err(),
        ] {
            assert!(told.contains("cannot write in the folder /proc"), "{told}");
        }
        assert_eq!(check_file("--json", Path::new("/dev/null")), Ok(()));
        let left = std::fs::read_dir(&folder).unwrap().count();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(left, 1, "only `file`");
    }

    #[test]
    fn what_is_read_is_not_written() {
        let folder = scratch("read");
        std::os::unix::fs::symlink(&folder, folder.join("link")).unwrap();
        let read = [("--tp1", folder.join("file"))];
        let told = check_not_read("--html", &folder.join("link/file"), &read).unwrap_err();
        assert!(told.contains("what --tp1 reads"), "{told}");
        assert_eq!(check_not_read("--html", &folder.join("b"), &read), Ok(()));
        // A result folder is read with its files; a new one beside them replaces nothing.
        let read = [("--tp1", folder.clone())];
        assert!(check_not_read("--json", &folder.join("file"), &read).is_err());
        assert_eq!(check_not_read("--json", &folder.join("new"), &read), Ok(()));
        // What is not there yet is replaced by nobody.
        let read = [("--tp1", folder.join("gone"))];
        assert_eq!(
            check_not_read("--html", &folder.join("gone"), &read),
            Ok(())
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn two_names_of_one_place_are_told() {
        let folder = scratch("apart");
        std::os::unix::fs::symlink(&folder, folder.join("link")).unwrap();
        let file = |flag, name: &str| (flag, folder.join(name));
        let both = [file("--json", "a"), file("--csv", "link/a")];
        let told = check_apart(&both, &[]).unwrap_err();
        assert!(told.starts_with("--json and --csv both want "), "{told}");
        // A folder in the place of a file, and below it.
        for name in ["a", "link/a/b"] {
            let told = check_apart(&both[..1], &[file("--svg", name)]).unwrap_err();
            assert!(told.starts_with("--svg and --json both want "), "{told}");
        }
        let apart = [file("--json", "a"), file("--csv", "b")];
        assert_eq!(check_apart(&apart, &[file("--svg", "pictures")]), Ok(()));
        let null = [
            ("--json", "/dev/null".into()),
            ("--csv", "/dev/null".into()),
        ];
        assert_eq!(check_apart(&null, &[]), Ok(()));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
