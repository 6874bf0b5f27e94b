//! The command line of the server of known schedule.

use super::manner::Manner;

/// Serve tokens at known instants, and the true instants at `GET /truth`.
#[derive(Debug, Clone, clap::Parser)]
pub(crate) struct ServerArgs {
    /// Address to listen on.
    #[arg(long, default_value = "127.0.0.1")]
    pub(super) host: String,
    /// Port to listen on; 0 takes a free one. The first line on standard output tells it.
    #[arg(long, default_value_t = 0)]
    pub(super) port: u16,
    /// From the receipt of a request to its first token, ms.
    #[arg(long, value_name = "MS", default_value_t = 50.0, value_parser = milliseconds)]
    ttft_ms: f64,
    /// From a token to the next, ms.
    #[arg(long, value_name = "MS", default_value_t = 20.0, value_parser = milliseconds)]
    itl_ms: f64,
    /// Tokens in each write, a chunk each.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    tokens_per_write: u32,
    /// No schedule: write as fast as the sockets take it.
    #[arg(long)]
    flood: bool,
}

impl ServerArgs {
    /// How requests are answered.
    pub(super) fn manner(&self) -> Manner {
        Manner {
            ttft_ns: nanoseconds(self.ttft_ms),
            itl_ns: nanoseconds(self.itl_ms),
            tokens_per_write: self.tokens_per_write,
            paced: !self.flood,
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "milliseconds of the command line are 0 to 100000"
)]
fn nanoseconds(ms: f64) -> u64 {
    (ms * 1e6).round() as u64
}

/// Reads milliseconds of a schedule.
pub(super) fn milliseconds(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|ms| (0.0..=100_000.0).contains(ms))
        .ok_or_else(|| "must be 0 to 100000".to_owned())
}
