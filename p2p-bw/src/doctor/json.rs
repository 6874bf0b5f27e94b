//! The findings as JSON.

use anyhow::Context;

use super::shown::Shown;

/// One object and a line break.
///
/// # Errors
/// It cannot be written as JSON.
pub(super) fn of(shown: &Shown) -> anyhow::Result<String> {
    let mut text = serde_json::to_string_pretty(shown).context("writing JSON")?;
    text.push('\n');
    Ok(text)
}
