//! What a check of the repository finds.
//!
//! It does not say in which file: who checks it knows that.

/// A rule that a file breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Line from 1, absent where the file as a whole is meant.
    pub(crate) line: Option<usize>,
    pub(crate) what: String,
}

impl Finding {
    pub(crate) fn at(index: usize, what: impl Into<String>) -> Finding {
        Finding {
            line: Some(index + 1),
            what: what.into(),
        }
    }

    pub(crate) fn whole(what: impl Into<String>) -> Finding {
        Finding {
            line: None,
            what: what.into(),
        }
    }
}
