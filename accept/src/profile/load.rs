//! Reading a profile with all that it extends.
//!
//! No expression, no variable, no path: a file may name one other, which came with the program or lies beside it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use sha2::{Digest as _, Sha256};

use super::error::{ProfileError, line_of, nearest};
use super::model::{PROFILE_SCHEMA, Profile};
use super::part::Part;
use super::shipped::{self, SHIPPED};
use super::valid;

/// How many files a profile may be made of.
const DEEPEST: usize = 4;

/// A profile that can be used.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Loaded {
    /// The profile with all that it extends.
    pub(crate) profile: Profile,
    /// sha256 over the bytes of all its files, its own first, hex.
    pub(crate) sha256: String,
    /// Whether it came with the program.
    pub(crate) shipped: bool,
    /// Its files, its own first, as they are named in messages.
    pub(crate) files: Vec<String>,
}

/// Where a profile's text comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Shipped(&'static str),
    File(PathBuf),
}

impl Place {
    /// As messages name it.
    fn origin(&self) -> String {
        match self {
            Self::Shipped(name) => format!("the shipped profile {name}"),
            Self::File(path) => path.display().to_string(),
        }
    }

    fn text(&self) -> Result<String, ProfileError> {
        match self {
            Self::Shipped(name) => Ok(shipped::text(name).unwrap_or_default().to_owned()),
            Self::File(path) => read(path).map_err(|source| ProfileError::Io {
                origin: self.origin(),
                source,
            }),
        }
    }
}

/// Reads a profile that came with the program, by name, or a file.
///
/// # Errors
/// What is wrong with it, with file and line where they are known.
pub(crate) fn load(name_or_path: &str) -> Result<Loaded, ProfileError> {
    let first = match shipped_name(name_or_path) {
        Some(name) => Place::Shipped(name),
        None if Path::new(name_or_path).exists() => Place::File(name_or_path.into()),
        None => {
            let names = SHIPPED.iter().map(|(name, _)| *name);
            let next = nearest(name_or_path, names).map_or_else(
                || "give a name or the path of a TOML file".to_owned(),
                |near| format!("did you mean `{near}`"),
            );
            return Err(ProfileError::Unknown {
                name: name_or_path.to_owned(),
                next,
            });
        }
    };
    let shipped = matches!(first, Place::Shipped(_));
    let mut hash = Sha256::new();
    let mut places: Vec<Place> = Vec::new();
    let mut parts: Vec<Part> = Vec::new();
    let mut next = Some(first);
    while let Some(place) = next {
        let origin = place.origin();
        let text = place.text()?;
        let part = parse(&text, &origin)?;
        hash.update(text.as_bytes());
        next = part
            .extends
            .as_deref()
            .map(|base| extended(base, &place, &text))
            .transpose()?;
        places.push(place);
        parts.push(part);
        if let Some(base) = &next {
            let problem = if places.contains(base) {
                format!(
                    "`extends` leads back to {}; a profile cannot extend itself",
                    base.origin()
                )
            } else if places.len() == DEEPEST {
                format!("`extends` makes more than {DEEPEST} files; put some of them together")
            } else {
                continue;
            };
            return Err(ProfileError::Invalid { origin, problem });
        }
    }
    let files: Vec<String> = places.iter().map(Place::origin).collect();
    let whole = parts.into_iter().rev().reduce(|base, own| own.over(base));
    let invalid = |problem| ProfileError::Invalid {
        origin: files[0].clone(),
        problem,
    };
    let profile = whole.ok_or("schema").and_then(Part::whole).map_err(|key| {
        invalid(format!(
            "{key} is missing, also in what it extends; extend `base` to have it"
        ))
    })?;
    valid::whole(&profile).map_err(invalid)?;
    Ok(Loaded {
        profile,
        sha256: hex(&hash.finalize()),
        shipped,
        files,
    })
}

/// All that came with the program, read once.
pub(crate) fn shipped() -> impl Iterator<Item = &'static Loaded> {
    static ALL: LazyLock<Vec<Loaded>> = LazyLock::new(|| {
        let names = SHIPPED.iter().map(|(name, _)| *name);
        names.filter_map(|name| load(name).ok()).collect()
    });
    ALL.iter()
}

fn shipped_name(name: &str) -> Option<&'static str> {
    let (shipped, _) = SHIPPED.iter().find(|(shipped, _)| *shipped == name)?;
    Some(shipped)
}

/// The place that `extends` names.
fn extended(base: &str, from: &Place, text: &str) -> Result<Place, ProfileError> {
    if let Some(name) = shipped_name(base) {
        return Ok(Place::Shipped(name));
    }
    let refused = |problem: String| {
        let line = text
            .lines()
            .position(|line| line.trim_start().starts_with("extends"));
        let origin = from.origin();
        Err(match line {
            Some(line) => ProfileError::At {
                origin,
                line: line + 1,
                problem,
            },
            None => ProfileError::Invalid { origin, problem },
        })
    };
    let names: Vec<&str> = SHIPPED.iter().map(|(name, _)| *name).collect();
    let is_plain = Path::new(base).file_name().is_some_and(|name| name == base);
    match from {
        Place::File(path) if is_plain => {
            let beside = path.with_file_name(base);
            if beside.exists() {
                return Ok(Place::File(beside));
            }
            refused(format!(
                "`extends` names `{base}`, which is neither a file beside this one nor one of {}",
                names.join(", ")
            ))
        }
        _ => refused(format!(
            "`extends` names `{base}`; it takes a profile that came with the program ({}) or the plain name of a file beside this one",
            names.join(", ")
        )),
    }
}

/// Reads one file, bounded.
fn read(path: &Path) -> io::Result<String> {
    bounded::regular(path, bounded::SETTINGS).and_then(bounded::decoded)
}

/// One file, checked as far as it can be by itself.
fn parse(text: &str, origin: &str) -> Result<Part, ProfileError> {
    let at = |line, problem| ProfileError::At {
        origin: origin.to_owned(),
        line,
        problem,
    };
    let part: Part = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(text, span.start));
        at(line, in_words(error.message()))
    })?;
    if part.schema != PROFILE_SCHEMA {
        let problem = format!(
            "schema is `{}`, this program reads `{PROFILE_SCHEMA}`",
            part.schema
        );
        return Err(at(1, problem));
    }
    valid::file(&part).map_err(|fault| match fault.at {
        Some(byte) => at(line_of(text, byte), fault.problem),
        None => ProfileError::Invalid {
            origin: origin.to_owned(),
            problem: fault.problem,
        },
    })?;
    Ok(part)
}

/// The parser's words, with the nearest known key where one is unknown.
fn in_words(message: &str) -> String {
    let message = message.trim_end().replace('\n', "; ");
    let mut words = message.split('`').skip(1).step_by(2);
    let (true, Some(unknown)) = (message.starts_with("unknown field"), words.next()) else {
        return message;
    };
    let known: Vec<&str> = words.collect();
    let next = nearest(unknown, known.iter().copied()).map_or_else(
        || format!("known here are {}", known.join(", ")),
        |near| format!("did you mean `{near}`?"),
    );
    format!("there is no key `{unknown}`; {next}")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
