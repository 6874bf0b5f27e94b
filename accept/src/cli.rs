//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};
use program::command_line::time;
use serde::Serialize;
use strum::Display;

use crate::checks::KINDS;

/// What can be done with a machine that is to be accepted or rejected.
#[derive(Debug, Subcommand)]
pub(crate) enum Cli {
    /// Accept or reject a machine, with evidence
    ///
    /// Measures a GPU machine's links, peer access, collectives and counters, and compares them with a profile.
    Accept {
        #[command(subcommand)]
        command: Command,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measures the machine and judges it. Exit code 0 accepted, 1 rejected, 2 wrong profile or command line, 3 inconclusive, 4 the report
    /// could not be written, 130 or 143 interrupted (the report is written).
    Run(Box<RunArgs>),
    /// Shows what `run` would do: checks, commands and times. Measures nothing.
    Plan(Box<RunArgs>),
    /// Compares two runs, check by check: which figures are worse by more than their intervals and the tolerance.
    #[command(visible_alias = "baseline")]
    Compare(crate::compare::CompareArgs),
    /// Compares the reports of many machines: which are slower than their like.
    Fleet(FleetArgs),
    /// Writes a run's report again in other forms; also of a run that was killed.
    Report(ReportArgs),
    /// Lists profiles, checks one, or drafts one for this machine.
    Profile {
        #[command(subcommand)]
        command: ProfileCommand,
    },
}

/// How deep a run looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Level {
    /// Devices, links under load, host copies, pairs, an all-reduce: within 5 minutes.
    Quick,
    /// Also copies at once, NUMA nodes, more sizes: within 30 minutes.
    Standard,
    /// As standard, then load until --duration is over.
    Soak,
}

/// The keys of the kinds of checks.
fn keys() -> PossibleValuesParser {
    PossibleValuesParser::new(KINDS.iter().map(|kind| kind.key))
}

/// What to run. What is not skipped here must be as it was for a run to be resumed.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    /// A profile that came with the program, by name, or a TOML file; `tplens accept profile list` shows them.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) profile: String,
    /// How deep to look.
    #[arg(long, value_enum, default_value_t = Level::Quick)]
    pub(crate) level: Level,
    /// How long a soak lasts, such as 90s, 30m or 24h.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) duration: Option<Duration>,
    /// Time that the whole run may take; default: the profile's for the level.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) budget: Option<Duration>,
    #[command(flatten)]
    pub(crate) on: On,
    /// The machine's name on the screen and in files, such as rack3-node7; default: the host's name, which files do not show.
    #[arg(long, value_name = "NAME")]
    pub(crate) label: Option<String>,
    /// Leave checks of these kinds out; a required one leaves the machine inconclusive.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = keys(), hide_possible_values = true)]
    pub(crate) exclude: Vec<String>,
    /// An accepted run of this machine or its like, by its folder or report.json: no figure may be worse.
    #[arg(long, value_name = "RUN")]
    pub(crate) baseline: Option<PathBuf>,
    /// A server that runs on this machine already, for the serving check.
    #[arg(long, value_name = "URL")]
    pub(crate) serve_url: Option<String>,
    /// Time without progress after which a measurement counts as hung and its process is ended.
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = time)]
    pub(crate) deadline: Duration,
    /// The result folder; default: a new one below `tplens-results`.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Resume the run in this folder; --budget, --deadline and the forms may be others, all else must be as it
    /// was.
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    pub(crate) resume: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) forms: Forms,
}

/// Which devices of which machine.
#[derive(Debug, Clone, Args)]
pub(crate) struct On {
    /// Devices: indexes, PCI addresses or UUIDs, separated by commas, or `all`.
    #[arg(long, value_name = "LIST", default_value = "all")]
    pub(crate) gpus: String,
    /// Whose driver to use; default: the profile's, or the one that is there. Nothing falls back to host memory.
    #[arg(long, value_name = "NAME")]
    pub(crate) backend: Option<String>,
    /// Run on this simulated machine, by name or file: nothing in the report is of real hardware then.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) sim: Option<String>,
}

/// The forms that a report is written in, beside `report.json` and what is printed.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Forms {
    /// Print the report as JSON in place of text.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the page here, too; it always stands in the result folder.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write JUnit XML here.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Write OCP Test & Validation output 2.0 here: JSON lines.
    #[arg(long, value_name = "FILE")]
    pub(crate) ocp: Option<PathBuf>,
    /// Keep the machine's name, serials and UUIDs in files, as a vendor asks for in returns.
    #[arg(long)]
    pub(crate) identify: bool,
}

/// Which reports to judge beside each other.
#[derive(Debug, Clone, Args)]
pub(crate) struct FleetArgs {
    /// Reports, and folders that are searched for report.json, three levels deep.
    #[arg(required = true)]
    pub(crate) reports: Vec<PathBuf>,
    /// How many boxes there are: fewer reports than boxes are exit code 3, unless a box is rejected or slower than its like, which is 1.
    #[arg(long, value_name = "N")]
    pub(crate) expect: Option<usize>,
    /// Write a page here.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print JSON in place of text.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which report to write again.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReportArgs {
    /// A result folder, or its report.json or journal.jsonl.
    pub(crate) run: PathBuf,
    #[command(flatten)]
    pub(crate) forms: Forms,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProfileCommand {
    /// The profiles that came with the program.
    List,
    /// Prints a profile for the machine at hand, to be checked against the order: `tplens accept profile draft > mine.toml`.
    Draft(On),
    /// Reads a profile and says what it asks for, with -v in full.
    Check {
        /// Name or TOML file.
        profile: String,
    },
}
