//! The command line of `tplens p2p load`.

use std::time::Duration;

use clap::Args;
use program::command_line::seconds;
use program::outputs::Outputs;
use record::unit::{ByteCount, parse_sizes};

use crate::device_args::DeviceArgs;

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
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<ByteCount>,

    /// Seconds without progress after which a device counts as hung and its process is ended.
    #[arg(long, value_name = "SECONDS", default_value = "20", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) deadline: Duration,

    #[command(flatten)]
    pub(crate) outputs: Outputs,
}

/// One size of whole pages, for clap.
fn size(text: &str) -> Result<ByteCount, String> {
    match parse_sizes(text).map_err(|error| error.to_string())?[..] {
        [size] if size.0 >= LEAST_BYTES => Ok(size),
        [_] => Err(format!("`{text}` is below 1M, the least that is loaded")),
        _ => Err(format!("`{text}` is several sizes; give one")),
    }
}

/// The least memory that is loaded.
const LEAST_BYTES: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_one_size_of_a_mebibyte_at_least() {
        assert_eq!(size("64M"), Ok(ByteCount(64 << 20)));
        assert!(size("4K").unwrap_err().contains("below 1M"));
        assert!(size("1M,2M").unwrap_err().contains("several sizes"));
        assert!(size("-1").is_err());
    }
}
