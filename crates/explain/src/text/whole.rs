//! The whole text: two sentences first, then the topics in their order.

use super::answer::answer;
use super::behind::behind;
use super::figures::in_figures;
use super::gates::{gates, heading, warning};
use super::lists::{lines, list, prior_shares};
use super::tested::Tested;
use super::topic::Topic;
use super::waterfall::waterfall;
use crate::attribute::Attribution;
use crate::bounded::Bounded;
use crate::explanation::Explanation;
use crate::slope::slope_body;
use crate::words::{inputs, simulated};

/// The explanation as text; lines are not wrapped.
#[must_use]
pub fn text(explanation: &Explanation) -> String {
    let mut text = simulated(explanation.simulated.as_deref());
    for sentence in answer(explanation) {
        text.push_str(&format!("{sentence}\n"));
    }
    text.push_str(&warned(explanation));
    text.push('\n');
    for topic in Topic::ALL {
        text.push_str(&told(topic, explanation));
    }
    text
}

/// The line below the answer where the runs differ in more than the number of GPUs; empty where they do not, or nothing is claimed.
fn warned(explanation: &Explanation) -> String {
    let attributed = explanation.outcome.attribution();
    let line = attributed.and_then(|of| warning(&explanation.gates, &of.lowered));
    line.map_or_else(String::new, |line| format!("{line}\n"))
}

/// What is told of a topic; nothing where there is nothing to tell.
fn told(topic: Topic, explanation: &Explanation) -> String {
    let outcome = &explanation.outcome;
    let attributed = outcome.attribution();
    let list_of = |lines: Vec<String>| list(topic.title(), &lines);
    let of_step = |told: fn(&Attribution) -> Vec<String>| attributed.map_or_else(Vec::new, told);
    match topic {
        Topic::Compared => heading(explanation, attributed.map(|of| of.batch)),
        Topic::Step => attributed.map_or_else(String::new, |of| {
            let figures = in_figures(explanation);
            let figures = figures.map_or_else(String::new, |line| format!("{line}\n"));
            figures
                + &waterfall(of, explanation.simulated.is_some())
                + &behind(of, Tested::of(explanation).as_ref())
        }),
        Topic::StillTold => {
            let bounded = explanation.bounded.iter();
            list_of(bounded.flat_map(Bounded::sentences).collect())
        }
        Topic::Ablation => explanation
            .slope
            .as_ref()
            .map_or_else(String::new, |slope| {
                format!("{}\n{}\n", topic.title(), slope_body(slope))
            }),
        // A text has no picture of the curve; the waterfall and what stands behind it name the times.
        Topic::Collectives => String::new(),
        Topic::ToDo => list_of(lines(outcome.advice())),
        Topic::WhatIf => list_of(lines(outcome.what_if())),
        Topic::ToMeasure => list_of(lines(outcome.to_measure())),
        Topic::Gates => gates(&explanation.gates),
        Topic::Reservations => list_of(of_step(|of| of.caveats.clone())),
        Topic::FirstToken => {
            let first = explanation.first_token.iter();
            list_of(first.map(ToString::to_string).collect())
        }
        Topic::TakenAsKnown => list_of(of_step(|of| lines(&of.priors))),
        Topic::Widths => list_of(of_step(|of| prior_shares(&of.prior_shares))),
        Topic::Inputs => inputs(&explanation.inputs),
    }
}
