//! From files to the explanation, with what is asked with `--what-if`, and where it goes: the screen, JSON and a page.

use std::path::Path;

use ::explain::{By, DRAWS, Explanation, Inputs, Slope};
use import::collectives;
use program::show::Show;
use program::{Stop, outputs};
use record::exit;
use serde::Serialize;
use tp_plan::ModelFacts;
use view::Document;

use super::args::ExplainArgs;
use super::sources::Sources;
use super::{ablation, documents};
use crate::json;

/// The page's file name in a folder.
pub(crate) const PAGE: &str = "report.html";

/// The explanation's file name in a folder.
const EXPLANATION: &str = "explanation.json";

/// Seed of the draws, so that the same files give the same explanation.
pub(super) const SEED: u64 = 0x0074_706c_656e_7331;

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

/// Writes JSON and pages, and prints what was wanted.
fn deliver<T: Serialize>(
    args: &ExplainArgs,
    show: Show,
    name: &str,
    found: &T,
    document: &Document,
    code: u8,
) -> Result<u8, Stop> {
    let mut page = exit::DONE;
    if let Some(folder) = &args.out {
        outputs::make_folder("--out", folder)?;
        json::write(&folder.join(name), found)?;
        page = outputs::write(&folder.join(PAGE), Ok(document.html()));
    }
    Ok(exit::fold([
        page,
        outputs::with_json(show, document, found, args.from.case.json.as_deref()),
        crate::show::page(args.html.as_deref(), document),
        code,
    ]))
}

pub(super) fn code(explanation: &Explanation) -> u8 {
    // Times that do not fit attribute no communication.
    match explanation.outcome.attribution() {
        Some(attribution) if attribution.misfit().is_none() => exit::DONE,
        _ => exit::INCONCLUSIVE,
    }
}

/// What comes of the files, with its document.
pub(super) fn explained(
    sources: &Sources,
    slope: Option<&Slope>,
) -> Result<(Document, Explanation), Stop> {
    let (inputs, ..) = sources.read().map_err(Stop::Usage)?;
    check_used(sources, slope.is_some(), &inputs).map_err(Stop::Usage)?;
    let asked: Result<Vec<_>, _> = sources.what_if.iter().map(|text| asked(text)).collect();
    let asked = asked.map_err(Stop::Usage)?;
    let mut explanation = ::explain::explain(&inputs, &asked, SEED, DRAWS);
    if let Some(slope) = slope {
        ablation::check(slope, &inputs).map_err(Stop::Usage)?;
        explanation = explanation.with_slope(slope.clone());
    }
    explanation.notes.extend(sources.note.clone());
    let mut document = documents::explanation(&inputs, &explanation);
    document.findings.splice(0..0, sources.limited());
    Ok((document, explanation))
}

/// Refuses what only an explanation of one GPU against several uses where something else is compared: nothing would come of it.
fn check_used(sources: &Sources, has_slope: bool, inputs: &Inputs) -> Result<(), String> {
    let only = [
        ("--ablation", has_slope),
        ("--half", !sources.half.is_empty()),
        ("--trace", sources.trace.is_some()),
        ("--what-if", !sources.what_if.is_empty()),
    ];
    let (from, to) = (inputs.from(), inputs.tp);
    match only.into_iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) if from > 1 => Err(format!(
            "{flag} is used where several GPUs are explained against one, and not for TP{to} against TP{from}: give a result of one GPU with --tp1, too, or leave {flag} away"
        )),
        _ => Ok(()),
    }
}

/// What a `--what-if` names: files are read here, the rest is the explanation's own language.
fn asked(text: &str) -> Result<(String, By), String> {
    let by = match text.strip_prefix("curve=") {
        Some(file) => collectives::read(Path::new(file))
            .map(|points| By::Curve { points })
            .map_err(|error| error.to_string()),
        None => text
            .parse()
            .map_err(|error: ::explain::WhatIfError| error.to_string()),
    };
    by.map(|by| (text.to_owned(), by))
        .map_err(|why| format!("--what-if {text}: {why}"))
}
