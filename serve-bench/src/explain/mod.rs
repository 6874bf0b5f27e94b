//! `tplens explain`: reads result files, explains, and writes text, JSON and one page. It measures nothing.

mod ablation;
mod args;
pub(crate) mod boxes;
mod curves;
mod documents;
mod logs;
mod pair;
mod pair_args;
mod seen;
pub(crate) mod sources;
mod study;
mod what_if;

use std::path::{Path, PathBuf};

use ::explain::{DRAWS, Explanation, Inputs, Outcome, Priors, Slope};
use program::show::Show;
use program::{Stop, outputs};
use record::exit;
use record::write_whole;
use serde::Serialize;
use view::Document;

pub(crate) use self::ablation::slope_of;
pub(crate) use self::args::{EngineArgs, ExplainArgs};
pub(crate) use self::documents::{change, prediction, range};
pub(crate) use self::sources::{EngineFlags, EvidenceFiles, Sources};
pub(crate) use self::study::{OfSize, of_study};

/// The page's file name in a folder.
pub(crate) const PAGE: &str = "report.html";

/// The explanation's file name in a folder.
const EXPLANATION: &str = "explanation.json";

/// Seed of the draws, so that the same files give the same explanation.
const SEED: u64 = 0x0074_706c_656e_7331;

/// What an explanation is written to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    /// JSON, beside the screen; `-` in place of it.
    json: Option<PathBuf>,
    /// Folder of both.
    out: Option<PathBuf>,
    html: Option<PathBuf>,
    show: Show,
    slope: Option<Slope>,
}

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

/// Writes JSON and pages, and prints what was wanted.
fn deliver<T: Serialize>(
    wanted: &Wanted,
    found: &T,
    document: &Document,
    code: u8,
) -> Result<u8, Stop> {
    if let Some(folder) = &wanted.out {
        write(&folder.join(EXPLANATION), &json(found)?)?;
        write(&folder.join(PAGE), &document.html())?;
    }
    let json_file = wanted
        .json
        .as_deref()
        .filter(|file| *file != Path::new("-"));
    let printed = match wanted.html.as_deref() {
        Some(file) if file == Path::new("-") => {
            if let Some(file) = json_file {
                write(file, &json(found)?)?;
            }
            outputs::print(&document.html())
        }
        file => exit::fold([
            outputs::with_json(wanted.show, document, found, wanted.json.as_deref()),
            crate::show::page(file, document),
        ]),
    };
    Ok(exit::fold([printed, code]))
}

/// What the files hold, and what comes of it.
fn explained(
    sources: &Sources,
    slope: Option<&Slope>,
    priors: &[String],
) -> Result<(Inputs, Explanation), Stop> {
    let inputs = sources.read(known(priors)?).map_err(Stop::Usage)?;
    let asked = what_if::asked(&sources.what_if, inputs.tp).map_err(Stop::Usage)?;
    let mut explanation = ::explain::explain_if(&inputs, &asked, SEED, DRAWS);
    if let Some(slope) = slope {
        ablation::check(slope, &inputs).map_err(Stop::Usage)?;
        explanation = explanation.with_slope(slope.clone());
    }
    explanation.notes.extend(sources.note.clone());
    Ok((inputs, explanation))
}

/// What is assumed, with what was given in its place.
fn known(given: &[String]) -> Result<Priors, Stop> {
    let usage = |error: ::explain::PriorError| Stop::Usage(format!("--prior: {error}"));
    let mut known = Priors::builtin().map_err(usage)?;
    for text in given {
        known.set(text.parse().map_err(usage)?).map_err(usage)?;
    }
    Ok(known)
}

fn code(explanation: &Explanation) -> u8 {
    match &explanation.outcome {
        // Times that do not fit attribute no communication.
        Outcome::Attributed { attribution, .. } if attribution.misfit.is_some() => {
            exit::INCONCLUSIVE
        }
        Outcome::Attributed { .. } => exit::DONE,
        Outcome::Refused { .. } => exit::INCONCLUSIVE,
    }
}

fn json<T: Serialize>(found: &T) -> Result<String, Stop> {
    let text = serde_json::to_string_pretty(found).map_err(anyhow::Error::from)?;
    Ok(text + "\n")
}

fn write(file: &Path, text: &str) -> Result<(), Stop> {
    write_whole(file, text.as_bytes()).map_err(|error| Stop::Internal(error.into()))
}
