//! The launchers' part of the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use program::command_line::seconds;

/// How the copies that a launcher started find each other.
#[derive(Debug, Clone, Args)]
pub(crate) struct LaunchArgs {
    /// A folder that all hosts of a launcher see, through which the ranks find each other; files in it are this user's only.
    /// Default, for the ranks of one host: a folder among the temporary files.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) rendezvous: Option<PathBuf>,

    /// Seconds for which the ranks that a launcher started wait for each other at the start.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) rendezvous_wait: Duration,

    /// Seconds without a sign of life after which a rank that a launcher started counts as gone; it gives one each second.
    #[arg(long, value_name = "SECONDS", default_value = "20", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) rendezvous_silence: Duration,

    /// Ignore that mpirun, srun or torchrun started this program, and start all ranks from here.
    #[arg(long)]
    pub(crate) no_launcher: bool,
}
