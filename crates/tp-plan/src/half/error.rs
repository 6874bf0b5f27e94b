//! Why there is no half model.

use thiserror::Error;

use crate::ModelError;

/// Why there is no half model.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HalfError {
    /// The model is not known or cannot be cut.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A size cannot be shared evenly.
    #[error(
        "{model}: {what} is {size}, which {tp} ranks cannot share evenly; choose another tensor parallel size"
    )]
    Indivisible {
        /// The model.
        model: String,
        /// Which size.
        what: &'static str,
        /// The size.
        size: u32,
        /// Ranks.
        tp: u32,
    },
    /// A share of one rank is the model itself.
    #[error("{tp} rank(s) make no share: choose a tensor parallel size of 2 or more")]
    Whole {
        /// Ranks.
        tp: u32,
    },
    /// Smaller sizes in the configuration would not give a rank's share.
    #[error(
        "{model}: {reason}; measure communication by arms that change only the link, or by a trace of some steps"
    )]
    NotCut {
        /// The model.
        model: String,
        /// Why.
        reason: String,
    },
}
