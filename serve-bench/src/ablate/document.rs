//! What came out of an ablation, as a document and as lines.

use std::path::Path;

use explain::{Ablation, Launch};
use program::command_line::quoted;
use view::{Document, Item, Next, Tone};

use crate::explain::range;

/// The document of an ablation that ended: `missing` are the launches that say nothing, with their names and reasons.
pub(super) fn result(
    ablation: &Ablation,
    slope: Document,
    missing: &[(&str, String)],
    file: &Path,
) -> Document {
    let launches: usize = ablation.arms.iter().map(|arm| arm.launches.len()).sum();
    let mut findings = Vec::new();
    if let Some((name, reason)) = missing.first() {
        let text = format!(
            "{} launches missing, the first {name}: {reason}",
            missing.len()
        );
        findings.push(Item::of(Tone::Warning, text).coded("launch-missing"));
    }
    let mut next = slope.next;
    next.push(Next::by(
        "explain results of runs with it.",
        format!("tplens explain ... --ablation {}", quoted(file.as_os_str())),
    ));
    if !missing.is_empty() {
        next.insert(
            0,
            Next::plain("run the same command again: it tries what is missing."),
        );
    }
    let mut answer = vec![format!(
        "{} TP{}, {} in flight: {launches} launches of {} arms; a step is the mean gap while every slot decodes.",
        ablation.model,
        ablation.tp,
        ablation.batch,
        ablation.arms.len()
    )];
    answer.extend(slope.answer);
    Document {
        title: format!("Ablation of {}", ablation.model),
        simulated: ablation.simulated.clone(),
        tone: match slope.tone {
            Tone::Good if !findings.is_empty() => Tone::Warning,
            tone => tone,
        },
        answer,
        findings,
        next,
        sections: slope.sections,
        ..Document::default()
    }
}

/// What an arm's launches took, for one line while it runs.
pub(super) fn launched(launch: &Launch) -> String {
    let collective = launch.collective_us.map_or_else(String::new, |us| {
        format!("all-reduce {} us, ", range(&us, 2))
    });
    let step = range(&launch.step_ms, 3);
    let late = if launch.limited.is_some() || launch.is_late() {
        "; left out: this machine was busy"
    } else {
        ""
    };
    format!("{collective}step {step} ms{late}")
}
