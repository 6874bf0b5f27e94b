//! How sure a bar is, in words: what the letter of its grade stands for to somebody who never saw one.

use measure::record::CollectiveKind;

use crate::attribute::{Attribution, Bar, Cause, CollectiveCost, Grade, Lack};

use super::figures::by_difference;

/// Of a curve whose calls nobody says how they were timed, and what to do about it.
const UNSTATED: &str = "whose mode the file does not say: add a column mode with graph, interleaved, back_to_back or host_synced";

/// How sure a bar is; empty where it is arithmetic. `simulated` figures are never called measured.
pub(super) fn sure(attribution: &Attribution, bar: &Bar, simulated: bool) -> String {
    let Some(grade) = bar.grade else {
        return String::new();
    };
    let sure = match bar.cause {
        Cause::Communication | Cause::AllReduce | Cause::AllGather => {
            of_communication(attribution, bar, grade, simulated)
        }
        Cause::Ideal | Cause::NarrowGemm | Cause::Unsharded | Cause::Host | Cause::Unexplained => {
            of_work(attribution, bar, grade, simulated)
        }
    };
    match attribution.lowered.contains(&bar.cause) {
        true => format!("{sure}, but the runs differ in more than the number of GPUs"),
        false => sure,
    }
}

/// A run at a rank's width.
fn at_width(attribution: &Attribution) -> String {
    format!("a run of the model at 1/{} width", attribution.tp)
}

/// Grade C stands for A here where only what the runs differ in lowered it.
fn was_measured(attribution: &Attribution, bar: &Bar, grade: Grade) -> bool {
    grade == Grade::A || attribution.lowered.contains(&bar.cause)
}

fn of_communication(attribution: &Attribution, bar: &Bar, grade: Grade, simulated: bool) -> String {
    let seen = if simulated { "simulated" } else { "measured" };
    let at_width = at_width(attribution);
    if by_difference(attribution) {
        return match was_measured(attribution, bar, grade) {
            true => format!("{seen}: what {at_width} does not take"),
            false => {
                format!("a rough estimate: what {at_width} does not take, which proves it in part")
            }
        };
    }
    let lacks = |lack: Lack| {
        let mut all = attribution.collectives.iter();
        all.any(|cost| cost.lacks.contains(&lack))
    };
    let times = match (simulated, lacks(Lack::Box)) {
        (true, _) => "the soft box's collective times",
        (false, true) => "the collective times that were given",
        (false, false) => "collective times measured on this box",
    };
    let traced = attribution
        .priors
        .iter()
        .any(|prior| prior.name == "in_trace");
    match (grade, traced) {
        (Grade::D, _) if attribution.is_by_published() => {
            "an educated guess from published figures; the exchange between these GPUs was not timed"
                .to_owned()
        }
        (Grade::D, true) => "a rough estimate from a trace that holds other steps, too".to_owned(),
        (Grade::D, false) if attribution.is_well_timed() && !attribution.held_back.is_empty() => {
            format!(
                "a rough estimate from {times}: {}",
                attribution.held_back.join(", and ")
            )
        }
        (Grade::D, false) if attribution.is_well_timed() => format!(
            "a rough estimate from {times}: other requests' prompts may be in it"
        ),
        (Grade::D, false) => {
            format!("a rough estimate from {times}{}", lacking(attribution))
        }
        (_, true) if was_measured(attribution, bar, grade) => {
            format!("{seen} inside the engine, by a trace")
        }
        _ => format!("estimated from {times}"),
    }
}

/// What the curve lacks to be of this step, in words that begin with a comma; empty where nothing is known.
fn lacking(attribution: &Attribution) -> String {
    let mut words: Vec<String> = Vec::new();
    let told = |cost: &CollectiveCost, lack: Lack| match lack {
        // It stands in what the times are called.
        Lack::Box => None,
        Lack::Mode => Some("timed in another mode than the engine's".to_owned()),
        Lack::ModeStated => Some(UNSTATED.to_owned()),
        Lack::Kernel => Some("without the engine's own kernel".to_owned()),
        Lack::Operation => Some(format!("without the {}s", named(cost.kind))),
        Lack::Size => Some(format!(
            "which do not reach the {}'s size",
            named(cost.kind)
        )),
        Lack::SizeBetween => Some(format!(
            "with the {}'s size read between two others",
            named(cost.kind)
        )),
    };
    for cost in &attribution.collectives {
        for said in cost.lacks.iter().filter_map(|lack| told(cost, *lack)) {
            if !words.contains(&said) {
                words.push(said);
            }
        }
    }
    // It goes on with what to do, so that nothing can follow.
    words.sort_by_key(|word| word == UNSTATED);
    match words.is_empty() {
        true => String::new(),
        false => format!(", {}", words.join(", ")),
    }
}

/// An operation as a sentence has it.
fn named(kind: CollectiveKind) -> String {
    kind.to_string().replace('_', "-")
}

fn of_work(attribution: &Attribution, bar: &Bar, grade: Grade, simulated: bool) -> String {
    let seen = if simulated { "simulated" } else { "measured" };
    let at_width = at_width(attribution);
    match (attribution.half.is_some(), grade) {
        (true, _) if was_measured(attribution, bar, grade) => format!("{seen} with {at_width}"),
        (true, _) => format!("a rough estimate from {at_width}"),
        (false, Grade::D) => "an educated guess from published and assumed figures".to_owned(),
        (false, _) => "estimated from times of matrix products on these GPUs".to_owned(),
    }
}
