//! Slope tests on arms whose truth is known, because arithmetic made them.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "../links/cases.rs"]
#[expect(dead_code, reason = "what only pairs of links need")]
mod cases;
mod controls;
mod impossible;
mod made;
mod power;
mod verdicts;
mod waits;
