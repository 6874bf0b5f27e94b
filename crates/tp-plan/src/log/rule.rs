//! A row of the table of words that a log is read by.

use super::reading::{Hit, Reading, warn};

/// A row: what a line holds, and what to read of it.
pub(super) struct Rule {
    pub(super) needle: &'static str,
    pub(super) read: fn(&mut Reading, &Rule, Hit<'_>),
    /// What a warning means; empty for all else.
    pub(super) meaning: &'static str,
}

pub(super) const fn rule(needle: &'static str, read: fn(&mut Reading, &Rule, Hit<'_>)) -> Rule {
    Rule {
        needle,
        read,
        meaning: "",
    }
}

pub(super) const fn warning(needle: &'static str, meaning: &'static str) -> Rule {
    Rule {
        needle,
        read: |reading, rule, hit| warn(&mut reading.log.warnings, rule.meaning, hit),
        meaning,
    }
}
