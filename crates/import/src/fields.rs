//! JSON as Python writes it: with `NaN` and `Infinity`, which JSON does not have and which are read as texts.

use serde_json::Value;

use super::error::ImportError;
use record::control;

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
    let text = text.trim_start();
    let list = text.strip_prefix('[').map(str::trim_start);
    if !list.unwrap_or(text).starts_with('{') {
        return Ok(());
    }
    let Err(error) = serde_json::from_str::<Value>(&quoted(text)) else {
        return Ok(());
    };
    let why = match error.is_eof() {
        true => format!(
            "is JSON that ends in line {} after {} bytes before it is complete: the file is cut; copy it again, or let the benchmark write it again",
            error.line(),
            text.len()
        ),
        false => format!(
            "begins as JSON and is none: {}; let the benchmark write it again",
            control::shortened(&error.to_string())
        ),
    };
    Err(ImportError::Unusable {
        origin: origin.to_owned(),
        why,
    })
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
