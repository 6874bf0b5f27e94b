//! Explanations of machines whose answer is known: benchmarked by hand, or made by arithmetic.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

pub(crate) mod boxes;
mod curves;
mod findings;
mod kinds;
mod planted;
mod predicted;
mod traces;
