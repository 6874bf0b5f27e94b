//! A plan as text: one row for each collective of each step, and the rules below.

use comfy_table::{CellAlignment, Table, presets};
use record::unit::ByteCount;
use record::{PlannedCollective, PlannedStep};

/// What a cell shows where there is nothing to show.
const ABSENT: &str = "—";

const COLUMNS: [&str; 10] = [
    "batch",
    "padded",
    "prefill",
    "collective",
    "for",
    "count",
    "bytes each",
    "bytes a step",
    "path",
    "rule",
];

/// Columns of words; all others are of numbers.
const WORDS: [usize; 4] = [3, 4, 8, 9];

/// Aligned text of the steps, those of the same model and engine under one heading; bytes are those of one rank.
#[must_use]
pub fn table(steps: &[PlannedStep]) -> String {
    let mut text = String::new();
    let mut rules: Vec<&str> = Vec::new();
    let same = |a: &PlannedStep, b: &PlannedStep| {
        (&a.model, &a.engine, a.tp) == (&b.model, &b.engine, b.tp)
    };
    for group in steps.chunk_by(same) {
        let Some(first) = group.first() else { continue };
        text.push_str(&format!(
            "{}, TP{}, {}\n",
            first.model, first.tp, first.engine
        ));
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_header(COLUMNS);
        for step in group {
            if step.collectives.is_empty() {
                table.add_row(row(step, None, String::new()));
            }
            for collective in &step.collectives {
                let known = rules.iter().position(|rule| *rule == collective.rule);
                let number = known.unwrap_or_else(|| {
                    rules.push(&collective.rule);
                    rules.len() - 1
                });
                table.add_row(row(step, Some(collective), format!("[{}]", number + 1)));
            }
        }
        for (index, column) in table.column_iter_mut().enumerate() {
            column.set_cell_alignment(if WORDS.contains(&index) {
                CellAlignment::Left
            } else {
                CellAlignment::Right
            });
        }
        for line in table.to_string().lines() {
            text.push_str(&format!(" {}\n", line.trim_end()));
        }
        text.push('\n');
    }
    if !rules.is_empty() {
        text.push_str("bytes are those of one rank; rules that decided the path:\n");
    }
    for (index, rule) in rules.iter().enumerate() {
        text.push_str(&format!(" [{}] {rule}\n", index + 1));
    }
    text
}

fn row(step: &PlannedStep, collective: Option<&PlannedCollective>, rule: String) -> [String; 10] {
    let or_absent = |cell: Option<String>| cell.unwrap_or_else(|| ABSENT.to_owned());
    let total = |collective: &PlannedCollective| {
        let bytes = u64::from(collective.count).saturating_mul(collective.bytes_per_rank);
        ByteCount(bytes).to_string()
    };
    [
        step.batch.to_string(),
        step.padded_batch.to_string(),
        or_absent(step.prefill_tokens.map(|tokens| tokens.to_string())),
        collective.map_or_else(
            || "none".to_owned(),
            |collective| collective.kind.to_string(),
        ),
        or_absent(collective.map(|collective| collective.role.clone())),
        or_absent(collective.map(|collective| collective.count.to_string())),
        or_absent(collective.map(|collective| collective.bytes_per_rank.to_string())),
        or_absent(collective.map(total)),
        or_absent(collective.map(|collective| collective.path.to_string())),
        rule,
    ]
}

#[cfg(test)]
mod tests;
