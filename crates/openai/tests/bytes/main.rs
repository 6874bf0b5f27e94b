//! The readers of replies on made and mangled bytes: both looks at a chunk agree, cuts change nothing, nothing panics.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod agree;
mod fuzz;
mod random;
