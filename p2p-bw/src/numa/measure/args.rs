//! The command line of `tplens numa`.

use std::time::Duration;

use clap::{Args, ValueEnum};
use program::command_line::seconds;
use program::outputs::Outputs;
use record::unit::ByteCount;

use crate::device_args::{DeviceArgs, one_size};

/// A kind of host memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Ordinary memory, which the driver stages or pins on the fly.
    Pageable,
    /// Locked by the driver.
    Pinned,
}

impl Kind {
    /// Its word in the keys of cases.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Pageable => "pageable",
            Self::Pinned => "pinned",
        }
    }
}

/// What to measure and how.
#[derive(Debug, Clone, Args)]
pub(crate) struct MeasureArgs {
    #[command(flatten)]
    pub(crate) on: DeviceArgs,

    /// Kinds of host memory.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KINDS", default_values_t = [Kind::Pageable, Kind::Pinned])]
    pub(crate) kinds: Vec<Kind>,

    /// NUMA nodes of the memory, by number, separated by commas. Default: every node that has memory.
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    pub(crate) nodes: Option<Vec<u32>>,

    /// Bytes of one copy, K, M and G being powers of 1024. Default: 64M; on the host backend the power of two above the
    /// last-level cache, 64M to 1G; on a simulated machine 16M.
    #[arg(long, value_name = "SIZE", value_parser = one_size)]
    pub(crate) size: Option<ByteCount>,

    /// Timed samples of each number at most; at least 6 are taken where this allows, so that there is an interval.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) samples: u32,

    /// Seconds to aim at for all samples together; 6 samples of each number are taken even when that takes longer.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) budget: Duration,

    /// Seconds without progress after which a measurement counts as hung and its process is ended.
    #[arg(long, value_name = "SECONDS", default_value = "20", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) deadline: Duration,

    #[command(flatten)]
    pub(crate) outputs: Outputs,
}
