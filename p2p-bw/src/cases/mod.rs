//! The cases: one table of pattern x memory x engine, what each moves between which ends, and when a case does not
//! apply.
//!
//! A case that shares a pattern with another is a row in `table.rs`; a new pattern says in `pattern.rs` what it runs on
//! and in `streams.rs` what it moves. `tplens p2p --list` prints [`ALL`].

mod applies;
mod choose;
mod pattern;
mod streams;
mod table;

pub(crate) use applies::{Access, of_backend, refusal};
pub(crate) use choose::{DEFAULT, matching};
pub(crate) use pattern::{Ends, Engine, Issuer, Measures, Memory, Pattern};
pub(crate) use streams::Stream;
pub(crate) use table::{ALL, Case};
