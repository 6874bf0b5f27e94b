//! JSON as the jsoncpp library styles it, which nvbandwidth writes: tabs, sorted keys, a blank on both sides of the colon, and
//! every bracket on a line of its own.

use serde_json::Value;

/// The text of a value, with the line end that jsoncpp gives it.
pub(super) fn styled(value: &Value) -> String {
    let mut text = String::new();
    write(&mut text, value, 0);
    text.push('\n');
    text
}

fn write(text: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            text.push_str("{\n");
            for (index, (key, value)) in map.iter().enumerate() {
                indent(text, depth + 1);
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push_str(" : ");
                if is_long(value) {
                    text.push('\n');
                    indent(text, depth + 1);
                }
                write(text, value, depth + 1);
                text.push_str(if index + 1 < map.len() { ",\n" } else { "\n" });
            }
            indent(text, depth);
            text.push('}');
        }
        Value::Array(values) if !values.is_empty() => {
            text.push_str("[\n");
            for (index, value) in values.iter().enumerate() {
                indent(text, depth + 1);
                write(text, value, depth + 1);
                text.push_str(if index + 1 < values.len() {
                    ",\n"
                } else {
                    "\n"
                });
            }
            indent(text, depth);
            text.push(']');
        }
        other => text.push_str(&other.to_string()),
    }
}

/// Whether a value begins on a line of its own.
fn is_long(value: &Value) -> bool {
    match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(values) => !values.is_empty(),
        _ => false,
    }
}

fn indent(text: &mut String, depth: usize) {
    text.extend(std::iter::repeat_n('\t', depth));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_jsoncpp_wrote_is_styled_the_same_again() {
        // Written by nvbandwidth's own JSON writer, which adds a line end to the one of jsoncpp.
        let theirs = include_str!("../../../import/tests/fixtures/links/nvbandwidth-0.8.json");
        let value: Value = serde_json::from_str(theirs).unwrap();
        assert_eq!(styled(&value) + "\n", theirs);
    }
}
