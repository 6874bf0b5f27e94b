//! Slope tests on arms whose truth is known, because arithmetic made them.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod controls;
mod made;
mod power;
mod verdicts;
mod waits;
