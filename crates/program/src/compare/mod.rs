//! Comparison of two files: flags, verdicts, exit codes and the document. A program says which numbers of its kind are the same.

mod comparison;
mod document;
mod flags;

pub use comparison::{
    Comparison, Difference, Fact, Gone, Missing, Row, Rules, Side, Value, compare,
};
pub use flags::{CompareFlags, both_simulated, exit_code};
