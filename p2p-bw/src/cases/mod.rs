//! The cases: one table of pattern x memory x engine, and what each moves between which ends.
//!
//! A case that shares a pattern with another is a row in `table.rs`; a new pattern says
//! in `streams.rs` what it moves. `tplens p2p --list` prints [`ALL`].

mod streams;
mod table;

pub(crate) use streams::Stream;
pub(crate) use table::{ALL, Case, DEFAULT, Engine, Issuer, Measures, Memory, Pattern, matching};
