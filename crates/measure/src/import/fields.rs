//! Values of a JSON object by key, where a value that cannot be is an error that names its key.
//!
//! Python writes `NaN` and `Infinity` into JSON, which has neither: they are read as texts, so that the key can be named.

use serde_json::{Map, Value};

use super::error::ImportError;
use crate::control;

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
    if !text.trim_start().starts_with(['{', '[']) {
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
pub(super) fn quoted(text: &str) -> String {
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

/// Whether a text would be a number without its quotes; Python's tokens never had any.
fn is_number(text: &str) -> bool {
    text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// An object with the file that it came from.
pub(super) struct Fields<'a> {
    pub(super) origin: &'a str,
    pub(super) map: &'a Map<String, Value>,
}

impl Fields<'_> {
    /// A value that is there and not `null`.
    pub(super) fn value(&self, key: &str) -> Option<&Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    /// A finite number of zero or more.
    pub(super) fn number(&self, key: &str) -> Result<Option<f64>, ImportError> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        value
            .as_f64()
            .filter(|number| number.is_finite() && *number >= 0.0)
            .map(Some)
            .ok_or_else(|| self.nonsense(key, value, "a number of zero or more"))
    }

    /// A number above zero.
    pub(super) fn positive(&self, key: &str) -> Result<Option<f64>, ImportError> {
        match self.number(key)? {
            Some(0.0) => Err(self.nonsense(key, &Value::from(0), "a number above zero")),
            number => Ok(number),
        }
    }

    /// A number above zero; some tools write zero where they have no value, which is `None` here.
    pub(super) fn positive_or_absent(&self, key: &str) -> Result<Option<f64>, ImportError> {
        Ok(self.number(key)?.filter(|number| *number > 0.0))
    }

    /// A whole number of zero or more; `3.0` counts as one.
    pub(super) fn count(&self, key: &str) -> Result<Option<u64>, ImportError> {
        let Some(number) = self.number(key)? else {
            return Ok(None);
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a whole number of zero or more below 2^53"
        )]
        if number.fract() == 0.0 && number < 9e15 {
            Ok(Some(number as u64))
        } else {
            Err(self.nonsense(key, &Value::from(number), "a whole number"))
        }
    }

    /// A text without control characters.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.value(key)?.as_str().map(control::replaced)
    }

    pub(super) fn nonsense(&self, key: &str, seen: &Value, want: &str) -> ImportError {
        let seen = match seen {
            Value::String(text) if is_number(text) => {
                format!("the string \"{}\"", control::shortened(text))
            }
            Value::String(text) => control::shortened(text),
            Value::Array(_) => "a list".to_owned(),
            Value::Object(_) => "an object".to_owned(),
            other => other.to_string(),
        };
        ImportError::Nonsense {
            origin: self.origin.to_owned(),
            key: key.to_owned(),
            seen,
            want: want.to_owned(),
        }
    }

    pub(super) fn missing(&self, what: &str, next: &str) -> ImportError {
        ImportError::Missing {
            origin: self.origin.to_owned(),
            what: what.to_owned(),
            next: next.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(json: &str) -> Result<Option<f64>, ImportError> {
        let value = parse(json).unwrap();
        let fields = Fields {
            origin: "f.json",
            map: value.as_object().unwrap(),
        };
        fields.number("x")
    }

    #[test]
    fn absent_and_null_are_not_zero() {
        assert_eq!(number("{}").unwrap(), None);
        assert_eq!(number("{\"x\": null}").unwrap(), None);
        assert_eq!(number("{\"x\": 0}").unwrap(), Some(0.0));
    }

    #[test]
    fn a_value_that_cannot_be_names_its_key() {
        for (json, seen) in [
            ("{\"x\": NaN}", "NaN"),
            ("{\"x\": -Infinity, \"y\": \"NaN \\\" NaN\"}", "-Infinity"),
            ("{\"x\": -1.5}", "-1.5"),
            ("{\"x\": [1]}", "a list"),
            ("{\"x\": \"fast\"}", "fast"),
            ("{\"x\": \"\\u001b[2J\"}", "\u{fffd}[2J"),
            ("{\"x\": \"256\"}", "the string \"256\""),
        ] {
            let error = number(json).unwrap_err().to_string();
            assert_eq!(
                error,
                format!("f.json: x is {seen}; expected a number of zero or more")
            );
        }
    }

    #[test]
    fn text_that_is_no_json_stays_none() {
        assert_eq!(parse("{\"x\": "), None);
        assert_eq!(parse("Successful requests: 3"), None);
        assert_eq!(quoted("{\"a\": \"Infinity\"}"), "{\"a\": \"Infinity\"}");
    }
}
