//! A half model as text and as JSON.

use serde_json::json;
use tp_plan::HalfModel;

use crate::study::shell::shell;

/// What a person reads: the command, what the share is, and what to know of it.
pub(super) fn text(half: &HalfModel, command: &[String], is_written: bool) -> String {
    let facts = &half.facts;
    let mut text = format!(
        "{}\n\n{}: {} heads, {} key-value heads of {}, width {}, vocabulary {}; {} parameters, {:.2} GB of weights, {:.2} GB read in a step of one token\n",
        shell(command),
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
    for note in notes(half, is_written) {
        text.push_str(&format!("note: {note}\n"));
    }
    text
}

/// What a program reads.
pub(super) fn json(half: &HalfModel, command: &[String], is_written: bool) -> String {
    let value = json!({
        "model": half.model,
        "tp": half.tp,
        "engine": half.engine,
        "command": command,
        "overrides": half.overrides,
        "config": half.config,
        "facts": half.facts,
        "notes": notes(half, is_written).collect::<Vec<_>>(),
    });
    format!("{value:#}\n")
}

/// What to know; of a written configuration only where one is.
fn notes(half: &HalfModel, is_written: bool) -> impl Iterator<Item = &String> {
    let of_config = half.config_notes.iter().filter(move |_| is_written);
    half.notes.iter().chain(of_config)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "two digits after the point are shown"
)]
fn gigabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e9
}
