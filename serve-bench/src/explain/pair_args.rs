//! The command line of `explain --a --b`: one tensor parallel size on two links.

use std::path::PathBuf;

use ::explain::PhysicalLink;
use clap::{Args, ValueEnum};
use topology::PcieLink;

/// What says that another comparison is asked for. Every option of this one names them: where --a is in conflict with one that was given,
/// clap does not ask for it any more.
const OF_SIZES: [&str; 7] = ["tp1", "tp2", "tp4", "tp8", "allreduce", "links", "what_if"];

/// Files of two links.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "One size on two links")]
pub(crate) struct PairArgs {
    /// Result over the first link, the base; may be given several times, once for each start of the server.
    #[arg(long, value_name = "FILE", requires = "b", conflicts_with_all = OF_SIZES)]
    pub(super) a: Vec<PathBuf>,

    /// Result of the same load over the other link.
    #[arg(long, value_name = "FILE", requires = "a", conflicts_with_all = OF_SIZES)]
    pub(super) b: Vec<PathBuf>,

    /// Tensor parallel size of both, where the files do not say; 1 makes a negative control.
    #[arg(long, value_name = "N", requires = "a", conflicts_with_all = OF_SIZES, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(super) tp: Option<u32>,

    /// Collective times over the first link, in the formats of --allreduce.
    #[arg(long, value_name = "FILE", requires = "a", conflicts_with_all = OF_SIZES)]
    pub(super) allreduce_a: Vec<PathBuf>,

    /// Collective times over the other link.
    #[arg(long, value_name = "FILE", requires = "a", conflicts_with_all = OF_SIZES)]
    pub(super) allreduce_b: Vec<PathBuf>,

    /// Links of the first side's GPUs, of tplens p2p.
    #[arg(long, value_name = "FILE", requires = "a", conflicts_with_all = OF_SIZES)]
    pub(super) links_a: Option<PathBuf>,

    /// Links of the other side's GPUs.
    #[arg(long, value_name = "FILE", requires = "a", conflicts_with_all = OF_SIZES)]
    pub(super) links_b: Option<PathBuf>,

    /// The first link where no record says, such as gen4x16, or gen4x16,NODE with the class of the path between the GPUs.
    #[arg(long, value_name = "LINK", requires = "a", conflicts_with_all = OF_SIZES, value_parser = link)]
    pub(super) link_a: Option<PhysicalLink>,

    /// The other link, such as gen4x8, or gen4x16,SYS.
    #[arg(long, value_name = "LINK", requires = "a", conflicts_with_all = OF_SIZES, value_parser = link)]
    pub(super) link_b: Option<PhysicalLink>,

    /// Whether GPUs of the first side reach each other's memory, where no record says.
    #[arg(long, value_enum, requires = "a", conflicts_with_all = OF_SIZES)]
    pub(super) p2p_a: Option<Peer>,

    /// Whether GPUs of the other side do.
    #[arg(long, value_enum, requires = "a", conflicts_with_all = OF_SIZES)]
    pub(super) p2p_b: Option<Peer>,
}

/// Peer access as it was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Peer {
    On,
    Off,
}

/// A link with the class of its path.
pub(super) fn physical(link: PcieLink, path: Option<String>) -> PhysicalLink {
    PhysicalLink {
        words: link.to_string(),
        raw_gb_per_s: link.raw_gb_per_s(),
        path,
    }
}

/// `gen4x16` or `gen4x16,NODE`.
fn link(text: &str) -> Result<PhysicalLink, String> {
    let bad = || format!("{text:?} is no link: write it as gen4x16, or gen4x16,NODE");
    let (link, path) = match text.split_once(',') {
        Some((link, path)) => (link, Some(path.trim().to_ascii_uppercase())),
        None => (text, None),
    };
    let lower = link.trim().to_ascii_lowercase();
    let (generation, width) = lower
        .strip_prefix("gen")
        .and_then(|rest| rest.split_once('x'))
        .ok_or_else(bad)?;
    let number = |text: &str| text.trim().parse::<u8>().map_err(|_| bad());
    let link =
        PcieLink::new(number(generation)?, number(width)?).map_err(|error| error.to_string())?;
    if path
        .as_deref()
        .is_some_and(|path| path.is_empty() || path.len() > 8)
    {
        return Err(bad());
    }
    Ok(physical(link, path))
}
