//! [`CapturedError`]: why a text was not read.

/// Why a captured text was not read; one line that names tool, place and next step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CapturedError {
    /// The text is longer than any output of these tools.
    #[error(
        "the text has {bytes} bytes and at most {most} are read; give the outputs of one machine only"
    )]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The most that is read.
        most: usize,
    },
    /// No line begins the output of a tool.
    #[error(
        "no output of a tool that is known was found; paste the whole output, its first line included, of {tools}"
    )]
    Unknown {
        /// The tools that are known.
        tools: String,
    },
    /// The output of a tool is broken or cut short.
    #[error("{tool}, line {line}: {what}; paste its whole output again")]
    Malformed {
        /// The tool.
        tool: &'static str,
        /// The line of the text, from 1.
        line: usize,
        /// Row or column, and what is wrong there.
        what: String,
    },
    /// Two outputs that cannot both be of one machine.
    #[error(
        "{tool}, line {line}: {what} stands in the text twice; give the outputs of one machine only, each once"
    )]
    Twice {
        /// The tool.
        tool: &'static str,
        /// The line of the second one, from 1.
        line: usize,
        /// What there are two of.
        what: String,
    },
}
