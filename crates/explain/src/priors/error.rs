//! What can be wrong with a prior that was given.

/// A prior cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PriorError {
    /// The text has no name and no value.
    #[error("`{0}` is not a prior; write NAME=LOW..HIGH, such as gemm_speedup=1.9..2.0")]
    NotAPrior(String),
    /// The value of a prior that is known is no range.
    #[error(
        "prior {name}: `{given}` is no range; write {name}=LOW..HIGH in {unit}, such as {name}={example}"
    )]
    NotARange {
        /// Its name.
        name: String,
        /// What was given.
        given: String,
        /// Unit of both ends.
        unit: String,
        /// The range that is taken where none is given.
        example: String,
    },
    /// There is no prior of that name.
    #[error("there is no prior `{0}`; --help lists all")]
    Unknown(String),
    /// The ends are not finite, the lower one lies above the upper one, or a logarithm has none.
    #[error(
        "prior {name} cannot be {given}; write {name}=LOW..HIGH in {unit}, LOW first, both {bounds}"
    )]
    BadRange {
        /// Its name.
        name: String,
        /// The range that was given.
        given: String,
        /// Unit of both ends.
        unit: String,
        /// Between what both ends must lie, in words.
        bounds: String,
    },
    /// The file of priors does not read.
    #[error("priors do not read: {0}")]
    File(String),
}
