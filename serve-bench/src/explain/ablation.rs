//! The slope test of an ablation's arms: by itself, or beside an explanation.

use std::path::Path;

use ::explain::{Ablation, Inputs, Slope, SlopeVerdict, slope};
use program::Stop;
use record::exit;
use tp_plan::ModelFacts;
use view::Document;

use super::documents;

/// What an ablation is kept in.
const FILE: &str = "ablation.json";

/// Version of `ablation.json` that is read.
const SCHEMA: u32 = 1;

/// The test of the arms in a file.
///
/// # Errors
/// A file that cannot be read, or is none of an ablation.
pub(super) fn read(file: &Path) -> Result<Slope, Stop> {
    let name = file.display();
    let bad = |why: String| Stop::Usage(format!("--ablation {name}: {why}"));
    let inside = file.join(FILE);
    let text = bounded::text(if file.is_dir() { &inside } else { file }, bounded::RESULT);
    let text = text.map_err(|error| bad(error.to_string()))?;
    let hint = format!("give the {FILE} of tplens ablate, or its folder");
    let ablation = serde_json::from_str::<Ablation>(&text);
    let ablation = ablation.map_err(|error| bad(format!("{error}; {hint}")))?;
    if ablation.schema > SCHEMA {
        return Err(bad("written by a newer version; update tplens".to_owned()));
    }
    Ok(Slope {
        origin: Some(name.to_string()),
        ..slope(&ablation)
    })
}

/// The test of arms that were just measured, in words, and its exit code.
pub(crate) fn slope_of(ablation: &Ablation) -> (Document, u8) {
    let slope = slope(ablation);
    (documents::slope(&slope), code(&slope))
}

/// The exit code of a test, whoever asks for it: 0 where it is decided, else 3.
pub(super) fn code(slope: &Slope) -> u8 {
    match slope.passes {
        SlopeVerdict::Undecided { .. } => exit::INCONCLUSIVE,
        _ => exit::DONE,
    }
}

/// Whether the arms are of what is explained; in words where not.
pub(super) fn check(slope: &Slope, inputs: &Inputs) -> Result<(), String> {
    let (arms, asked) = (slope.tp, inputs.tp);
    if arms != asked {
        return Err(format!(
            "--ablation is of TP{arms}, and TP{asked} is explained: give arms of the same size"
        ));
    }
    of_model(slope, &inputs.model)?;
    match slope.simulated == inputs.simulated() {
        true => Ok(()),
        false => Err(
            "--ablation and the results are not both measured, or simulated on one machine"
                .to_owned(),
        ),
    }
}

/// Whether the arms are of this model: by its shape where theirs is known, else by its name and the all-reduces that were planned.
pub(super) fn of_model(slope: &Slope, asked: &ModelFacts) -> Result<(), String> {
    let shape = |model: &ModelFacts| (model.hidden, model.layers, model.vocab);
    let is_same = match ModelFacts::builtin(&slope.model) {
        Some(arms) => shape(&arms) == shape(asked),
        // One after the embedding and two in each layer, or one where attention or feed-forward is not shared out.
        None => {
            let planned = [asked.layers, 2 * asked.layers].map(|of| of + 1);
            slope.model == asked.name || planned.contains(&slope.planned)
        }
    };
    match is_same {
        true => Ok(()),
        false => Err(format!(
            "--ablation is of {} with {} all-reduces a step, and {} is asked about: give arms of the same model",
            slope.model, slope.planned, asked.name
        )),
    }
}
