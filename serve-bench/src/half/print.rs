//! A half model as text and as JSON.

use std::ffi::OsStr;

use program::command_line::quoted;
use serde_json::json;
use tp_plan::HalfModel;

/// What a person reads: the command, what the share is, and what to know of it.
pub(super) fn text(half: &HalfModel, command: &[String]) -> String {
    let words: Vec<String> = command
        .iter()
        .map(|word| quoted(OsStr::new(word)))
        .collect();
    let facts = &half.facts;
    let mut text = format!(
        "{}\n\n{}: {} heads, {} key-value heads of {}, width {}, vocabulary {}; {} parameters, {:.2} GB of weights, {:.2} GB read in a step of one token\n",
        words.join(" "),
        facts.name,
        facts.heads,
        facts.kv_heads,
        facts.head_dim,
        facts
            .experts
            .map_or(facts.intermediate, |experts| experts.intermediate),
        facts.vocab,
        facts.parameters,
        gigabytes(facts.weight_bytes),
        facts.weight_bytes_read(1) / 1e9,
    );
    for note in &half.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    text
}

/// What a program reads.
pub(super) fn json(half: &HalfModel, command: &[String]) -> String {
    let value = json!({
        "model": half.model,
        "tp": half.tp,
        "engine": half.engine,
        "command": command,
        "overrides": half.overrides,
        "config": half.config,
        "facts": half.facts,
        "notes": half.notes,
    });
    format!("{value:#}\n")
}

#[expect(
    clippy::cast_precision_loss,
    reason = "two digits after the point are shown"
)]
fn gigabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e9
}
