//! Columns and cells of a CSV: numbers, words and their quoting.

use record::quantity::Quantity;
use record::{Record, Status, Unmeasured, Verification};

/// A column: its head, and what a line has in it.
pub(super) type Column<L> = (&'static str, fn(&L) -> String);

/// A header line and a row for each line.
pub(super) fn table<L>(columns: &[Column<L>], lines: impl IntoIterator<Item = L>) -> String {
    let heads: Vec<&str> = columns.iter().map(|(head, _)| *head).collect();
    let mut text = heads.join(",") + "\n";
    for line in lines {
        let cells = columns.iter().map(|(_, of)| escape(&of(&line)));
        text.push_str(&cells.collect::<Vec<_>>().join(","));
        text.push('\n');
    }
    text
}

/// What there is, a number with all its digits; nothing where it is absent.
pub(super) fn shown<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// The lower end of the interval.
pub(super) fn low(of: Option<&Quantity>) -> String {
    shown(of.and_then(|of| of.interval).map(|interval| interval.low))
}

/// The upper end of the interval.
pub(super) fn high(of: Option<&Quantity>) -> String {
    shown(of.and_then(|of| of.interval).map(|interval| interval.high))
}

/// A point's outcome in a word, and why it has no number; wrong data was measured.
pub(super) fn outcome(unmeasured: Option<(Unmeasured, &str)>) -> (&'static str, &str) {
    match unmeasured {
        None | Some((Unmeasured::WrongData, _)) => ("measured", ""),
        Some((why, seen)) => (why.into(), seen),
    }
}

/// How a run ended, in a word or two.
pub(super) fn run(record: &Record) -> String {
    let word = match &record.status {
        Status::Complete => "complete",
        Status::Interrupted { .. } => "interrupted",
        Status::Broken | Status::Failed { .. } => "broken off",
        Status::Refused { .. } => "refused",
    };
    word.to_owned()
}

/// The simulated machine.
pub(super) fn simulated(record: &Record) -> String {
    record.soft_box().unwrap_or_default()
}

/// Whether data was compared, in a word or two.
pub(super) fn verification(verification: Option<&Verification>) -> String {
    let word = match verification {
        None => "",
        Some(Verification::Passed) => "passed",
        Some(Verification::WrongData { .. }) => "WRONG DATA",
        Some(Verification::NotAsked) => "not asked",
    };
    word.to_owned()
}

/// The word that the JSON has for a value.
pub(super) fn word_of(value: Option<&impl serde::Serialize>) -> String {
    let value = value.and_then(|value| serde_json::to_value(value).ok());
    shown(value.as_ref().and_then(|value| value.as_str()))
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
