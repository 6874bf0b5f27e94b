//! What can be wrong with a box file.

/// Why a box file was refused.
#[derive(Debug, thiserror::Error)]
pub enum BoxError {
    /// The text is not TOML of this format; the message carries line and column.
    #[error("{origin}: {reason}")]
    Syntax {
        /// Path or name the text came from.
        origin: String,
        /// The parser's message with line, column and the offending key.
        reason: String,
    },
    /// A value is out of range or names something that the file does not hold.
    #[error("{origin}: {key} = {value}: {problem}")]
    Invalid {
        /// Path or name the text came from.
        origin: String,
        /// The key, as a path such as `device[1].parent`.
        key: String,
        /// The value found there.
        value: String,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// The file could not be read or a tree could not be written.
    #[error("{path}: {source}")]
    Io {
        /// The path that failed.
        path: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The name is neither a built-in box nor a file.
    #[error("no box `{name}`: there is no such file, and the built-in boxes are {builtin}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// The built-in names, separated by commas.
        builtin: String,
    },
    /// The box could not be written as TOML.
    #[error("box `{name}` cannot be written as TOML: {reason}")]
    Write {
        /// The box's name.
        name: String,
        /// The serializer's message.
        reason: String,
    },
}
