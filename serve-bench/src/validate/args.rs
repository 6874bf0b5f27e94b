//! The command line of `serve-bench validate`.

use std::path::PathBuf;

use clap::Args;

use super::assumption::Assumption;

/// Holds explanations against boxes whose truth is known: random boxes, models and batches, run by the engine in virtual time.
///
/// Prints how often the 90% intervals hold the truth, how wide they are, how often communication is claimed where there is none,
/// and whether slope tests find what was planted. Exit code 3 where a bound does not hold.
#[derive(Debug, Clone, Args)]
pub(crate) struct ValidateArgs {
    /// Cases of each kind.
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(super) cases: u32,

    /// Seed of the first case; the following ones have the next.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(super) seed: u64,

    /// Assumption of the explanation to break, each by itself; all where none is named.
    #[arg(long = "break", value_name = "WHICH", value_enum)]
    pub(super) broken: Vec<Assumption>,

    /// Write the report to this file as JSON, too; `-` for standard output instead of the text.
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
}
