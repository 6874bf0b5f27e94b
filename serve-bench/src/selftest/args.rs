//! The command line of `serve-bench selftest`.

use std::path::PathBuf;

use super::server::milliseconds;

/// Measure this client's own error on this machine.
///
/// A server of known schedule is started on a CPU of its own, `serve-bench run` loads it from another CPU, and what the client
/// says is compared with when the server truly wrote. Takes about 40 s. Exit code 0 where the error is within the stated bounds,
/// 3 where it is not or cannot be judged.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// Streams at once, one line of the table each.
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', default_values_t = [4, 256, 1000], value_parser = clap::value_parser!(u32).range(1..=16_384))]
    pub(super) streams: Vec<u32>,
    /// Output tokens of each request.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(4..=100_000))]
    pub(super) tokens: u32,
    /// True time to first token, ms.
    #[arg(long, value_name = "MS", default_value_t = 50.0, value_parser = milliseconds)]
    pub(super) ttft_ms: f64,
    /// True time between tokens, ms.
    #[arg(long, value_name = "MS", default_value_t = 20.0, value_parser = milliseconds)]
    pub(super) itl_ms: f64,
    /// Tokens of the part without a schedule, which finds how many the client can take; 0 leaves it out.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(0..=5_000_000))]
    pub(super) flood_tokens: u32,
    /// Ask a `serve-bench known-schedule` that runs already, there or behind a proxy, instead of starting one. Its schedule is its
    /// own, and the other forms of streams and the part without a schedule are left out.
    #[arg(long, value_name = "URL", conflicts_with_all = ["ttft_ms", "itl_ms"])]
    pub(super) base_url: Option<String>,
    /// Write the figures to this file as JSON, too; `-` for standard output instead of the table.
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Keep the client's results in this folder, which must not be there yet.
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
}
