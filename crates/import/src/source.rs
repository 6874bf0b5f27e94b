//! What a file that was given is: a record of ours, or the text of another tool, in bounded memory.
//! JSON is read as Python writes it: with `NaN` and `Infinity`, which JSON does not have and which are taken as texts.

use std::path::Path;

use bounded::{RECORD, RESULT, TEXT};
use serde_json::Value;

use super::error::ImportError;
use record::{FolderError, Record, control, load, read_text};

/// What a file is.
pub(super) enum Source {
    /// A record, journal or result folder of this project.
    Ours(Box<Record>),
    /// Anything else.
    Text(String),
}

impl Source {
    /// Reads a file or a result folder, which messages call `origin`.
    ///
    /// # Errors
    /// It cannot be read, is no whole record, or is larger than a file of another tool.
    pub(super) fn of(path: &Path, origin: &str) -> Result<Self, ImportError> {
        if path.is_dir() {
            return Ok(Self::Ours(Box::new(load(path)?)));
        }
        let text = read_text(path, RECORD)?;
        if let Some(record) = Record::from_text(&text, origin)? {
            return Ok(Self::Ours(Box::new(record)));
        }
        let is_json = is_json(&text);
        let most = if is_json { RESULT } else { TEXT };
        if text.len() as u64 > most {
            let (path, source) = (path.to_owned(), bounded::too_large(most));
            let doing = "cannot read";
            return Err(FolderError::Io {
                doing,
                path,
                source,
            }
            .into());
        }
        Ok(Self::Text(match is_json {
            true => text,
            false => bounded::pasted::lines(&text).join("\n"),
        }))
    }
}

/// Whether a text begins as JSON; tags of mpirun begin as a list does.
pub(crate) fn is_json(text: &str) -> bool {
    let text = text.trim_start();
    let inside = text.strip_prefix('[').map(str::trim_start);
    text.starts_with('{') || inside.is_some_and(|rest| rest.starts_with('{'))
}

/// The keys of an object beside those that are read.
pub(super) fn unused(of: &Value, read: &[&str]) -> Vec<String> {
    let keys = of.as_object().into_iter().flat_map(|map| map.keys());
    let unused = keys.filter(|key| !read.contains(&key.as_str()));
    unused.map(|key| control::replaced(key)).collect()
}

/// The tokens that Python's encoder writes and JSON does not have.
const NOT_NUMBERS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];

/// The JSON of a text, Python's `NaN` and `Infinity` as texts; `None` where it is no JSON.
pub(super) fn parse(text: &str) -> Option<Value> {
    serde_json::from_str(text)
        .or_else(|_| serde_json::from_str(&quoted(text)))
        .ok()
}

/// Refuses what begins as JSON and is none: its end is missing, or something stands in it that JSON does not have.
///
/// # Errors
/// Such a text, with the line.
pub(super) fn refuse_broken(text: &str, origin: &str) -> Result<(), ImportError> {
    // Results are objects, or a list of them: `[2026-04-14 16:08:49` begins a line of a log.
    if !is_json(text) {
        return Ok(());
    }
    let Err(error) = serde_json::from_str::<Value>(&quoted(text)) else {
        return Ok(());
    };
    let why = match error.is_eof() {
        true => format!(
            "is JSON that ends in line {} after {} bytes before it is complete: the file is cut; copy it again, or let the benchmark write it again",
            error.line(),
            text.trim_start().len()
        ),
        false => format!(
            "begins as JSON and is none: {}; let the benchmark write it again",
            control::shortened(&error.to_string())
        ),
    };
    Err(ImportError::unusable(origin, why))
}

/// The text with Python's tokens outside of strings put in quotes.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let token = NOT_NUMBERS
            .into_iter()
            .find(|token| !in_string && rest.starts_with(token));
        if let Some(token) = token {
            out.extend(["\"", token, "\""]);
            rest = &rest[token.len()..];
            continue;
        }
        match next {
            '"' if !escaped => in_string = !in_string,
            _ => {}
        }
        escaped = in_string && next == '\\' && !escaped;
        out.push(next);
        rest = &rest[next.len_utf8()..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pythons_words_for_no_number_are_texts() {
        let value = parse("{\"x\": NaN, \"y\": -Infinity, \"z\": \"NaN \\\" NaN\"}").unwrap();
        assert_eq!(
            (value["x"].as_str(), value["y"].as_str()),
            (Some("NaN"), Some("-Infinity"))
        );
        assert_eq!(parse("{\"x\": "), None);
        assert_eq!(parse("Successful requests: 3"), None);
    }
}
