//! All tests of this crate that use it from outside.
#![expect(clippy::unwrap_used, reason = "tests")]

mod checks;
mod on_paper;
mod published;
mod ratios;
mod transcripts;
