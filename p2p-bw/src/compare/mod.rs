//! `tplens p2p compare`: which numbers of two files of links are the same, and why one is gone.

mod gone;
mod numbering;
mod side;

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use import::links::{LinkEnds, LinkFile, PeerState, read};
use program::compare::{CompareFlags, Rules, compare};
use program::outputs;
use program::show::Show;

/// What is compared.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The baseline: a result folder, record.json or journal.jsonl of tplens p2p, or JSON or text of nvbandwidth.
    pub(crate) a: PathBuf,

    /// The file that is compared with it, in any of these formats.
    pub(crate) b: PathBuf,

    #[command(flatten)]
    pub(crate) flags: CompareFlags,
}

/// Compares, prints, and returns the exit code.
///
/// # Errors
/// A file cannot be read, or only one is simulated.
pub(crate) fn run(args: &CompareArgs, show: Show) -> anyhow::Result<u8> {
    let a = opened(&args.a)?;
    let b = numbering::renumbered(opened(&args.b)?, &a);
    let is_worse = |(pair, is): &(&(usize, usize), &PeerState)| {
        let was = a.peers.get(*pair);
        was.is_some_and(|was| is.is_worse_than(*was))
    };
    let rules = Rules {
        threshold: args.flags.threshold,
        is_same: |a: &LinkEnds, b| a.mirrored().is_some_and(|mirror| mirror == *b),
        gone: &|value| gone::why(value, &b),
        worse_peers: b.peers.iter().filter(is_worse).count(),
    };
    let comparison = compare(side::of(&a, &a, &b), side::of(&b, &a, &b), &rules)?;
    let document = comparison.document();
    outputs::comparison(
        &args.flags,
        &comparison,
        (&document, show),
        comparison.exit_code(),
    )
}

fn opened(path: &Path) -> anyhow::Result<LinkFile> {
    read(path).map_err(|error| anyhow!("{error}"))
}
