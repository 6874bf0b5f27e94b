//! The command line of `tplens p2p load`.

use std::time::Duration;

use clap::Args;
use program::command_line::seconds;
use program::outputs::Outputs;
use record::unit::ByteCount;

use crate::device_args::{DeviceArgs, one_size};

/// What to load and for how long.
#[derive(Debug, Clone, Args)]
pub(crate) struct LoadArgs {
    #[command(flatten)]
    pub(crate) on: DeviceArgs,

    /// Seconds to load them for.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) duration: Duration,

    /// Bytes of each device's memory that are written and checked over and over, K, M and G being powers of 1024. Default: half of
    /// what is free; on the host backend 64M, on a simulated machine 16M.
    #[arg(long, value_name = "SIZE", value_parser = at_least_a_mib)]
    pub(crate) memory: Option<ByteCount>,

    /// Seconds without progress after which a device counts as hung and its process is ended.
    #[arg(long, value_name = "SECONDS", default_value = "20", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) deadline: Duration,

    #[command(flatten)]
    pub(crate) outputs: Outputs,
}

/// One size, for clap; less is not loaded.
fn at_least_a_mib(text: &str) -> Result<ByteCount, String> {
    let size = one_size(text)?;
    (size.0 >= 1 << 20)
        .then_some(size)
        .ok_or_else(|| format!("`{text}` is below 1M, the least that is loaded"))
}
