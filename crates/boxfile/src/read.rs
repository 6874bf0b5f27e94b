//! Reading and writing box files, and the boxes that are compiled in.

use crate::{BoxError, BoxFile};
use std::path::Path;

/// The boxes that are compiled in, by name: every file of the folder `boxes`, as the build script found them.
const BUILTIN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/boxes.rs"));

/// The largest box file that is read, in bytes.
const LARGEST: u64 = 1 << 20;

/// The names of the built-in boxes, in the order of the alphabet.
#[must_use]
pub fn builtin_names() -> Vec<&'static str> {
    BUILTIN.iter().map(|(name, _)| *name).collect()
}

impl BoxFile {
    /// Reads and checks a box from TOML text; `origin` is the path or name that errors show.
    ///
    /// # Errors
    /// [`BoxError::Syntax`] with the line, or [`BoxError::Invalid`] with key and value.
    pub fn from_toml(text: &str, origin: &str) -> Result<Self, BoxError> {
        let read: Self = toml::from_str(text).map_err(|error| BoxError::Syntax {
            origin: origin.to_owned(),
            reason: error.to_string().trim_end().to_owned(),
        })?;
        read.validate(origin)?;
        Ok(read)
    }

    /// Reads and checks a box file of at most 1 MiB.
    ///
    /// # Errors
    /// As [`BoxFile::from_toml`], and [`BoxError::Io`].
    pub fn read(path: &Path) -> Result<Self, BoxError> {
        let origin = path.display().to_string();
        let io = |source| BoxError::Io {
            path: origin.clone(),
            source,
        };
        let size = std::fs::metadata(path).map_err(io)?.len();
        if size > LARGEST {
            return Err(io(std::io::Error::other(format!(
                "{size} bytes, a box file has at most {LARGEST}"
            ))));
        }
        let text = std::fs::read_to_string(path).map_err(|error| match error.kind() {
            // What PowerShell writes, with its mark.
            std::io::ErrorKind::InvalidData => io(std::io::Error::other(
                "it is no UTF-8 text, as UTF-16 and UTF-32 are not; save it as UTF-8",
            )),
            _ => io(error),
        })?;
        // Every second byte of plain letters in UTF-16, which is UTF-8 all the same and has no mark.
        if text.contains('\0') {
            return Err(io(std::io::Error::other(
                "it holds NUL characters, as UTF-16 without its mark does; save it as UTF-8",
            )));
        }
        Self::from_toml(&text, &origin)
    }

    /// A built-in box; `None` when there is none of that name.
    #[must_use]
    pub fn builtin(name: &str) -> Option<Self> {
        let (_, text) = BUILTIN.iter().find(|(builtin, _)| *builtin == name)?;
        // The built-in texts are checked by a test, so this cannot fail in a released program.
        Self::from_toml(text, name).ok()
    }

    /// A built-in box by name, else a box file by path.
    ///
    /// # Errors
    /// [`BoxError::Unknown`] lists the built-in names; otherwise as [`BoxFile::read`].
    pub fn resolve(name_or_path: &str) -> Result<Self, BoxError> {
        if let Some((name, text)) = BUILTIN.iter().find(|(builtin, _)| *builtin == name_or_path) {
            return Self::from_toml(text, name);
        }
        let path = Path::new(name_or_path);
        if !path.exists() {
            return Err(BoxError::Unknown {
                name: name_or_path.to_owned(),
                builtin: builtin_names().join(", "),
            });
        }
        Self::read(path)
    }

    /// Writes the box as TOML that [`BoxFile::from_toml`] reads back to an equal value.
    ///
    /// # Errors
    /// [`BoxError::Write`] where a value has no TOML form.
    pub fn to_toml(&self) -> Result<String, BoxError> {
        toml::to_string(self).map_err(|error| BoxError::Write {
            name: self.name.clone(),
            reason: error.to_string(),
        })
    }
}
