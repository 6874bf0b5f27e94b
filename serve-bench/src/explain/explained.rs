//! From files to the explanation.

use ::explain::{DRAWS, Explanation, Inputs, Slope};
use program::Stop;

use super::deliver::SEED;
use super::sources::Sources;
use super::{ablation, what_if};

/// What the files hold, and what comes of it.
pub(super) fn explained(
    sources: &Sources,
    slope: Option<&Slope>,
) -> Result<(Inputs, Explanation), Stop> {
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
