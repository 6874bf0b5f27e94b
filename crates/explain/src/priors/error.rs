//! What can be wrong with a prior that was given.

/// A prior cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PriorError {
    /// The text has no name and no range.
    #[error("`{0}` is no prior; write NAME=LOW..HIGH, such as gemm_speedup=1.9..2.0")]
    NotAPrior(String),
    /// There is no prior of that name.
    #[error("there is no prior `{0}`; --help lists all")]
    Unknown(String),
    /// The ends are not finite, the lower one lies above the upper one, or one lies outside what has sense.
    #[error(
        "prior {name} cannot be {low}..{high}; write {name}=LOW..HIGH in {unit}, LOW first, from {least} to {most}"
    )]
    BadRange {
        /// Its name.
        name: String,
        /// The range that was given.
        low: f64,
        /// Its other end.
        high: f64,
        /// Unit of both ends.
        unit: String,
        /// The least that has sense.
        least: f64,
        /// The most.
        most: f64,
    },
    /// The file of priors does not read.
    #[error("priors do not read: {0}")]
    File(String),
}
