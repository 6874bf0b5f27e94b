//! The closed loop that a command line asks for: one place for every command that starts a server and puts it on.

use std::time::Duration;

use clap::Args;
use program::command_line::seconds;

use super::serving::Load;

/// A closed loop of requests of equal length, on a server that is started for it.
#[derive(Debug, Clone, Args)]
pub(crate) struct LoadArgs {
    /// Requests in flight at once, which is the batch that decodes; as in the runs that it is compared with.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=16_384))]
    pub(crate) concurrency: u32,

    /// Measured requests. Default: four for each in flight.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    requests: Option<u32>,

    /// Prompt tokens of each request.
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=4_000_000))]
    pub(crate) input_tokens: u32,

    /// Output tokens of each request.
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(2..=4_000_000))]
    pub(crate) output_tokens: u32,

    /// Seconds until a started server must answer.
    #[arg(long, value_name = "SECONDS", default_value = "1800", value_parser = seconds)]
    pub(crate) ready_timeout: Duration,
}

impl LoadArgs {
    /// Measured requests.
    pub(crate) fn requests(&self) -> u32 {
        let each = self.concurrency.saturating_mul(4);
        self.requests.unwrap_or(each)
    }

    /// The load on a server whose model has so many token ids.
    pub(crate) fn load(&self, vocab: u32) -> Load {
        Load {
            concurrency: self.concurrency,
            requests: self.requests(),
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            vocab,
        }
    }
}
