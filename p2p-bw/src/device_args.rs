//! The flags by which a command chooses devices.

use clap::Args;
use inventory::BackendArg;
use record::unit::{ByteCount, parse_sizes};

/// Which devices, and whose.
#[derive(Debug, Clone, Args)]
pub(crate) struct DeviceArgs {
    /// Devices: indexes, PCI addresses, UUIDs or MIG UUIDs, separated by commas, or `all`. Default: `all`, on the host
    /// backend `0,1`.
    #[arg(long, value_name = "LIST", allow_negative_numbers = true)]
    pub(crate) gpus: Option<String>,

    /// Whose driver to use. `auto` takes the first that answers, in the order of this list; host memory only on a machine
    /// that shows no GPU at all.
    #[arg(long, value_enum, default_value_t = BackendArg::Auto)]
    pub(crate) backend: BackendArg,

    /// Use a simulated machine instead of this machine's devices: a built-in name or a machine file. Its numbers are
    /// arithmetic, never measurements.
    #[arg(long, value_name = "NAME")]
    pub(crate) sim: Option<String>,
}

/// One size, for clap.
pub(crate) fn one_size(text: &str) -> Result<ByteCount, String> {
    match parse_sizes(text).map_err(|error| error.to_string())?[..] {
        [size] => Ok(size),
        _ => Err(format!("`{text}` is several sizes; give one")),
    }
}
