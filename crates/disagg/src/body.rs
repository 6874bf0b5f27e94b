//! A JSON object as bytes: members are replaced, added and left out, all else stays as the client wrote it.

use std::ops::Range;

use serde::de::IgnoredAny;

/// The deepest nesting that is read; serde_json's own limit.
const DEEPEST: usize = 128;

/// A request's or reply's JSON object, cut into its members.
#[derive(Debug, Clone)]
pub struct Body<'a> {
    text: &'a str,
    members: Vec<Member>,
}

/// One member of the object.
#[derive(Debug, Clone)]
struct Member {
    key: String,
    /// With the blanks around it, between the commas.
    whole: Range<usize>,
    value: Range<usize>,
}

/// Bytes that are no JSON object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the body is no JSON object: {0}")]
pub struct BodyError(String);

impl<'a> Body<'a> {
    /// Cuts an object into its members.
    ///
    /// # Errors
    /// Not UTF-8, not JSON, or not an object.
    pub fn read(bytes: &'a [u8]) -> Result<Self, BodyError> {
        let text = std::str::from_utf8(bytes).map_err(|error| BodyError(error.to_string()))?;
        serde_json::from_str::<IgnoredAny>(text).map_err(|error| BodyError(error.to_string()))?;
        // What follows relies on the text being JSON.
        let inner = text.trim_matches([' ', '\t', '\n', '\r']);
        if !inner.starts_with('{') {
            return Err(BodyError("it does not begin with {".to_owned()));
        }
        let begin = text.len() - text.trim_start_matches([' ', '\t', '\n', '\r']).len() + 1;
        let end = begin - 1 + inner.len() - 1;
        let mut members = Vec::new();
        for whole in pieces(text, begin..end) {
            members.push(member(text, whole)?);
        }
        Ok(Self { text, members })
    }

    /// The value of a member as it was written; the last one where a key stands twice, as JSON readers take it.
    #[must_use]
    pub fn raw(&self, key: &str) -> Option<&'a str> {
        let found = self.members.iter().rev().find(|member| member.key == key)?;
        self.text.get(found.value.clone())
    }

    /// The value of a member as a number.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<f64> {
        serde_json::from_str(self.raw(key)?).ok()
    }

    /// The value of a member as a text.
    #[must_use]
    pub fn string(&self, key: &str) -> Option<String> {
        serde_json::from_str(self.raw(key)?).ok()
    }

    /// The object with these members set and those left out. A member that is there is replaced where it stands, others are added at
    /// the end; all other bytes stay.
    #[must_use]
    pub fn edited(&self, set: &[(&str, String)], drop: &[&str]) -> String {
        let mut out = String::with_capacity(self.text.len() + 256);
        out.push('{');
        let mut placed = vec![false; set.len()];
        let mut first = true;
        let mut put = |text: &str, out: &mut String| {
            if !std::mem::take(&mut first) {
                out.push(',');
            }
            out.push_str(text);
        };
        for member in &self.members {
            if drop.contains(&member.key.as_str()) {
                continue;
            }
            let index = set.iter().position(|(key, _)| *key == member.key);
            match index {
                None => put(&self.text[member.whole.clone()], &mut out),
                // The second of two members of one name would win.
                Some(index) if placed[index] => {}
                Some(index) => {
                    placed[index] = true;
                    let before = &self.text[member.whole.start..member.value.start];
                    let behind = &self.text[member.value.end..member.whole.end];
                    put(&format!("{before}{}{behind}", set[index].1), &mut out);
                }
            }
        }
        for ((key, value), _) in set.iter().zip(&placed).filter(|(_, placed)| !**placed) {
            put(&format!("\"{key}\":{value}"), &mut out);
        }
        out.push('}');
        out
    }
}

/// The pieces between the commas of the outermost level.
fn pieces(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let mut start = range.start;
    for (offset, byte) in text.as_bytes()[range.clone()].iter().enumerate() {
        let at = range.start + offset;
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => depth = (depth + 1).min(DEEPEST),
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                pieces.push(start..at);
                start = at + 1;
            }
            _ => {}
        }
    }
    if !text[start..range.end].trim().is_empty() {
        pieces.push(start..range.end);
    }
    pieces
}

fn member(text: &str, whole: Range<usize>) -> Result<Member, BodyError> {
    let piece = &text[whole.clone()];
    let mut keys = serde_json::Deserializer::from_str(piece).into_iter::<String>();
    let key = match keys.next() {
        Some(Ok(key)) => key,
        _ => return Err(BodyError("a member has no name".to_owned())),
    };
    let behind_key = keys.byte_offset();
    let colon = piece[behind_key..].find(':').unwrap_or_default();
    let after = behind_key + colon + 1;
    let value = piece[after..].trim();
    let begin = after + (piece[after..].len() - piece[after..].trim_start().len());
    let start = whole.start + begin;
    Ok(Member {
        key,
        value: start..start + value.len(),
        whole,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_named_stays_byte_by_byte() {
        let text =
            "{ \"model\" : \"m\",\n \"x\": [1, {\"stream\": true}],\"stream\":true , \"n\": 1.50 }";
        let body = Body::read(text.as_bytes()).unwrap();
        assert_eq!(body.edited(&[], &[]), text);
        assert_eq!(
            body.edited(
                &[("stream", "false".to_owned()), ("new", "7".to_owned())],
                &["n"]
            ),
            "{ \"model\" : \"m\",\n \"x\": [1, {\"stream\": true}],\"stream\":false ,\"new\":7}"
        );
        assert_eq!(body.raw("x"), Some("[1, {\"stream\": true}]"));
        assert_eq!(body.raw("n"), Some("1.50"));
    }

    #[test]
    fn keys_are_found_however_they_are_written() {
        // \u0073 is s; a key that stands twice is set once and its last value is read.
        let body = Body::read(br#"{"\u0073tream":true,"a":",}\"","stream":1}"#).unwrap();
        assert_eq!(body.raw("stream"), Some("1"));
        let out = body.edited(&[("stream", "false".to_owned())], &[]);
        assert_eq!(out, r#"{"\u0073tream":false,"a":",}\""}"#);
        assert_eq!(
            Body::read(b" {} ")
                .unwrap()
                .edited(&[("k", "1".to_owned())], &[]),
            r#"{"k":1}"#
        );
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for bytes in [&b"[1]"[..], b"{", b"\"{}\"", b"\xff", b"{}x", b""] {
            assert!(Body::read(bytes).is_err(), "{bytes:?}");
        }
    }
}
