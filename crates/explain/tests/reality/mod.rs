//! Predictions against what others measured and published: figures typed in from the sources named beside them.
//!
//! `cargo test -p explain --test reality -- --nocapture` prints the tables of docs/validation.md.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests, which print the tables of docs/validation.md"
)]

mod curves;
mod fits;
mod judged;
mod kernels;
mod links;
mod pairs;
mod pairs_table;
mod priors;
mod rows;
