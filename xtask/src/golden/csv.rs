//! Rows of a CSV text (RFC 4180), or of a printed table, as JSON, so that names are found in them as in any document.

use serde_json::{Map, Value};

/// An array with an object for each row, by the names of the first line. Numbers become numbers, an empty field is null.
pub(super) fn rows(text: &str) -> Value {
    objects(fields(text))
}

/// The same of the first printed table: columns are two or more blanks apart, and its head has the column `batch`.
pub(super) fn table(text: &str) -> Value {
    let cells = |line: &str| -> Vec<String> {
        let cells = line.split("  ").map(str::trim);
        cells
            .filter(|cell| !cell.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let lines = text.lines().map(cells);
    let lines = lines.skip_while(|line| !line.iter().any(|cell| cell == "batch"));
    objects(lines.take_while(|line| !line.is_empty()).collect())
}

/// The first line names the members of the objects that the others become.
fn objects(lines: Vec<Vec<String>>) -> Value {
    let mut lines = lines.into_iter();
    let head = lines.next().unwrap_or_default();
    let row = |line: Vec<String>| {
        let pairs = head.iter().cloned().zip(line.into_iter().map(value));
        Value::Object(pairs.collect::<Map<_, _>>())
    };
    Value::Array(lines.map(row).collect())
}

fn value(field: String) -> Value {
    if field.is_empty() {
        return Value::Null;
    }
    let number = serde_json::from_str(&field).ok().filter(Value::is_number);
    number.unwrap_or(Value::String(field))
}

fn fields(text: &str) -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    let mut line = vec![String::new()];
    let mut is_quoted = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => {
                letters.next();
                push(&mut line, '"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => line.push(String::new()),
            '\r' if !is_quoted => {}
            '\n' if !is_quoted => lines.push(std::mem::replace(&mut line, vec![String::new()])),
            other => push(&mut line, other),
        }
    }
    if line != [""] {
        lines.push(line);
    }
    lines
}

fn push(line: &mut [String], letter: char) {
    if let Some(field) = line.last_mut() {
        field.push(letter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_quotes_and_empty_fields_are_read() {
        assert_eq!(
            rows("name,ms,n\r\n\"a, \"\"b\"\"\",1.50,\nc,-,3"),
            json!([{"name": "a, \"b\"", "ms": 1.5, "n": null}, {"name": "c", "ms": "-", "n": 3}])
        );
        assert_eq!(rows(""), json!([]));
    }
}
