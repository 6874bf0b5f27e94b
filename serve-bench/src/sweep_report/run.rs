//! A report from its command line to its exit code.

use std::path::Path;

use measure::exit;
use program::compare::Compared;
use program::{outputs, say};

use super::args::SweepReportArgs;
use super::gather::Gathered;
use super::report::Report;
use super::setups::Setups;
use super::text;
use crate::sweep::Plan;

/// Reads the folders, prints the report, and gives the exit code.
pub(crate) fn run(args: &SweepReportArgs) -> u8 {
    let json = args.json.as_deref().filter(|path| *path != Path::new("-"));
    if let Some(Err(reason)) = json.map(|path| outputs::check_file("--json", path)) {
        say!("error: {reason}");
        return exit::USAGE;
    }
    outputs::compared(reported(args).map_err(anyhow::Error::msg))
}

/// # Errors
/// In words: what the command line names cannot be read, or holds nothing.
fn reported(args: &SweepReportArgs) -> Result<Compared, String> {
    let mut setups = Setups::default();
    if let Some(plan) = &args.plan {
        setups.add_plan(&Plan::read(plan)?)?;
    }
    for flag in &args.setup {
        setups.add_flag(flag)?;
    }
    let mut gathered = Gathered::default();
    for folder in &args.folders {
        gathered.add(folder, &mut setups)?;
    }
    if gathered.cells.is_empty() && gathered.unplaced.is_empty() {
        return Err("the folders hold no result; give those of `serve-bench sweep`, or with the JSON of `vllm bench serve`".to_owned());
    }
    let report = Report::of(&gathered, &setups)?;
    let json = serde_json::to_string_pretty(&report).map_err(|error| error.to_string())? + "\n";
    let is_stdout = args.json.as_deref() == Some(Path::new("-"));
    let is_whole = report.has_ratios() && report.unplaced.is_empty() && report.invalid.is_empty();
    Ok(Compared {
        shown: if is_stdout {
            json.clone()
        } else {
            text::of(&report)
        },
        file: args
            .json
            .clone()
            .filter(|_| !is_stdout)
            .map(|path| (path, json)),
        exit_code: if is_whole {
            exit::DONE
        } else {
            exit::INCONCLUSIVE
        },
    })
}
