//! The command line of `tplens serve selftest`.

use std::path::PathBuf;

/// Measure this client's own error on this machine.
///
/// The embedded engine is started on a CPU of its own and `tplens serve run` loads it from another. The client's times and tokens are
/// compared with those that the engine counted, the rate that was offered with the one that left. What the engine's HTTP takes
/// counts as the client's error, so the true one is smaller. Takes about 20 s. Exit code 0 where the error is within the stated
/// bounds, 3 where it is not.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// Streams at once, one line of the table each.
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', default_values_t = [4, 64, 256], value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(super) streams: Vec<u32>,
    /// Write the figures to this file as JSON, too; `-` for standard output instead of the table.
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
}
