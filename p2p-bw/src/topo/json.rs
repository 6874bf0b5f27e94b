//! What is shown as JSON, for other programs.

use anyhow::Context;
use serde::Serialize;
use topology::Matrix;
use topology::captured::Captured;

use super::read::Shown;

/// A captured text: the same key for the matrix as of a machine, the rest as its reader gives it.
#[derive(Serialize)]
struct OfText<'a> {
    schema: u32,
    source: String,
    matrix: Option<&'a Matrix>,
    captured: &'a Captured,
}

/// A box.
pub(super) fn of(shown: &Shown) -> anyhow::Result<String> {
    text(shown)
}

/// A captured text.
pub(super) fn of_captured(captured: &Captured) -> anyhow::Result<String> {
    text(&OfText {
        schema: 1,
        source: captured.sources.join(", "),
        matrix: captured.matrix.as_ref(),
        captured,
    })
}

fn text(value: &impl Serialize) -> anyhow::Result<String> {
    let text = serde_json::to_string_pretty(value).context("writing JSON")?;
    Ok(text + "\n")
}
