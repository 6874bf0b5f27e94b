//! Profiles by name or file: each stands on the one that it extends.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use program::command_line::nearest;
use serde::Deserialize as _;
use sha2::{Digest as _, Sha256};
use toml::{Table, Value};

use super::model::{PROFILE_SCHEMA, Profile};
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

/// Where a profile stands.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Origin {
    Shipped(&'static str),
    File(PathBuf),
}

impl Origin {
    /// What a name or path means; beside another file where one extends it.
    fn of(name: &str, beside: Option<&Path>) -> Option<Self> {
        if let Some((shipped, _)) = SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
            return Some(Self::Shipped(shipped));
        }
        let path = match beside {
            None => PathBuf::from(name),
            Some(own) => {
                let is_plain = Path::new(name)
                    .file_name()
                    .is_some_and(|plain| plain == name);
                own.with_file_name(name)
                    .exists()
                    .then_some(())
                    .filter(|()| is_plain)?;
                own.with_file_name(name)
            }
        };
        path.exists().then_some(Self::File(path))
    }

    fn shown(&self) -> String {
        match self {
            Self::Shipped(name) => format!("the shipped profile {name}"),
            Self::File(path) => path.display().to_string(),
        }
    }

    fn text(&self) -> Result<String, ProfileError> {
        match self {
            Self::Shipped(name) => Ok(shipped::text(name).unwrap_or_default().to_owned()),
            Self::File(path) => bounded::regular(path, bounded::SETTINGS)
                .and_then(bounded::decoded)
                .map_err(|source| ProfileError::Io {
                    origin: self.shown(),
                    source,
                }),
        }
    }

    fn invalid(&self, problem: impl Into<String>) -> ProfileError {
        ProfileError::Invalid {
            origin: self.shown(),
            problem: problem.into(),
        }
    }
}

/// Reads a profile by the name of one that came with the program, or by the path of a file.
///
/// # Errors
/// Says which file is wrong, and where that can be known, in which line.
pub(crate) fn load(name_or_path: &str) -> Result<Loaded, ProfileError> {
    let first = Origin::of(name_or_path, None).ok_or_else(|| {
        let near = nearest(name_or_path, SHIPPED.iter().map(|(name, _)| *name));
        ProfileError::Unknown {
            name: name_or_path.to_owned(),
            next: near.map_or_else(
                || "give a name or the path of a TOML file".to_owned(),
                |near| format!("did you mean `{near}`"),
            ),
        }
    })?;
    let mut hash = Sha256::new();
    let mut origins = vec![first.clone()];
    let mut tables: Vec<Table> = Vec::new();
    let mut own_text = String::new();
    while tables.len() < origins.len() {
        let origin = &origins[tables.len()];
        let text = origin.text()?;
        hash.update(text.as_bytes());
        let table = parsed(&text, origin)?;
        if tables.is_empty() {
            own_text = text;
        }
        let base = table
            .get("extends")
            .and_then(Value::as_str)
            .map(str::to_owned);
        tables.push(table);
        if let Some(base) = base {
            let beside = match origin {
                Origin::File(path) => path.as_path(),
                Origin::Shipped(_) => Path::new(""),
            };
            let Some(next) = Origin::of(&base, Some(beside)) else {
                return Err(origin.invalid(format!(
                    "`extends` names `{base}`, which is no shipped profile and no file beside this one"
                )));
            };
            if origins.contains(&next) {
                return Err(origin.invalid("a profile cannot extend itself"));
            }
            if origins.len() == DEEPEST {
                return Err(origin.invalid(format!("`extends` makes more than {DEEPEST} files")));
            }
            origins.push(next);
        }
    }
    let whole = tables.into_iter().rev().reduce(over).unwrap_or_default();
    let profile = Profile::deserialize(whole).map_err(|error| {
        let problem = error.message().trim_end().replace('\n', "; ");
        // The line of the word that is wrong, where it stands in the profile's own file.
        let word = problem.split('`').nth(1).unwrap_or_default();
        let is_it =
            |line: &str| !word.is_empty() && line.trim_start_matches([' ', '[']).starts_with(word);
        match own_text.lines().position(is_it) {
            Some(line) => ProfileError::At {
                origin: first.shown(),
                line: line + 1,
                problem,
            },
            None => first.invalid(problem),
        }
    })?;
    valid::whole(&profile).map_err(|problem| first.invalid(problem))?;
    Ok(Loaded {
        profile,
        sha256: hex(&hash.finalize()),
        shipped: matches!(first, Origin::Shipped(_)),
        files: origins.iter().map(Origin::shown).collect(),
    })
}

/// One file, checked for what the merged profile does not show any more.
fn parsed(text: &str, origin: &Origin) -> Result<Table, ProfileError> {
    let table: Table = toml::from_str(text).map_err(|error| {
        let before = error.span().map_or(0, |span| span.start);
        let before = text.as_bytes().iter().take(before);
        ProfileError::At {
            origin: origin.shown(),
            line: 1 + before.filter(|byte| **byte == b'\n').count(),
            problem: error.message().trim_end().replace('\n', "; "),
        }
    })?;
    let schema = table
        .get("schema")
        .and_then(Value::as_str)
        .unwrap_or("missing");
    if schema != PROFILE_SCHEMA {
        let problem = format!("schema is `{schema}`, this program reads `{PROFILE_SCHEMA}`");
        return Err(origin.invalid(problem));
    }
    if let Some(missing) = ["name", "title"]
        .iter()
        .find(|key| !table.contains_key(**key))
    {
        return Err(origin.invalid(format!("{missing} is missing")));
    }
    valid::file(&table).map_err(|problem| origin.invalid(problem))?;
    Ok(table)
}

/// A file over the one that it extends: keys of tables replace keys, limits those of the same check.
fn over(mut base: Table, own: Table) -> Table {
    let names = |row: &Value| (row.get("check").cloned(), row.get("of").cloned());
    for (key, value) in own {
        match (base.get_mut(&key), value) {
            (Some(Value::Table(base)), Value::Table(own)) => base.extend(own),
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

/// A profile as one file, with all that it extends.
///
/// # Errors
/// It cannot be read, or written as one.
pub(crate) fn whole(name_or_path: &str) -> Result<String, ProfileError> {
    text(&load(name_or_path)?.profile)
}

/// The lines of a profile without what it extends, which is in it.
pub(crate) fn text(profile: &Profile) -> Result<String, ProfileError> {
    let merged = Profile {
        extends: None,
        ..profile.clone()
    };
    toml::to_string(&merged).map_err(|error| ProfileError::Invalid {
        origin: profile.name.clone(),
        problem: format!("it cannot be written as one file ({error})"),
    })
}

/// Checks the text of a profile that is in no file.
///
/// # Errors
/// It is none.
pub(crate) fn parsed_text(text: &str) -> Result<(), ProfileError> {
    parsed(text, &Origin::File(PathBuf::from("draft"))).map(drop)
}

#[cfg(test)]
mod tests;
