//! Ceilings that fall: how much each crate and page holds.
//!
//! What is counted and how is in `crates` and the files that it uses, what is allowed in `table`.

mod circles;
mod crates;
mod lines;
mod paths;
mod table;

pub(super) use self::crates::Repository;
pub(super) use self::lines::Lines;
pub(super) use self::table::{FILE, Table};
