//! The API key: from an environment variable that is named, or from a file that nobody else can read.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use hyper::header::HeaderValue;
use rustix::process::geteuid;

/// Bytes of a key's file at most.
const MAX_BYTES: u64 = 1 << 20;

/// Permissions that it may have: its owner reads it, or writes it, too.
const MODES: [u32; 2] = [0o600, 0o400];

/// The header's value with the key, where the command line says where one is.
///
/// # Errors
/// In words, never with the key: a variable that is not set, a file that others can read, or a key that no header can hold.
pub(crate) fn authorization(
    variable: Option<&str>,
    file: Option<&Path>,
) -> Result<Option<HeaderValue>, String> {
    let (place, key) = match (variable, file) {
        (Some(name), _) => {
            let key = std::env::var(name);
            let key = key.map_err(|_| "the variable is not set, or not text".to_owned());
            (format!("--api-key-env {name}"), key)
        }
        (None, Some(path)) => (format!("--api-key-file {}", path.display()), of_file(path)),
        (None, None) => return Ok(None),
    };
    let wrong = |why: &str| format!("{place}: {why}");
    let key = key.map_err(|why| wrong(&why))?;
    if key.trim().is_empty() {
        return Err(wrong("it is empty"));
    }
    let value = HeaderValue::try_from(format!("Bearer {}", key.trim()));
    let mut value = value.map_err(|_| wrong("what it holds cannot be a header"))?;
    value.set_sensitive(true);
    Ok(Some(value))
}

/// Reads a key's file; a link leads to the file that is checked. A pipe could be read once, and steps of a study read it each.
fn of_file(path: &Path) -> Result<String, String> {
    let file = bounded::open_regular(path).map_err(|error| error.to_string())?;
    let found = file.metadata().map_err(|error| error.to_string())?;
    check(&found, path, geteuid().as_raw())?;
    let key = bounded::all(file, MAX_BYTES).and_then(bounded::decoded);
    key.map_err(|error| error.to_string())
}

/// Refuses what others may have read or written.
fn check(found: &Metadata, path: &Path, own: u32) -> Result<(), String> {
    let (user, mode) = (found.uid(), found.mode() & 0o7777);
    if user != own {
        return Err(format!(
            "it belongs to the user {user} and not to {own}, who runs this; make a copy of your own with mode 600"
        ));
    }
    if !MODES.contains(&mode) {
        let name = path.display();
        return Err(format!(
            "it has mode {mode:o}, so that others may have read the key; run `chmod 600 {name}`"
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
        assert_eq!(of_file(&link).unwrap().trim(), "canary");
        set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        assert!(of_file(&link).unwrap_err().contains("chmod 600"));
        set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        let found = std::fs::metadata(&file).unwrap();
        let other = check(&found, &file, found.uid() + 1).unwrap_err();
        assert!(other.contains("belongs to the user"), "{other}");
        write(&file, vec![b'x'; 2 << 20]).unwrap();
        assert!(of_file(&file).unwrap_err().contains("1 MiB"));
        remove_dir_all(&folder).unwrap();
    }
}
