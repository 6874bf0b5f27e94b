//! What programs that compare two files share: flags, verdicts, exit codes, and the form of the text. Which number of one file is
//! which of the other is the program's own.

mod flags;
mod text;
mod verdict;

pub use flags::{CompareFlags, Compared, both_simulated, exit_code};
pub use text::{columns, listed, numbers, section, significant};
pub use verdict::{Threshold, Verdict, gain, judge};
