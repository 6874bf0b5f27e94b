//! `golden/names.toml`: where a golden name stands in a document, so that a new schema changes that file and no value.
//!
//! The language of the patterns stands in the head of that file.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;

/// The golden names of each kind of document, with the pattern of each.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Names {
    kind: BTreeMap<String, BTreeMap<String, String>>,
}

/// The longest word that is kept: a code, a verdict, a row of a matrix.
const LONGEST_WORD: usize = 400;

impl Names {
    /// The values of a document of this kind by name, in the order of the names.
    ///
    /// # Errors
    /// The kind is not in the file, or a sentence or a whole object stands where a value should.
    pub(super) fn values(&self, kind: &str, document: &Value) -> Result<BTreeMap<String, String>> {
        let names = self.kind.get(kind);
        let names = names.with_context(|| format!("names.toml has no kind {kind}"))?;
        let mut values = BTreeMap::new();
        for (name, pattern) in names {
            let mut found = Vec::new();
            walk(document, pattern, &[], &mut found);
            for (keys, value) in found {
                let full = match keys.as_slice() {
                    [] => name.clone(),
                    keys => format!("{name}[{}]", keys.join(",")),
                };
                let value = scalar(&value);
                let value = value.with_context(|| format!("{full}, by pattern {pattern}"))?;
                values.insert(free(&values, full), value);
            }
        }
        Ok(values)
    }
}

/// The text of a number, a truth value or a word.
fn scalar(value: &Value) -> Result<String> {
    match value {
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(is) => Ok(is.to_string()),
        Value::String(word) => {
            let is_word = word.len() <= LONGEST_WORD && !word.contains(char::is_whitespace);
            ensure!(is_word, "`{word}` is no code; values are numbers and codes");
            Ok(word.clone())
        }
        other => bail!("{other} is neither a number nor a word"),
    }
}

/// A name that is not taken: the second of the same name gets `#2`.
fn free(taken: &BTreeMap<String, String>, name: String) -> String {
    let numbered = (2..).map(|number| format!("{name}#{number}"));
    let mut names = std::iter::once(name.clone()).chain(numbered);
    let free = names.find(|name| !taken.contains_key(name));
    free.unwrap_or(name)
}

/// What was found: the keys on the way, and the value.
type Found = (Vec<String>, Value);

/// Collects what a pattern finds. What is not there, or null, is not found.
fn walk(value: &Value, pattern: &str, keys: &[String], found: &mut Vec<Found>) {
    let pattern = pattern.strip_prefix('.').unwrap_or(pattern);
    let list = pattern.strip_prefix('[');
    if let Some((wanted, rest)) = list.and_then(|inner| inner.split_once(']')) {
        let mut counts: BTreeMap<Vec<String>, u64> = BTreeMap::new();
        for (index, element) in value.as_array().into_iter().flatten().enumerate() {
            match own_keys(element, wanted, index) {
                Some(own) if rest == "#" => {
                    *counts.entry([keys, &own].concat()).or_default() += 1;
                }
                Some(own) => walk(element, rest, &[keys, &own].concat(), found),
                None => {}
            }
        }
        found.extend(counts.into_iter().map(|(keys, count)| (keys, count.into())));
        return;
    }
    // Dots within brackets are those of keys.
    let (step, rest) = pattern.split_at(pattern.find(['.', '[']).unwrap_or(pattern.len()));
    match (step, value) {
        ("", Value::Null) => {}
        ("", value) => found.push((keys.to_vec(), value.clone())),
        ("*", Value::Object(members)) => {
            for (name, member) in members {
                let own = std::slice::from_ref(name);
                walk(member, rest, &[keys, own].concat(), found);
            }
        }
        ("#", Value::Array(elements)) => found.push((keys.to_vec(), elements.len().into())),
        ("#", Value::Object(members)) => found.push((keys.to_vec(), members.len().into())),
        ("~", value) => found.push((keys.to_vec(), key_text(value).into())),
        (name, value) => {
            if let Some(member) = value.get(name) {
                walk(member, rest, keys, found);
            }
        }
    }
}

/// The keys of an element, where it is one of those that are wanted.
fn own_keys(element: &Value, wanted: &str, index: usize) -> Option<Vec<String>> {
    if wanted.is_empty() {
        return Some(vec![index.to_string()]);
    }
    let mut keys = Vec::new();
    for key in wanted.split(',') {
        let (path, only) = key.split_once('=').unzip();
        let mut path = path.unwrap_or(key).split('.');
        let found = path.try_fold(element, |value, name| value.get(name));
        let text = key_text(found.unwrap_or(&Value::Null));
        match only {
            Some(only) if only != text => return None,
            Some(_) => {}
            None => keys.push(text),
        }
    }
    Some(keys)
}

/// A key in short: `{"device": 0}` is `device:0`, `[0, 1]` is `0+1`, null is a dash.
fn key_text(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(word) => word.clone(),
        Value::Array(elements) => elements.iter().map(key_text).collect::<Vec<_>>().join("+"),
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| format!("{name}:{}", key_text(value));
            members.iter().map(member).collect::<Vec<_>>().join("+")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn values(pattern: &str, document: &Value) -> Vec<(String, String)> {
        let names = Names {
            kind: BTreeMap::from([(
                "made".to_owned(),
                BTreeMap::from([("it".to_owned(), pattern.to_owned())]),
            )]),
        };
        names
            .values("made", document)
            .unwrap()
            .into_iter()
            .collect()
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn keys_are_taken_from_the_elements_on_the_way() {
        let document = json!({"points": [
            {"case": "h2d", "from": "host", "to": {"device": 0}, "is": {"numbers": [{"name": "rate", "value": 50.25}]}},
            {"case": "d2d", "from": {"device": 0}, "to": {"device": 1}, "is": {"numbers": [{"name": "rate", "value": 3}]}},
        ]});
        assert_eq!(
            values("points[case,from,to].is.numbers[name].value", &document),
            [
                pair("it[d2d,device:0,device:1,rate]", "3"),
                pair("it[h2d,host,device:0,rate]", "50.25")
            ]
        );
        assert_eq!(
            values("points[case=h2d,to.device].is.numbers[].value", &document),
            [pair("it[0,0]", "50.25")]
        );
    }

    #[test]
    fn members_and_counts_are_found_and_null_is_not() {
        let document = json!({"a": {"x": {"v": 1.5}, "y": {"v": null}, "z": {"v": "link-degraded"}}, "list": [7, 8, 9]});
        assert_eq!(
            values("a.*.v", &document),
            [pair("it[x]", "1.5"), pair("it[z]", "link-degraded")]
        );
        assert_eq!(values("list.#", &document), [pair("it", "3")]);
        assert_eq!(values("list.~", &document), [pair("it", "7+8+9")]);
        assert_eq!(values("list[]", &document)[2], pair("it[2]", "9"));
        assert_eq!(values("nowhere[k].v", &document), []);
        let codes = json!({"found": [{"is": "warn"}, {"is": "pass"}, {"is": "warn"}]});
        assert_eq!(
            values("found[is]#", &codes),
            [pair("it[pass]", "1"), pair("it[warn]", "2")]
        );
    }

    #[test]
    fn a_sentence_is_no_value() {
        let names = Names {
            kind: BTreeMap::from([(
                "made".to_owned(),
                BTreeMap::from([("it".to_owned(), "v".to_owned())]),
            )]),
        };
        assert!(names.values("made", &json!({"v": "GPU0 is slow"})).is_err());
        assert!(names.values("made", &json!({"v": {"w": 1}})).is_err());
        assert!(names.values("other", &json!({})).is_err());
    }
}
