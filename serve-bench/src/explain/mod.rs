//! `tplens explain`: reads result files, explains, and writes text, JSON and one page. It measures nothing.

mod ablation;
mod args;
pub(crate) mod boxes;
mod curves;
mod deliver;
mod documents;
mod engine_flags;
mod explained;
mod logs;
mod pair;
mod pair_args;
mod seen;
pub(crate) mod sources;
mod study;
mod what_if;

use program::show::Show;
use program::{Stop, outputs};

use self::deliver::{code, deliver};
use self::explained::{explained, known};

pub(crate) use self::ablation::slope_of;
pub(crate) use self::args::{EngineArgs, ExplainArgs};
pub(crate) use self::deliver::{PAGE, Wanted};
pub(crate) use self::documents::{change, prediction, range};
pub(crate) use self::engine_flags::{EngineFlags, NO_OWN_ALL_REDUCE};
pub(crate) use self::sources::{EvidenceFiles, Sources};
pub(crate) use self::study::{OfSize, of_study};

/// Explains what the command line names, and gives the exit code.
///
/// # Errors
/// Files or names that cannot be used, or a file that cannot be written.
pub(crate) fn run(args: &ExplainArgs, show: Show) -> Result<u8, Stop> {
    if args.ablation.is_some() && !args.pair.a.is_empty() {
        return Err(Stop::Usage(
            "--ablation and --a exclude each other: two links are two arms".to_owned(),
        ));
    }
    args.check_used().map_err(Stop::Usage)?;
    let slope = match &args.ablation {
        Some(file) if !args.has_results() => return ablation::alone(args, file, show),
        file => file.as_deref().map(ablation::read).transpose()?,
    };
    let sources = match args.pair.a.is_empty() {
        true => Some(args.sources().map_err(Stop::Usage)?),
        false => None,
    };
    for (flag, file) in [("--json", &args.json), ("--html", &args.html)] {
        if let Some(file) = file {
            outputs::check_file(flag, file).map_err(Stop::Usage)?;
        }
    }
    if let Some(folder) = &args.out {
        outputs::make_folder("--out", folder)?;
    }
    let wanted = Wanted {
        json: args.json.clone(),
        out: args.out.clone(),
        html: args.html.clone(),
        show,
        slope,
    };
    let priors = known(&args.prior)?;
    let Some(sources) = sources else {
        return pair::links(args, &args.pair, &priors, &wanted);
    };
    explain(&sources, &wanted, &args.prior)
}

/// Explains, prints the text, writes what is wanted, and gives the exit code: 0 attributed, 3 refused.
///
/// # Errors
/// As [`run`].
fn explain(sources: &Sources, wanted: &Wanted, priors: &[String]) -> Result<u8, Stop> {
    let (inputs, explanation) = explained(sources, wanted.slope.as_ref(), priors)?;
    let document = documents::explanation(&inputs, &explanation);
    deliver(wanted, &explanation, &document, code(&explanation))
}
