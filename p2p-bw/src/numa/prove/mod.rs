//! `p2p-bw numa prove`: memory put on each node, and where the kernel says it is.
//!
//! It loads no vendor library and needs no GPU: sysfs tells the nodes, and the kernel's own calls do the rest.

mod outcome;
mod text;
mod trial;

use anyhow::Context;
use clap::Args;
use measure::exit;
use program::{Stop, outputs};
use topology::{Machine, Sysfs};

use super::refuse::Refuse;
use outcome::Proof;

/// Pages on each node where `--bytes` does not say.
const PAGES: usize = 64;

/// What to do.
#[derive(Debug, Clone, Args)]
pub(crate) struct ProveArgs {
    /// Only this node, also one that does not exist. Default: every node that has memory.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    node: Option<u32>,

    /// Bytes on each node, K, M and G being powers of 1024. Default: 64 pages.
    #[arg(long, value_name = "SIZE", value_parser = bytes, allow_negative_numbers = true)]
    bytes: Option<usize>,

    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    refuse: Refuse,
}

/// Proves and prints; gives the exit code: 0 where all of it is proven, 3 where something is not.
pub(crate) fn run(args: &ProveArgs) -> Result<u8, Stop> {
    args.refuse.apply()?;
    let sysfs = Sysfs::real();
    let machine = Machine::read(&sysfs).context("reading sysfs")?;
    if machine.nodes.is_empty() && args.node.is_none() {
        return Err(Stop::Refused(
            "the kernel shows no NUMA node below /sys/devices/system/node; name one with --node to try it all the same"
                .to_owned(),
        ));
    }
    let page_bytes = rustix::param::page_size();
    let bytes = args.bytes.unwrap_or(PAGES * page_bytes);
    let proof = trial::prove(&machine, &sysfs, args.node, bytes, page_bytes);
    let printed = outputs::print(&shown(&proof, args.json)?);
    let proven = if proof.is_whole() {
        exit::DONE
    } else {
        exit::INCONCLUSIVE
    };
    Ok(exit::fold([printed, proven]))
}

fn shown(proof: &Proof, json: bool) -> Result<String, Stop> {
    if !json {
        return Ok(text::table(proof));
    }
    let text = serde_json::to_string_pretty(proof).context("writing JSON")?;
    Ok(text + "\n")
}

/// One size above 0.
fn bytes(text: &str) -> Result<usize, String> {
    let sizes = measure::unit::parse_sizes(text).map_err(|error| error.to_string())?;
    match sizes[..] {
        [one] if one.0 > 0 => usize::try_from(one.0).map_err(|error| error.to_string()),
        _ => Err(format!("`{text}` is not one size above 0")),
    }
}
