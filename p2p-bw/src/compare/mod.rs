//! `p2p-bw compare`: two files of link measurements against each other, number by number.
//!
//! Which device is which is found in `numbering`, which number belongs to which in `pairs`; what a ratio says is judged in
//! `program`, what became of a number that only A has in `gone`, and what speaks against the whole comparison is collected in
//! `reservations`.

mod causes;
mod comparison;
mod gone;
mod names;
mod numbering;
mod pairs;
mod reservations;
mod text;

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use measure::import::links::{LinkFile, read};
use program::compare::{CompareFlags, Compared, exit_code};

use comparison::compare;

/// What to compare and how.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The baseline: a result folder, record.json or journal.jsonl of p2p-bw, or the JSON or text of nvbandwidth.
    pub(crate) a: PathBuf,

    /// The new one, of any of these kinds.
    pub(crate) b: PathBuf,

    #[command(flatten)]
    pub(crate) flags: CompareFlags,
}

/// Compares two files.
///
/// # Errors
/// One of them cannot be read, or only one of them is simulated.
pub(crate) fn run(args: &CompareArgs) -> anyhow::Result<Compared> {
    let (a, b) = (opened(&args.a)?, opened(&args.b)?);
    let comparison = compare(a, b, args.flags.threshold)?;
    let exit_code = exit_code(comparison.is_worse(), comparison.is_conclusive());
    args.flags
        .compared(&comparison, text::of(&comparison), exit_code)
}

/// Reads a file. Its errors carry their sources' words already, so that they are not handed on as a chain.
fn opened(path: &Path) -> anyhow::Result<LinkFile> {
    read(path).map_err(|error| anyhow!("{error}"))
}
