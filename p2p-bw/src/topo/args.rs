//! The command line of `topo`.

use std::path::PathBuf;

use clap::Args;
use topology::PciAddress;

/// What to show and where from.
#[derive(Debug, Clone, Args)]
pub(crate) struct TopoArgs {
    /// Read a simulated machine instead of this machine: a built-in name or a machine file.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["root", "from"])]
    pub(crate) sim: Option<String>,

    /// Read a copy of another machine's files: a folder that holds `sys` and, where there is one, `proc`. No tool in it is run.
    #[arg(long, value_name = "FOLDER", conflicts_with = "from")]
    pub(crate) root: Option<PathBuf>,

    /// Show what a captured text says, `-` for standard input: the output of nvidia-smi topo -m, topo -p2p or -L, rocm-smi
    /// --showtopo, amd-smi topology, mx-smi topo or -L, numactl -H, also several of them in one text.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["gpus", "also"])]
    pub(crate) from: Option<PathBuf>,

    /// GPUs to show: numbers in the order of PCI addresses, or PCI addresses, separated by commas. Default: all.
    #[arg(long, value_name = "LIST", value_parser = gpus, allow_negative_numbers = true)]
    pub(crate) gpus: Option<Gpus>,

    /// PCI functions beside GPUs and NICs to show, too: PCI addresses separated by commas, or `all` that are no bridge.
    #[arg(long, value_name = "LIST", value_parser = also)]
    pub(crate) also: Option<Also>,

    /// Print JSON instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
}

/// GPUs by number or address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Gpus(pub(crate) Vec<Gpu>);

/// One GPU of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gpu {
    /// Its number in the order of addresses.
    Number(usize),
    /// Its address.
    Address(PciAddress),
}

/// Functions beside GPUs and NICs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Also {
    /// All that are no bridge.
    All,
    /// These.
    These(Vec<PciAddress>),
}

fn gpus(list: &str) -> Result<Gpus, String> {
    let one = |entry: &str| match (entry.parse(), entry.parse()) {
        (Ok(number), _) => Ok(Gpu::Number(number)),
        (_, Ok(address)) => Ok(Gpu::Address(address)),
        _ => Err(format!(
            "`{entry}` is neither a number nor a PCI address; write a list such as 0,1 or 0000:21:00.0"
        )),
    };
    list.split(',')
        .map(str::trim)
        .map(one)
        .collect::<Result<_, _>>()
        .map(Gpus)
}

fn also(list: &str) -> Result<Also, String> {
    if list.trim() == "all" {
        return Ok(Also::All);
    }
    let one = |entry: &str| {
        entry
            .parse()
            .map_err(|error: topology::AddressError| error.to_string())
    };
    list.split(',')
        .map(one)
        .collect::<Result<_, _>>()
        .map(Also::These)
}
