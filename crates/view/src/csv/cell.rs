//! Cells of a CSV: numbers, words and their quoting.

use record::{Status, Verification};

/// A header line and the rows below it.
pub(super) fn table<const N: usize>(
    columns: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut text = columns.join(",") + "\n";
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| escape(cell)).collect();
        text.push_str(&cells.join(","));
        text.push('\n');
    }
    text
}

/// A number with all its digits.
pub(super) fn number(value: f64) -> String {
    format!("{value}")
}

/// How a run ended, in a word or two.
pub(super) fn run_word(status: &Status) -> &'static str {
    match status {
        Status::Complete => "complete",
        Status::Interrupted { .. } => "interrupted",
        Status::Broken | Status::Failed { .. } => "broken off",
        Status::Refused { .. } => "refused",
    }
}

/// Whether data was compared, in a word or two.
pub(super) fn verification_word(verification: &Verification) -> &'static str {
    match verification {
        Verification::Passed => "passed",
        Verification::WrongData { .. } => "WRONG DATA",
        Verification::NotAsked => "not asked",
    }
}

/// The word that the JSON has for a value.
pub(super) fn word_of(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}

/// Quoted where needed; a leading character that a spreadsheet takes for a formula gets an apostrophe.
fn escape(cell: &str) -> String {
    let numeric = cell.parse::<f64>().is_ok();
    let text = if cell.starts_with(['=', '+', '-', '@']) && !numeric {
        format!("'{cell}")
    } else {
        cell.to_owned()
    };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_and_formulas_disarmed() {
        assert_eq!(escape("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(escape("=1+1"), "'=1+1");
        assert_eq!(escape("-1.5"), "-1.5");
    }
}
