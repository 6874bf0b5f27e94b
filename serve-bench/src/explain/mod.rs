//! `tplens explain`: reads result files, explains, and writes text, JSON and one page. It measures nothing.

mod ablation;
mod args;
pub(crate) mod boxes;
mod case;
mod documents;
mod explained;
mod logs;
pub(crate) mod sources;
mod study;

use std::path::Path;

use program::show::Show;
use program::{Stop, outputs};
use tp_plan::ModelFacts;

use self::explained::{EXPLANATION, code, deliver, explained};

pub(crate) use self::ablation::slope_of;
pub(crate) use self::args::ExplainArgs;
pub(crate) use self::case::{CaseArgs, EngineFlags, NO_OWN_ALL_REDUCE, NODE, PAIR};
pub(crate) use self::documents::{prediction, range};
pub(crate) use self::explained::PAGE;
pub(crate) use self::sources::Sources;
pub(crate) use self::study::{OfSize, of_study};

/// The slope test by itself, in a folder.
const SLOPE: &str = "slope.json";

/// Explains what the command line names, and gives the exit code.
///
/// # Errors
/// Files or names that cannot be used, or a file that cannot be written.
pub(crate) fn run(args: &ExplainArgs, show: Show) -> Result<u8, Stop> {
    for (flag, file) in [("--json", &args.from.case.json), ("--html", &args.html)] {
        if let Some(file) = file {
            outputs::check_file(flag, file).map_err(Stop::Usage)?;
        }
    }
    let slope = match &args.ablation {
        Some(file) if !args.has_results() => return slope_alone(args, file, show),
        file => file.as_deref().map(ablation::read).transpose()?,
    };
    let sources = args.sources().map_err(Stop::Usage)?;
    let (document, explanation) = explained(&sources, slope.as_ref())?;
    deliver(
        args,
        show,
        EXPLANATION,
        &explanation,
        &document,
        code(&explanation),
    )
}

/// The slope test by itself.
fn slope_alone(args: &ExplainArgs, file: &Path, show: Show) -> Result<u8, Stop> {
    let slope = ablation::read(file)?;
    if let Some(given) = &args.from.model {
        let asked =
            ModelFacts::resolve(given).map_err(|error| Stop::Usage(format!("--model: {error}")))?;
        ablation::of_model(&slope, &asked).map_err(Stop::Usage)?;
    }
    deliver(
        args,
        show,
        SLOPE,
        &slope,
        &documents::slope(&slope),
        ablation::code(&slope),
    )
}
