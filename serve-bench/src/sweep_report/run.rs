//! A report from its command line to its exit code.

use std::path::Path;

use program::show::Show;
use program::{outputs, say};
use record::exit;

use super::args::SweepReportArgs;
use super::document::document;
use super::gather::Gathered;
use super::report::Report;
use super::setups::Setups;
use crate::show;
use crate::sweep::Plan;

/// Reads the folders, prints the report, and gives the exit code.
pub(crate) fn run(args: &SweepReportArgs, show: Show) -> u8 {
    let json = args.json.as_deref().filter(|path| *path != Path::new("-"));
    if let Some(Err(reason)) = json.map(|path| outputs::check_file("--json", path)) {
        say!("error: {reason}");
        return exit::USAGE;
    }
    match reported(args) {
        Ok(report) => written(args, show, &report),
        Err(reason) => {
            say!("error: {reason}");
            exit::USAGE
        }
    }
}

fn written(args: &SweepReportArgs, show: Show, report: &Report) -> u8 {
    let document = document(report);
    let json = serde_json::to_string_pretty(report).map(|text| text + "\n");
    let json = json.map_err(|error| error.to_string());
    let printed = match (args.json.as_deref(), json) {
        (Some(path), Ok(json)) if path == Path::new("-") => outputs::print(&json),
        (Some(path), json) => exit::fold([outputs::write(path, json), show.print(&document)]),
        (None, _) => show.print(&document),
    };
    let is_whole = report.has_ratios() && report.unplaced.is_empty() && report.invalid.is_empty();
    let code = match is_whole {
        true => exit::DONE,
        false => exit::INCONCLUSIVE,
    };
    exit::fold([printed, show::page(args.html.as_deref(), &document), code])
}

/// # Errors
/// In words: what the command line names cannot be read, or holds nothing.
fn reported(args: &SweepReportArgs) -> Result<Report, String> {
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
        return Err("the folders hold no result; give those of `tplens serve sweep`, or with the JSON of `vllm bench serve`".to_owned());
    }
    Report::of(&gathered, &setups)
}
