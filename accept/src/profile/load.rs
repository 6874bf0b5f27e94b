//! Profiles by name or file: each stands on the one that it extends.

use std::path::Path;
use std::sync::LazyLock;

use anyhow::{Context as _, Result, anyhow, bail};
use program::command_line::nearest;
use serde::Deserialize as _;
use sha2::{Digest as _, Sha256};
use toml::{Table, Value};

use super::model::Profile;
use super::valid;
use crate::report::hex;

/// So many files may stand on each other.
const DEEPEST: usize = 4;

macro_rules! shipped {
    ($($name:literal)+) => {
        /// Name and text of each profile that came with the program, in the order in which they are listed.
        const SHIPPED: &[(&str, &str)] = &[
            $(($name, include_str!(concat!("../../profiles/", $name, ".toml")))),+
        ];
    };
}

shipped! {
    "base" "l40x4" "rtxpro6000-mig" "rtxpro6000-bare" "r9700-x16" "r9700-x8" "mxc500x4" "h200x8" "host"
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

/// Reads a profile by the name of one that came with the program, or by the path of a file.
///
/// # Errors
/// Says which file is wrong, and of wrong TOML in which line.
pub(crate) fn load(name_or_path: &str) -> Result<Loaded> {
    let mut files = Vec::new();
    let table = joined(name_or_path, Path::new(""), &mut files)?;
    let origin = &files[0].0;
    let invalid = |problem: &str| anyhow!("{origin}: {}", on_a_line(problem));
    let profile = Profile::deserialize(table).map_err(|error| invalid(error.message()))?;
    valid::whole(&profile).map_err(|problem| invalid(&problem))?;
    let mut hash = Sha256::new();
    files.iter().for_each(|(_, text)| hash.update(text));
    Ok(Loaded {
        profile,
        sha256: hex(&hash.finalize()),
        shipped: text(name_or_path).is_some(),
        files: files.into_iter().map(|(origin, _)| origin).collect(),
    })
}

fn on_a_line(problem: &str) -> String {
    problem.trim_end().replace('\n', "; ")
}

/// The text of a shipped profile.
fn text(name: &str) -> Option<&'static str> {
    let (_, text) = SHIPPED.iter().find(|(shipped, _)| *shipped == name)?;
    Some(text)
}

/// A profile over the one that it extends: one that came with the program, or a file beside it. Its files, its own first, are what each is
/// called, and its text.
fn joined(name: &str, folder: &Path, files: &mut Vec<(String, String)>) -> Result<Table> {
    let path = folder.join(name);
    let (origin, text) = match text(name) {
        Some(text) => (format!("the shipped profile {name}"), text.to_owned()),
        None => (path.display().to_string(), read(name, &path)?),
    };
    let table: Table = toml::from_str(&text).map_err(|error| {
        let before = error.span().map_or(0, |span| span.start);
        let before = text.as_bytes().iter().take(before);
        let line = 1 + before.filter(|byte| **byte == b'\n').count();
        anyhow!("{origin}, line {line}: {}", on_a_line(error.message()))
    })?;
    files.push((origin.clone(), text));
    let Some(base) = table.get("extends").and_then(Value::as_str) else {
        return Ok(table);
    };
    if files.len() == DEEPEST {
        bail!("{origin}: `extends` makes more than {DEEPEST} files, or a circle");
    }
    let folder = path.parent().unwrap_or(folder);
    Ok(over(joined(base, folder, files)?, table))
}

fn read(name: &str, path: &Path) -> Result<String> {
    if !path.exists() {
        let near = nearest(name, SHIPPED.iter().map(|(name, _)| *name));
        let next = near.map_or_else(
            || "give a name or the path of a TOML file".to_owned(),
            |near| format!("did you mean `{near}`"),
        );
        bail!(
            "there is no profile or file `{name}`; {next}; `tplens accept profile list` shows them"
        );
    }
    let text = bounded::regular(path, bounded::SETTINGS).and_then(bounded::decoded);
    text.with_context(|| format!("{} cannot be read", path.display()))
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
