//! Facts by the names that they have in JSON, which are the codes of variants and of what these hold.

use record::unit::ByteCount;
use serde::Serialize;
use serde_json::{Map, Value};
use view::evidence;

/// A fact as JSON has it, its code apart from the numbers and names that it holds.
pub(super) fn fields(of: &impl Serialize) -> (String, Map<String, Value>) {
    match serde_json::to_value(of) {
        Ok(value) => apart(value),
        Err(_) => Default::default(),
    }
}

fn apart(value: Value) -> (String, Map<String, Value>) {
    let mut fields = match value {
        Value::Object(fields) => fields,
        Value::String(code) => return (code.replace('_', "-"), Map::new()),
        _ => Map::new(),
    };
    let code = ["code", "is"].map(|tag| fields.remove(tag));
    let code = code.iter().flatten().find_map(Value::as_str);
    (code.unwrap_or_default().replace('_', "-"), fields)
}

/// In words, as far as there are some: `log (engine vLLM 0.13.0, tp 2)`.
pub(super) fn told(of: &impl Serialize) -> String {
    let (code, fields) = fields(of);
    beside(evidence(&code), &fields)
}

/// A line with numbers and names behind it.
pub(super) fn beside(line: &str, fields: &Map<String, Value>) -> String {
    let told = fields.iter().filter_map(|(name, value)| {
        let (value, name) = (shown(name, value)?, name.replace("gb_per_s", "GB/s"));
        let (what, unit) = match name.strip_suffix("_ms") {
            Some(what) => (what, " ms"),
            None => (name.as_str(), ""),
        };
        let what = evidence(what).replace('_', " ");
        Some(format!("{what} {value}{unit}").trim_start().to_owned())
    });
    let told: Vec<String> = told.collect();
    match told.is_empty() {
        true => line.to_owned(),
        false => format!("{line} ({})", told.join(", ")),
    }
}

fn shown(name: &str, value: &Value) -> Option<String> {
    match value {
        Value::Array(all) => {
            let all: Vec<String> = all.iter().filter_map(|one| shown(name, one)).collect();
            (!all.is_empty()).then(|| all.join(" and "))
        }
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(match (number.as_u64(), number.as_f64()?) {
            (Some(bytes), _) if name.ends_with("bytes") => ByteCount(bytes).to_string(),
            (Some(whole), _) => whole.to_string(),
            (None, part) if name == "share" => format!("{:.0}%", part * 100.0),
            (None, number) => format!("{number:.2}"),
        }),
        Value::Object(_) => {
            let (code, fields) = apart(value.clone());
            Some(beside(evidence(&code), &fields))
        }
        Value::Bool(_) | Value::Null => None,
    }
}
