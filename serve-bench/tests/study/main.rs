//! The chain as its user runs it: real processes with files between them, on soft boxes and on a real engine.
#![expect(clippy::unwrap_used, reason = "tests")]

mod common;
mod fieldcases;
mod planted;
mod real;
mod resumed;
mod two_links;
mod watched;
