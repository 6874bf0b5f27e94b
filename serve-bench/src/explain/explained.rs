//! Reads what was given and explains it.

use ::explain::{DRAWS, Explanation, Inputs, Priors, Slope};
use program::Stop;

use super::deliver::SEED;
use super::sources::Sources;
use super::{ablation, what_if};

/// What the files hold, and what comes of it.
pub(super) fn explained(
    sources: &Sources,
    slope: Option<&Slope>,
    priors: &[String],
) -> Result<(Inputs, Explanation), Stop> {
    let inputs = sources.read(known(priors)?).map_err(Stop::Usage)?;
    let asked = what_if::asked(&sources.what_if).map_err(Stop::Usage)?;
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
