//! Reading and writing box files, and the boxes that are compiled in.

use crate::{BoxError, BoxFile};
use std::path::Path;

/// The boxes that are compiled in, by name: every file of the folder `boxes`, as the build script found them.
const BUILTIN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/boxes.rs"));

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
        match read.validate(origin) {
            Err(BoxError::Invalid {
                origin,
                key,
                value,
                problem,
            }) => Err(BoxError::Invalid {
                origin: match line_of(text, &key) {
                    Some(line) => format!("{origin}, line {line}"),
                    None => origin,
                },
                key,
                value,
                problem,
            }),
            checked => checked.map(|()| read),
        }
    }

    /// Reads and checks a box file of at most 4 MiB.
    ///
    /// # Errors
    /// As [`BoxFile::from_toml`], and [`BoxError::Io`].
    pub fn read(path: &Path) -> Result<Self, BoxError> {
        let origin = path.display().to_string();
        let io = |source| BoxError::Io {
            path: origin.clone(),
            source,
        };
        let text = bounded::text(path, bounded::SETTINGS).map_err(io)?;
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

/// The line of a key such as `device[1].kernels.h2d`, where its tables stand in the text by themselves.
fn line_of(text: &str, key: &str) -> Option<usize> {
    let mut lines = text.lines().zip(1..);
    let mut found = None;
    for part in key.split('.') {
        let (name, place) = part.split_once('[').unwrap_or((part, ""));
        let place: Option<usize> = place.trim_end_matches(']').parse().ok();
        let is_it = |line: &str| {
            let plain = line.trim_start_matches(['[', ' ']);
            let end = plain.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.');
            let path = &plain[..end.unwrap_or(plain.len())];
            let is_table = place.is_none() || line.starts_with("[[");
            is_table && path.rsplit('.').next() == Some(name)
        };
        let mut fitting = lines.by_ref().filter(|(line, _)| is_it(line));
        found = Some(fitting.nth(place.unwrap_or(0))?.1);
    }
    found
}
