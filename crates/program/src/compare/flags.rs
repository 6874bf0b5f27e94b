//! The flags of a comparison and what it gives.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use record::exit;

use stats::Threshold;

use crate::places::check_file;

/// How two files are compared.
#[derive(Debug, Clone, Args)]
pub struct CompareFlags {
    /// What counts as a difference. Better or worse is a number whose whole 95% interval of B/A lies beyond it; one whose
    /// interval lies within it is the same; one whose interval crosses it is not told apart. Where a side has no samples
    /// there is no interval: then a ratio is the same up to the threshold, and better or worse beyond three times the
    /// threshold only. Intervals cover what varies within a run, not from run to run.
    #[arg(
        long,
        value_name = "PERCENT",
        default_value = "5%",
        allow_hyphen_values = true
    )]
    pub threshold: Threshold,

    /// Write the comparison to this file as JSON, too; `-` for standard output instead of the table.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

impl CompareFlags {
    /// Whether the file that is to be written can be.
    ///
    /// # Errors
    /// Says why not.
    pub fn check(&self) -> Result<(), String> {
        match self.json.as_deref() {
            Some(path) => check_file("--json", path),
            _ => Ok(()),
        }
    }
}

/// The simulated machines behind two files, each with its name; `None` where both were measured.
///
/// # Errors
/// Only one of them is simulated: such numbers are no baseline of real ones.
pub fn both_simulated(
    a: (&str, Option<&str>),
    b: (&str, Option<&str>),
) -> anyhow::Result<Option<(String, String)>> {
    match (a, b) {
        ((_, Some(of_a)), (_, Some(of_b))) => Ok(Some((of_a.to_owned(), of_b.to_owned()))),
        ((_, None), (_, None)) => Ok(None),
        ((soft, Some(name)), _) | (_, (soft, Some(name))) => bail!(
            "{soft} is SIMULATED on {name} and the other file is measured; simulated numbers are neither a \
             baseline nor a result of a real machine, so compare it with another simulated run"
        ),
    }
}

/// The exit code of a comparison: whether a number is worse or lost, and whether all that the baseline has was judged.
#[must_use]
pub fn exit_code(is_worse: bool, is_conclusive: bool) -> u8 {
    if is_worse {
        exit::REJECTED
    } else if is_conclusive {
        exit::DONE
    } else {
        exit::INCONCLUSIVE
    }
}
