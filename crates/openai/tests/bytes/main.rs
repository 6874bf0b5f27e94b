//! The readers of replies on made and mangled bytes: cuts change nothing, nothing panics.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod fuzz;
mod random;
