//! All tests of this crate that use it from outside.

mod checks;
mod on_paper;
mod published;
mod ratios;
mod transcripts;
