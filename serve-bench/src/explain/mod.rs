//! `tplens explain`: reads result files, explains, and writes text, JSON and one page. It measures nothing.

mod ablation;
mod args;
pub(crate) mod boxes;
mod deliver;
mod documents;
mod logs;
pub(crate) mod sources;
mod study;
mod what_if;

use program::show::Show;
use program::{Stop, outputs};

use ::explain::{DRAWS, Explanation, Inputs, Slope};

use self::deliver::{EXPLANATION, SEED, code, deliver};

pub(crate) use self::ablation::slope_of;
pub(crate) use self::args::{CaseArgs, EngineFlags, ExplainArgs, NO_OWN_ALL_REDUCE};
pub(crate) use self::deliver::PAGE;
pub(crate) use self::documents::{prediction, range};
pub(crate) use self::sources::Sources;
pub(crate) use self::study::{OfSize, of_study};

/// Explains what the command line names, and gives the exit code.
///
/// # Errors
/// Files or names that cannot be used, or a file that cannot be written.
pub(crate) fn run(args: &ExplainArgs, show: Show) -> Result<u8, Stop> {
    args.check_used().map_err(Stop::Usage)?;
    for (flag, file) in [("--json", &args.case.json), ("--html", &args.html)] {
        if let Some(file) = file {
            outputs::check_file(flag, file).map_err(Stop::Usage)?;
        }
    }
    let slope = match &args.ablation {
        Some(file) if !args.has_results() => return ablation::alone(args, file, show),
        file => file.as_deref().map(ablation::read).transpose()?,
    };
    let sources = args.sources().map_err(Stop::Usage)?;
    let (inputs, explanation) = explained(&sources, slope.as_ref())?;
    let document = documents::explanation(&inputs, &explanation);
    deliver(
        args,
        show,
        EXPLANATION,
        &explanation,
        &document,
        code(&explanation),
    )
}

/// What the files hold, and what comes of it.
fn explained(sources: &Sources, slope: Option<&Slope>) -> Result<(Inputs, Explanation), Stop> {
    let inputs = sources.read().map_err(Stop::Usage)?;
    let asked = what_if::asked(&sources.what_if).map_err(Stop::Usage)?;
    let mut explanation = ::explain::explain_if(&inputs, &asked, SEED, DRAWS);
    if let Some(slope) = slope {
        ablation::check(slope, &inputs).map_err(Stop::Usage)?;
        explanation = explanation.with_slope(slope.clone());
    }
    explanation.notes.extend(sources.note.clone());
    Ok((inputs, explanation))
}
