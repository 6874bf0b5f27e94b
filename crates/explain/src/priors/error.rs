//! What can be wrong with a prior that was given.

/// A prior cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PriorError {
    /// The text is not `name=low..high`.
    #[error("`{0}` is not a prior; write name=low..high, such as gemm_speedup=1.9..2.0")]
    NotAPrior(String),
    /// There is no prior of that name.
    #[error("there is no prior `{name}`; known are {known}")]
    Unknown {
        /// The name that was given.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// The ends are not finite, the lower one lies above the upper one, or a logarithm has none.
    #[error(
        "prior `{0}` has no such range; both ends must be finite, the lower one first, and above zero where it is a factor"
    )]
    BadRange(String),
    /// The file of priors does not read.
    #[error("priors do not read: {0}")]
    File(String),
}
