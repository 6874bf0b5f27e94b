//! The API key: from an environment variable that is named, or from a file that nobody else can read.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use hyper::header::HeaderValue;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::process::geteuid;

/// Bytes of a key at most.
const MAX_BYTES: u64 = 16 << 10;

/// Permissions that a key's file may have: its owner reads it, or writes it, too.
const MODES: [u32; 2] = [0o600, 0o400];

/// The header's value with the key, where the command line says where one is.
///
/// # Errors
/// In words, never with the key: a variable that is not set, a file that others can read, or a key that no header can hold.
pub(crate) fn authorization(
    variable: Option<&str>,
    file: Option<&Path>,
) -> Result<Option<HeaderValue>, String> {
    let (key, place) = match (variable, file) {
        (Some(name), _) => {
            let key = std::env::var(name).map_err(|_| {
                format!("--api-key-env: the environment variable {name} is not set, or not text")
            })?;
            (key, format!("--api-key-env: what {name} holds"))
        }
        (None, Some(path)) => {
            let key = of_file(path).map_err(|why| format!("--api-key-file: {why}"))?;
            (
                key,
                format!("--api-key-file: what {} holds", path.display()),
            )
        }
        (None, None) => return Ok(None),
    };
    let key = key.trim();
    if key.is_empty() {
        return Err(format!("{place} is empty"));
    }
    let mut value = HeaderValue::try_from(format!("Bearer {key}"))
        .map_err(|_| format!("{place} cannot be a header"))?;
    value.set_sensitive(true);
    Ok(Some(value))
}

/// Reads a key's file. A link is not followed: what it points to may be changed between two looks.
fn of_file(path: &Path) -> Result<String, String> {
    let name = path.display();
    // A pipe would wait for a writer.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = open(path, flags, Mode::empty()).map_err(|errno| match errno {
        Errno::LOOP => format!("{name} is a symbolic link; name the file itself"),
        errno => format!("cannot read {name}: {}", io::Error::from(errno)),
    })?;
    let file = File::from(file);
    let cannot = |error: io::Error| format!("cannot read {name}: {error}");
    check(&file.metadata().map_err(cannot)?, path, geteuid().as_raw())?;
    let mut key = String::new();
    file.take(MAX_BYTES + 1)
        .read_to_string(&mut key)
        .map_err(cannot)?;
    if key.len() as u64 > MAX_BYTES {
        return Err(format!("{name} is larger than 16 KiB, which is no key"));
    }
    Ok(key)
}

/// Refuses what others may have read or written.
fn check(found: &Metadata, path: &Path, own: u32) -> Result<(), String> {
    let name = path.display();
    let (user, mode) = (found.uid(), found.mode() & 0o7777);
    if !found.is_file() {
        return Err(format!("{name} is no regular file"));
    }
    if user != own {
        return Err(format!(
            "{name} belongs to the user {user} and not to {own}, who runs this; make a copy of your own with mode 600"
        ));
    }
    if !MODES.contains(&mode) {
        return Err(format!(
            "{name} has mode {mode:o}, so that others may have read the key; run `chmod 600 {name}`"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, remove_dir_all, set_permissions, write};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_key_is_read_from_a_file_of_ones_own_only() {
        let folder = std::env::temp_dir().join(format!("serve-bench-key-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("key");
        write(&file, "canary\n").unwrap();
        for (mode, readable) in [(0o600, true), (0o400, true), (0o644, false), (0o660, false)] {
            set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            match of_file(&file) {
                Ok(key) => assert!(readable && key.trim() == "canary", "{mode:o}"),
                Err(why) => {
                    let next = format!("chmod 600 {}", file.display());
                    assert!(!readable && why.contains(&next), "{mode:o}: {why}");
                    assert!(!why.contains("canary"));
                }
            }
        }
        set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        let link = folder.join("link");
        symlink(&file, &link).unwrap();
        assert!(of_file(&link).unwrap_err().contains("symbolic link"));
        assert!(of_file(&folder).unwrap_err().contains("no regular file"));
        let found = std::fs::metadata(&file).unwrap();
        let other = check(&found, &file, found.uid() + 1).unwrap_err();
        assert!(other.contains("belongs to the user"), "{other}");
        write(&file, vec![b'x'; 20 << 10]).unwrap();
        assert!(of_file(&file).unwrap_err().contains("16 KiB"));
        remove_dir_all(&folder).unwrap();
    }
}
