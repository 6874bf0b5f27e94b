//! `serve-bench compare`: two serving results, ours or anybody's, against each other; and `show` for results of others.
//!
//! What a ratio says is judged in `program`, what is wrong with a result is found in `measure::import`; here it is decided whether
//! two results may be compared at all.

mod comparison;
mod humps;
pub(crate) mod ratio;
pub(crate) mod refusal;
mod rows;
mod show;
mod text;
mod verdict;

use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use clap::Args;
use measure::exit;
use measure::import::serve::{ServeResult, read_all};
use program::compare::{CompareFlags, Compared, exit_code};
use program::outputs;
use program::say;

use comparison::compare;

pub(crate) use show::{of_several, show};

/// What to compare and how.
#[derive(Debug, Args)]
#[command(
    after_help = "A number without an interval has no verdict here. Intervals hold what varies within a run: beyond the threshold a number \
                  differs, and only 5% further it is a regression (exit 1) or faster. Exit 3 where the two are not comparable or no number has \
                  an interval."
)]
pub(crate) struct CompareArgs {
    /// The baseline: a result folder, record.json or journal.jsonl of serve-bench; the JSON or the printed block of
    /// `vllm bench serve`; the JSONL of SGLang's bench_serving; a summary of evalscope or a flat JSON summary. `FILE#2` is the
    /// second result of a file that holds several.
    pub(crate) a: PathBuf,

    /// The new one, of any of these kinds.
    pub(crate) b: PathBuf,

    /// Compare also what is not comparable, with the reasons on top; the exit code stays 3.
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) flags: CompareFlags,
}

/// Compares two results, prints, and gives the exit code.
pub(crate) fn run(args: &CompareArgs) -> u8 {
    if let Err(reason) = args.flags.check() {
        say!("error: {reason}");
        return exit::USAGE;
    }
    outputs::compared(compared(args))
}

/// # Errors
/// One of them cannot be read, or only one of them is simulated.
fn compared(args: &CompareArgs) -> anyhow::Result<Compared> {
    let (a, b) = (opened(&args.a)?, opened(&args.b)?);
    let comparison = compare(&a, &b, args.flags.threshold, args.force)?;
    let code = if comparison.refused.is_empty() {
        exit_code(comparison.is_worse(), comparison.judged() > 0)
    } else {
        exit::INCONCLUSIVE
    };
    args.flags
        .compared(&comparison, text::of(&comparison), code)
}

/// The one result that a path names. Errors of the readers carry their sources' words already, so that they are not handed on as a
/// chain.
fn opened(path: &Path) -> anyhow::Result<ServeResult> {
    let (file, number) = numbered(path);
    if let Some(reason) = show::of_several(&file) {
        bail!(reason);
    }
    let mut results = read_all(&file).map_err(|error| anyhow!("{error}"))?;
    let count = results.len();
    match number {
        None if count == 1 => Ok(results.remove(0)),
        None => bail!(
            "{} holds {count} results; name one, such as {}#1",
            file.display(),
            file.display()
        ),
        Some(number) if (1..=count).contains(&number) => Ok(results.remove(number - 1)),
        Some(number) => bail!("{} holds {count} results and no #{number}", file.display()),
    }
}

/// `FILE#2` as a file and a number, where there is no file of that very name.
fn numbered(path: &Path) -> (PathBuf, Option<usize>) {
    let parts = path.to_str().filter(|_| !path.exists());
    let number = parts
        .and_then(|text| text.rsplit_once('#'))
        .and_then(|(file, number)| Some((PathBuf::from(file), number.parse().ok()?)));
    match number {
        Some((file, number)) => (file, Some(number)),
        None => (path.to_owned(), None),
    }
}
