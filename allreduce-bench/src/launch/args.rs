//! The flags of a launch.

use std::time::Duration;

use clap::Args;
use program::command_line::seconds;

/// How ranks that a launcher started find each other.
#[derive(Debug, Clone, Args)]
pub(crate) struct LaunchArgs {
    /// Where rank 0 of a launcher's ranks listens, HOST or HOST:PORT. By default its host is taken from the launcher's variables
    /// and the port follows from the job.
    #[arg(long, value_name = "HOST")]
    pub(crate) rendezvous: Option<String>,

    /// How long the ranks that a launcher started wait for each other.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) rendezvous_wait: Duration,

    /// Ignore a launcher's variables and start all ranks from this process.
    #[arg(long)]
    pub(crate) no_launcher: bool,
}
