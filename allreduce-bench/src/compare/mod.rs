//! `allreduce-bench compare`: two files of collective times against each other, number by number.
//!
//! What a ratio says is judged in `program`; here numbers are put together and what became of those that only A has is found.

mod comparison;
mod differences;
mod text;

use std::path::{Path, PathBuf};

use anyhow::{anyhow, ensure};
use clap::Args;
use measure::import::collectives::{CallFile, read_file};
use program::compare::{CompareFlags, Compared, exit_code};

use comparison::compare;

/// What to compare and how.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The baseline: a result folder, record.json, journal.jsonl or CSV of allreduce-bench, or the text or JSON of nccl-tests or
    /// rccl-tests.
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
    let code = exit_code(comparison.is_worse(), comparison.is_conclusive());
    args.flags
        .compared(&comparison, text::of(&comparison), code)
}

/// Reads a file. Its errors carry their sources' words already, so that they are not handed on as a chain.
fn opened(path: &Path) -> anyhow::Result<CallFile> {
    ensure!(
        path.exists(),
        "{}: there is no such file or folder; give a result folder, record.json, journal.jsonl or CSV of allreduce-bench, or what \
         nccl-tests wrote",
        path.display()
    );
    read_file(path).map_err(|error| anyhow!("{error}"))
}
