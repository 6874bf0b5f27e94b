//! All gates in the order in which they are shown: whether the files belong together first, then each run.

use serde::{Deserialize, Serialize};

use super::checks::{OF_A_RUN, OF_COMPARED, OF_FILES};
use super::conditions::{conditions, held_to_box};
use super::evidence::{half_width, half_width_proven};
use super::files::{BOTH_ORIGINS, TWO_BOXES};
use super::grows::curve_grows;
use crate::inputs::Inputs;

/// One thing that must hold before a serving result says anything about links.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// What it is about, such as `no failures, TP1`.
    pub name: String,
    /// How it came out.
    pub verdict: Verdict,
    /// What was seen.
    pub seen: String,
    /// What must hold.
    pub needed: String,
    /// What to run where it does not hold or is unknown; `None` where it holds or was not judged.
    pub what_to_run: Option<String>,
}

/// How a gate came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It holds.
    Passed,
    /// It does not: there is no attribution.
    Failed,
    /// It does not, and there is an attribution all the same, with evidence that is no better than [`crate::Grade::C`].
    Warned,
    /// The files do not say: the attribution carries the reservation.
    Unknown,
    /// There was nothing to hold it against: neither passed nor a reservation.
    NotJudged,
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Passed => "passed",
            Self::Failed => "FAILED",
            Self::Warned => "WARNING",
            Self::Unknown => "unknown",
            Self::NotJudged => "not judged",
        })
    }
}

/// Every gate, whatever the others say. Gates on a run are there once for each run.
#[must_use]
pub fn gates(inputs: &Inputs) -> Vec<Gate> {
    let mut gates: Vec<Gate> = OF_FILES.iter().map(|check| check(inputs)).collect();
    gates.extend(
        conditions(inputs)
            .into_iter()
            .map(|gate| held_to_box(inputs, gate)),
    );
    gates.extend(curve_grows(inputs));
    let sizes: &[u32] = if inputs.tp == 1 {
        &[1]
    } else {
        &[1, inputs.tp]
    };
    for check in OF_A_RUN {
        for tp in sizes {
            let several = inputs.runs(*tp).count() > 1;
            for (index, run) in inputs.runs(*tp).enumerate() {
                let mut gate = check(inputs, run);
                gate.name = match several {
                    true => format!("{}, TP{tp} run {}", gate.name, index + 1),
                    false => format!("{}, TP{tp}", gate.name),
                };
                gates.push(gate);
            }
        }
        let halves = &inputs.evidence.half;
        for (index, run) in halves.iter().enumerate() {
            let mut gate = check(inputs, run);
            gate.name = match halves.len() {
                1 => format!("{}, half-width model", gate.name),
                _ => format!("{}, half-width model run {}", gate.name, index + 1),
            };
            gates.push(gate);
        }
    }
    gates.extend(OF_COMPARED.iter().map(|check| check(inputs)));
    // What is not there is no gate that was passed.
    if !inputs.evidence.half.is_empty() {
        gates.push(half_width(inputs));
        gates.push(half_width_proven(inputs));
    }
    gates
}

/// How many came out so, in words.
#[must_use]
pub fn counted(gates: &[Gate]) -> String {
    let count = |verdict| gates.iter().filter(|gate| gate.verdict == verdict).count();
    let not_judged = match count(Verdict::NotJudged) {
        0 => String::new(),
        n => format!("{n} not judged, "),
    };
    let warned = match count(Verdict::Warned) {
        0 => String::new(),
        1 => "1 WARNING, ".to_owned(),
        n => format!("{n} WARNINGS, "),
    };
    format!(
        "{} passed, {} unknown, {not_judged}{warned}{} failed",
        count(Verdict::Passed),
        count(Verdict::Unknown),
        count(Verdict::Failed)
    )
}

/// Whether the files are of one model and one box, as far as the gates can tell: where not, no figure of theirs means anything.
pub(crate) fn belong_together(gates: &[Gate]) -> bool {
    !failed(gates).any(|gate| OF_ONE_BOX.contains(&gate.name.as_str()))
}

/// The soft box behind the figures, or both of two; `None` where measured files stand beside it, which are refused together and give
/// none.
pub(crate) fn all_simulated(soft: Option<String>, gates: &[Gate]) -> Option<String> {
    let named = |name: &str| failed(gates).find(|gate| gate.name == name);
    if named(BOTH_ORIGINS).is_some() {
        return None;
    }
    named(TWO_BOXES).map(|gate| gate.seen.clone()).or(soft)
}

/// Gates of files that are of several boxes or models, or of another model than the one asked about.
const OF_ONE_BOX: [&str; 10] = [
    BOTH_ORIGINS,
    TWO_BOXES,
    "same model",
    "the model asked about",
    "weights fit",
    "a step can read its weights",
    "same engine",
    "same host",
    "same GPUs",
    "same quantisation",
];

/// Those that do not hold.
pub(crate) fn failed(gates: &[Gate]) -> impl Iterator<Item = &Gate> {
    gates.iter().filter(|gate| gate.verdict == Verdict::Failed)
}

/// Those that do not hold and cost the evidence its grade.
pub(crate) fn warned(gates: &[Gate]) -> impl Iterator<Item = &Gate> {
    gates.iter().filter(|gate| gate.verdict == Verdict::Warned)
}

/// What gates leave in doubt, a sentence each.
pub(crate) fn reservations(gates: &[Gate]) -> impl Iterator<Item = String> {
    let is_doubt = |gate: &&Gate| matches!(gate.verdict, Verdict::Unknown | Verdict::Warned);
    let doubts = gates.iter().filter(is_doubt);
    doubts.map(|gate| format!("{}: {}", gate.name, gate.seen))
}
