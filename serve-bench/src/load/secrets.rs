//! What must come into no output: the key and the values of headers, however a server repeats them in its words.
//!
//! Known are the text itself, the words in it, their percent-encoding, and base64 of them wherever they stand in what was encoded. A
//! server that changes a secret in another way is not seen through.

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD as STANDARD, BASE64_URL_SAFE as URL_SAFE};
use hyper::header::{HeaderMap, HeaderValue};
use record::is_secret;
use serde_json::{Map, Value};

/// What stands for what was left out.
const REDACTED: &str = "<redacted>";

/// Letters that a secret has at least; fewer stand in other words, too.
const SHORTEST: usize = 6;

/// Letters of a secret that was cut off which are seen as one.
const REMNANT: usize = 4;

/// How words that were cut off end.
const CUT: &str = "...";

/// The secrets of a run in every form in which they are looked for, the longest first.
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    /// The sensitive ones of these headers, and what stands under a name such as `api_key` in what every body holds.
    pub(super) fn of(headers: &HeaderMap<HeaderValue>, body: Option<&Map<String, Value>>) -> Self {
        let sensitive = headers.values().filter(|value| value.is_sensitive());
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let mut texts: Vec<String> = sensitive.map(text).collect();
        for (name, value) in body.into_iter().flatten() {
            of_value(name, value, &mut texts);
        }
        let mut forms = Vec::new();
        for text in &texts {
            // With the name of its scheme a value stands nowhere else than in its header.
            for word in text.split_whitespace().chain([text.as_str()]) {
                if word.len() >= SHORTEST {
                    forms.push(word.to_owned());
                    forms.extend(percent(word));
                    forms.extend(base64(word.as_bytes()));
                    forms.extend(escaped(word));
                }
            }
        }
        forms.retain(|form| !["Bearer", "bearer", "Digest", "digest"].contains(&form.as_str()));
        forms.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
        forms.dedup();
        Self(forms)
    }

    /// The text without them.
    pub(super) fn hide(&self, text: &mut String) {
        for form in &self.0 {
            if text.contains(form) {
                *text = text.replace(form, REDACTED);
            }
        }
        let Some(kept) = text.strip_suffix(CUT) else {
            return;
        };
        let remnant = self.0.iter().filter_map(|form| {
            let lengths = (REMNANT..form.len()).rev();
            let mut beginnings = lengths.filter_map(|length| form.get(..length));
            beginnings.find(|beginning| kept.ends_with(beginning))
        });
        if let Some(length) = remnant.map(str::len).max() {
            *text = format!("{}{REDACTED}{CUT}", &kept[..kept.len() - length]);
        }
    }

    /// Texts without them.
    pub(super) fn hide_in<'a>(&self, texts: impl IntoIterator<Item = &'a mut String>) {
        texts.into_iter().for_each(|text| self.hide(text));
    }
}

/// Leaves the values of `--header` out of a command line: whatever their names, they may be secrets.
pub(crate) fn without_headers(arguments: &mut [String]) {
    let mut is_value = false;
    for argument in arguments {
        if argument.starts_with("--header=") {
            *argument = format!("--header={REDACTED}");
            // Further values may follow this one, too.
            is_value = true;
        } else if argument.starts_with("--") {
            is_value = argument == "--header";
        } else if is_value {
            REDACTED.clone_into(argument);
        }
    }
}

/// Texts under secret names, however deep.
fn of_value(name: &str, value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) if is_secret(name) => texts.push(text.clone()),
        Value::Object(inner) => inner
            .iter()
            .for_each(|(name, one)| of_value(name, one, texts)),
        Value::Array(items) => items.iter().for_each(|one| of_value(name, one, texts)),
        _ => {}
    }
}

/// A text as gateways write it into JSON and HTML.
fn escaped(text: &str) -> [String; 3] {
    let html = text.replace('&', "&amp;").replace('<', "&lt;");
    let html = html.replace('>', "&gt;").replace('"', "&quot;");
    [text.replace('/', "\\/"), html.replace('/', "&#x2F;"), html]
}

/// A text as it stands in a URL (RFC 3986, section 2.1), in both spellings of its digits.
fn percent(text: &str) -> [String; 2] {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let encoded = |digits: fn(u8) -> String| {
        let letter = |byte| match is_plain(byte) {
            true => char::from(byte).to_string(),
            false => digits(byte),
        };
        text.bytes().map(letter).collect()
    };
    [|byte| format!("%{byte:02X}"), |byte| format!("%{byte:02x}")].map(encoded)
}

/// What of base64 (RFC 4648, sections 4 and 5) a secret alone decides, for each place in a group of three at which it may begin.
fn base64(secret: &[u8]) -> Vec<String> {
    let forms = [STANDARD, URL_SAFE].into_iter().flat_map(|alphabet| {
        (0..3).map(move |before| {
            let text = alphabet.encode([&vec![0; before][..], secret].concat());
            // Letter n is bits 6n to 6n + 5.
            let ends = (before + secret.len()) * 8 / 6;
            text[(before * 8).div_ceil(6)..ends].to_owned()
        })
    });
    forms.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(value: &'static str) -> Secrets {
        let mut value = HeaderValue::from_static(value);
        value.set_sensitive(true);
        let mut headers = HeaderMap::from_iter([(hyper::header::AUTHORIZATION, value)]);
        headers.insert("x-plain", HeaderValue::from_static("plain-value"));
        Secrets::of(&headers, None)
    }

    #[test]
    fn a_secret_is_hidden_in_each_of_its_forms() {
        let secrets = secrets("Bearer canary/1+2");
        // base64 by coreutils: printf 'canary/1+2' | base64, and with one and two letters before it.
        for (said, shown) in [
            ("no key canary/1+2 here", "no key <redacted> here"),
            ("Bearer canary/1+2", "<redacted>"),
            ("canary%2F1%2B2, canary%2f1%2b2", "<redacted>, <redacted>"),
            ("[Y2FuYXJ5LzErMg==]", "[<redacted>g==]"),
            ("[eGNhbmFyeS8xKzI=]", "[eG<redacted>I=]"),
            ("[eHhjYW5hcnkvMSsy]", "[eHh<redacted>]"),
            ("plain-value, Bearer", "plain-value, Bearer"),
            ("too long: canary/1...", "too long: <redacted>..."),
            ("a canary...", "a <redacted>..."),
            ("a can...", "a can..."),
            (r"canary\/1+2, canary&#x2F;1+2", "<redacted>, <redacted>"),
        ] {
            let mut text = said.to_owned();
            secrets.hide(&mut text);
            assert_eq!(text, shown);
        }
    }

    #[test]
    fn what_stands_under_a_secret_name_in_a_body_is_one() {
        let body = serde_json::json!({"top_k": 5, "user": "somebody", "more": {"api_key": "canary1"}, "tools": [{"token": "canary2"}]});
        let secrets = Secrets::of(&HeaderMap::new(), body.as_object());
        let mut text = "somebody sent canary1 and canary2".to_owned();
        secrets.hide(&mut text);
        assert_eq!(text, "somebody sent <redacted> and <redacted>");
    }

    #[test]
    fn values_of_headers_are_not_recorded() {
        let mut arguments = [
            "run",
            "--header",
            "X-A: canary",
            "x-b=canary",
            "--header=B: canary",
            "c=canary",
            "--tp",
            "2",
        ]
        .map(str::to_owned);
        without_headers(&mut arguments);
        assert_eq!(
            arguments,
            [
                "run",
                "--header",
                REDACTED,
                REDACTED,
                "--header=<redacted>",
                REDACTED,
                "--tp",
                "2"
            ]
        );
    }
}
