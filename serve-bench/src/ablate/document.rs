//! The documents of an ablation: what will be run, and what came out.

use std::path::Path;

use explain::{Ablation, LEAST_LAUNCHES, Launch};
use program::command_line::quoted;
use program::minutes;
use view::{Block, Document, Item, Next, Section, Table, Tone};

use super::plan::Plan;
use crate::explain::{change, range};

/// The arms, how each is made, the time, and what cannot be done.
pub(super) fn plan(plan: &Plan<'_>) -> Document {
    let args = plan.args;
    let (collectives, serve) = plan.seconds();
    let seconds = collectives + serve;
    let mut arms = Table::under(["arm", "changes", "how"]);
    for arm in &plan.arms {
        arms.row([
            arm.name.clone(),
            change(arm.change()).to_owned(),
            plan.how(arm),
        ]);
    }
    let mut refused = Table::under(["not possible here", "why"]);
    for (name, reason) in &plan.refused {
        refused.row([(*name).to_owned(), (*reason).to_owned()]);
    }
    let mut findings = Vec::new();
    if (args.launches as usize) < LEAST_LAUNCHES {
        let text = format!(
            "{} launches an arm decide nothing: give {LEAST_LAUNCHES}",
            args.launches
        );
        findings.push(Item::of(Tone::Warning, text).coded("too-few-launches"));
    }
    if plan.place.reduces_itself(args.tp) {
        let text = "The engine's own all-reduce is off in every arm";
        findings.push(Item::of(Tone::Open, text).coded("own-all-reduce-off"));
    }
    let soft = plan.place.soft.as_ref();
    Document {
        title: format!("Ablation of {}", plan.model.name),
        simulated: soft.map(|described| described.name.clone()),
        answer: vec![
            format!(
                "{} TP{}, {} in flight: {} arms of {} launches, {} all-reduces in a step.",
                plan.model.name,
                args.tp,
                args.load.concurrency,
                plan.arms.len(),
                args.launches,
                plan.count()
            ),
            format!(
                "About {} in all; nothing was run.",
                minutes(seconds * plan.order.len() as f64)
            ),
        ],
        findings,
        sections: vec![
            Section::new("Arms", vec![Block::Table(arms)]),
            Section::detail("Not possible here", vec![Block::Table(refused)]),
        ],
        ..Document::default()
    }
}

/// What came of an ablation.
pub(super) struct Done<'a> {
    pub(super) ablation: &'a Ablation,
    /// The slope test's document.
    pub(super) slope: Document,
    /// Launches that say nothing, with their arms and reasons.
    pub(super) missing: Vec<(usize, &'a str, &'a str)>,
    pub(super) file: &'a Path,
}

/// The document of an ablation that ended.
pub(super) fn result(done: Done<'_>) -> Document {
    let Done {
        ablation, slope, ..
    } = done;
    let launches: usize = ablation.arms.iter().map(|arm| arm.launches.len()).sum();
    let mut findings = Vec::new();
    if let Some((number, arm, reason)) = done.missing.first() {
        let text = format!(
            "{} launches missing, the first {} ({arm}): {reason}",
            done.missing.len(),
            number + 1
        );
        findings.push(Item::of(Tone::Warning, text).coded("launch-missing"));
    }
    let mut next = slope.next;
    next.push(Next::by(
        "explain results of runs with it.",
        format!(
            "tplens explain ... --ablation {}",
            quoted(done.file.as_os_str())
        ),
    ));
    if !done.missing.is_empty() {
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
    let late = if is_late(launch) {
        "; left out: this machine was busy"
    } else {
        ""
    };
    format!("{collective}step {step} ms{late}")
}

/// Whether this machine was too busy for a launch of a simulated machine.
pub(super) fn is_late(launch: &Launch) -> bool {
    launch.limited.is_some() || launch.is_late()
}
