//! Whether a report is still what its run wrote, held against the one in the run's journal; identities out of both.
//!
//! It finds the first thing that differs and says it; it judges neither.

use serde_json::Value;

use super::redact;
use crate::plural::plural;
use crate::report::Report;

/// Characters of a value that are told.
const SHOWN: usize = 60;

/// The first thing of a written report that is not as the journal has it, in words; `None` where all is.
pub(crate) fn differs(kept: &Report, written: &Report) -> Option<String> {
    let [kept, written] = redact::alike(kept, written);
    let value = |report: &Report| serde_json::to_value(report).ok();
    let (Some(kept), Some(written)) = (value(&kept), value(&written)) else {
        return Some("it cannot be encoded".to_owned());
    };
    first(String::new(), &kept, &written)
}

fn first(place: String, kept: &Value, written: &Value) -> Option<String> {
    let below = |name: &str| match place.is_empty() {
        true => name.to_owned(),
        false => format!("{place}.{name}"),
    };
    match (kept, written) {
        (Value::Object(kept), Value::Object(written)) => {
            // Both are of one struct, and may differ in the variant of an enumeration.
            let mut names: Vec<&String> = kept.keys().chain(written.keys()).collect();
            names.dedup();
            names.iter().find_map(|name| {
                let of = |object: &serde_json::Map<String, Value>| {
                    object.get(*name).cloned().unwrap_or(Value::Null)
                };
                first(below(name), &of(kept), &of(written))
            })
        }
        (Value::Array(kept), Value::Array(written)) => {
            let mut pairs = kept.iter().zip(written).enumerate();
            let found = pairs.find_map(|(at, (one, other))| {
                let name = match one.get("id").and_then(Value::as_str) {
                    Some(id) => format!("`{}`", shown(id)),
                    None => (at + 1).to_string(),
                };
                first(below(&name), one, other)
            });
            found.or_else(|| {
                (kept.len() != written.len()).then(|| {
                    format!(
                        "{place} has {}, and {} in the journal",
                        plural(written.len(), "row"),
                        kept.len()
                    )
                })
            })
        }
        _ if kept == written => None,
        _ => Some(format!(
            "{place} is {}, and {} in the journal",
            shown(&written.to_string()),
            shown(&kept.to_string())
        )),
    }
}

/// A text of a file in a message: short, and without control characters.
fn shown(text: &str) -> String {
    let mut kept: String = text.chars().take(SHOWN).collect();
    if kept.len() < text.len() {
        kept.push('…');
    }
    measure::control::replaced(&kept)
}
