//! `p2p-bw compare`: two files of link measurements against each other, number by number.
//!
//! Which device is which is found in `numbering`, which number belongs to which in `pairs`; what a ratio says is judged in
//! `verdict`, what became of a number that only A has in `gone`, and what speaks against the whole comparison is collected in
//! `reservations`.

mod causes;
mod comparison;
mod gone;
mod names;
mod numbering;
mod pairs;
mod reservations;
mod text;
mod verdict;

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use measure::exit;
use measure::import::links::{LinkFile, read};
use program::outputs::check_file;

use comparison::{Comparison, compare};
use verdict::Threshold;

/// What to compare and how.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The baseline: a result folder, record.json or journal.jsonl of p2p-bw, or the JSON or text of nvbandwidth.
    pub(crate) a: PathBuf,

    /// The new one, of any of these kinds.
    pub(crate) b: PathBuf,

    /// What counts as a difference. Faster or a regression is a number whose whole 95% interval of B/A lies beyond it; one whose
    /// interval lies within it is the same; one whose interval crosses it is not told from noise. Where a side has no samples
    /// there is no interval: then a ratio is the same up to the threshold, and told from noise beyond three times the
    /// threshold only. Intervals cover what varies within a run, not from run to run.
    #[arg(
        long,
        value_name = "PERCENT",
        default_value = "5%",
        allow_hyphen_values = true
    )]
    pub(crate) threshold: Threshold,

    /// Write the comparison to this file as JSON, too; `-` for standard output instead of the table.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

impl CompareArgs {
    /// Whether the file that is to be written can be.
    ///
    /// # Errors
    /// Says why not.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self.json.as_deref() {
            Some(path) if path != Path::new("-") => check_file("--json", path),
            _ => Ok(()),
        }
    }
}

/// What a comparison gives.
#[derive(Debug)]
pub(crate) struct Compared {
    /// For standard output.
    pub(crate) shown: String,
    /// A file and what goes into it.
    pub(crate) file: Option<(PathBuf, String)>,
    pub(crate) exit_code: u8,
}

/// Compares two files.
///
/// # Errors
/// One of them cannot be read, or only one of them is simulated.
pub(crate) fn run(args: &CompareArgs) -> anyhow::Result<Compared> {
    let (a, b) = (opened(&args.a)?, opened(&args.b)?);
    let comparison = compare(a, b, args.threshold)?;
    let json = serde_json::to_string_pretty(&comparison)? + "\n";
    let exit_code = exit_code(&comparison);
    let is_stdout = args.json.as_deref() == Some(Path::new("-"));
    Ok(Compared {
        shown: if is_stdout {
            json.clone()
        } else {
            text::of(&comparison)
        },
        file: args
            .json
            .clone()
            .filter(|_| !is_stdout)
            .map(|path| (path, json)),
        exit_code,
    })
}

/// Reads a file. Its errors carry their sources' words already, so that they are not handed on as a chain.
fn opened(path: &Path) -> anyhow::Result<LinkFile> {
    read(path).map_err(|error| anyhow!("{error}"))
}

fn exit_code(comparison: &Comparison) -> u8 {
    if comparison.is_worse() {
        exit::REJECTED
    } else if comparison.is_conclusive() {
        exit::DONE
    } else {
        exit::INCONCLUSIVE
    }
}
