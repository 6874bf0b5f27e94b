//! Profiles by name or file: each stands on the one that it extends.

use std::path::Path;
use std::sync::LazyLock;

use program::command_line::nearest;
use serde::Deserialize as _;
use sha2::{Digest as _, Sha256};
use toml::{Table, Value};

use super::model::Profile;
use super::shipped::{self, SHIPPED};
use super::valid;
use crate::report::hex;

/// So many files may stand on each other.
const DEEPEST: usize = 4;

/// Why a profile cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProfileError {
    #[error(
        "there is no profile or file `{name}`; {next}; `tplens accept profile list` shows them"
    )]
    Unknown { name: String, next: String },
    #[error("{origin} cannot be read: {source}")]
    Io {
        origin: String,
        source: std::io::Error,
    },
    #[error("{origin}, line {line}: {problem}")]
    At {
        origin: String,
        line: usize,
        problem: String,
    },
    #[error("{origin}: {problem}")]
    Invalid { origin: String, problem: String },
}

/// A profile with all that it stands on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Loaded {
    pub(crate) profile: Profile,
    /// Over its files in their order.
    pub(crate) sha256: String,
    /// Whether it came with the program.
    pub(crate) shipped: bool,
    pub(crate) files: Vec<String>,
}

/// The files of a profile, its own first: what each is called, and its text.
type Files = Vec<(String, String)>;

/// Reads a profile by the name of one that came with the program, or by the path of a file.
///
/// # Errors
/// Says which file is wrong, and of wrong TOML in which line.
pub(crate) fn load(name_or_path: &str) -> Result<Loaded, ProfileError> {
    let mut files = Files::new();
    let table = joined(name_or_path, Path::new(""), &mut files)?;
    let origin = &files[0].0;
    let invalid = |problem: String| ProfileError::Invalid {
        origin: origin.clone(),
        problem,
    };
    let profile = Profile::deserialize(table)
        .map_err(|error| invalid(error.message().trim_end().replace('\n', "; ")))?;
    valid::whole(&profile).map_err(invalid)?;
    let mut hash = Sha256::new();
    files.iter().for_each(|(_, text)| hash.update(text));
    Ok(Loaded {
        profile,
        sha256: hex(&hash.finalize()),
        shipped: shipped::text(name_or_path).is_some(),
        files: files.into_iter().map(|(origin, _)| origin).collect(),
    })
}

/// A profile over the one that it extends: one that came with the program, or a file beside it.
fn joined(name: &str, folder: &Path, files: &mut Files) -> Result<Table, ProfileError> {
    let path = folder.join(name);
    let (origin, text) = match shipped::text(name) {
        Some(text) => (format!("the shipped profile {name}"), text.to_owned()),
        None => read(name, &path)?,
    };
    let table: Table = toml::from_str(&text).map_err(|error| {
        let before = error.span().map_or(0, |span| span.start);
        let before = text.as_bytes().iter().take(before);
        ProfileError::At {
            origin: origin.clone(),
            line: 1 + before.filter(|byte| **byte == b'\n').count(),
            problem: error.message().trim_end().replace('\n', "; "),
        }
    })?;
    files.push((origin.clone(), text));
    let Some(base) = table.get("extends").and_then(Value::as_str) else {
        return Ok(table);
    };
    if files.len() == DEEPEST {
        let problem = format!("`extends` makes more than {DEEPEST} files, or a circle");
        return Err(ProfileError::Invalid { origin, problem });
    }
    let folder = path.parent().unwrap_or(folder);
    Ok(over(joined(base, folder, files)?, table))
}

fn read(name: &str, path: &Path) -> Result<(String, String), ProfileError> {
    let origin = path.display().to_string();
    if !path.exists() {
        let near = nearest(name, SHIPPED.iter().map(|(name, _)| *name));
        let next = near.map_or_else(
            || "give a name or the path of a TOML file".to_owned(),
            |near| format!("did you mean `{near}`"),
        );
        let name = name.to_owned();
        return Err(ProfileError::Unknown { name, next });
    }
    match bounded::regular(path, bounded::SETTINGS).and_then(bounded::decoded) {
        Ok(text) => Ok((origin, text)),
        Err(source) => Err(ProfileError::Io { origin, source }),
    }
}

/// A file over the one that it extends: keys of tables replace keys, limits those of the same check. Neither a profile's name nor where an
/// expectation comes from is inherited by one that changes it.
fn over(mut base: Table, own: Table) -> Table {
    let names = |row: &Value| (row.get("check").cloned(), row.get("of").cloned());
    for key in ["schema", "name", "title"] {
        base.remove(key);
    }
    for (key, value) in own {
        match (base.get_mut(&key), value) {
            (Some(Value::Table(base)), Value::Table(own)) => {
                base.remove("source");
                base.extend(own);
            }
            (Some(Value::Array(base)), Value::Array(own)) if key == "limit" => {
                base.retain(|row| own.iter().all(|other| names(other) != names(row)));
                base.extend(own);
            }
            (_, value) => drop(base.insert(key, value)),
        }
    }
    base
}

/// The profiles that came with the program.
pub(crate) fn shipped() -> impl Iterator<Item = &'static Loaded> {
    static ALL: LazyLock<Vec<Loaded>> = LazyLock::new(|| {
        let names = SHIPPED.iter().map(|(name, _)| *name);
        names.filter_map(|name| load(name).ok()).collect()
    });
    ALL.iter()
}

#[cfg(test)]
mod tests;
