//! The whole text: two sentences first, then the waterfall, then everything behind them.

use super::answer::answer;
use super::behind::behind;
use super::gates::{gates, heading};
use super::lists::{lines, list, prior_shares};
use super::waterfall::waterfall;
use crate::explanation::{Explanation, Outcome};
use crate::slope::slope_body;
use crate::words::{inputs, printable, simulated};

/// The explanation as text; lines are not wrapped.
#[must_use]
pub fn text(explanation: &Explanation) -> String {
    let mut text = simulated(explanation.simulated.as_deref());
    for sentence in answer(explanation) {
        text.push_str(&format!("{sentence}\n"));
    }
    text.push('\n');
    match &explanation.outcome {
        Outcome::Attributed {
            attribution,
            advice,
            next,
            what_if,
        } => {
            text.push_str(&heading(explanation, Some(attribution.batch)));
            text.push_str(&waterfall(attribution, explanation.simulated.is_some()));
            text.push_str(&behind(attribution));
            text.push_str(&arms(explanation));
            text.push_str(&gates(&explanation.gates));
            text.push_str(&list("what to do", &lines(advice)));
            text.push_str(&list("what if", &lines(what_if)));
            text.push_str(&list("what to measure next", &lines(next)));
            text.push_str(&list("reservations", &attribution.caveats));
            text.push_str(&list("taken as known", &lines(&attribution.priors)));
            text.push_str(&list(
                "what is taken as known makes of the width",
                &prior_shares(&attribution.prior_shares),
            ));
        }
        Outcome::Refused { .. } => {
            text.push_str(&heading(explanation, None));
            text.push_str(&still_told(explanation));
            text.push_str(&arms(explanation));
            text.push_str(&gates(&explanation.gates));
        }
    }
    if let Some(first) = &explanation.first_token {
        text.push_str(&list("time to first token", &[first.to_string()]));
    }
    text.push_str(&inputs(&explanation.inputs));
    printable(&text)
}

/// What a refused case still tells.
fn still_told(explanation: &Explanation) -> String {
    let said = explanation.bounded.iter();
    let said: Vec<String> = said.flat_map(crate::bounded::Bounded::sentences).collect();
    list("what this case still tells", &said)
}

/// The arms of an ablation that was given.
fn arms(explanation: &Explanation) -> String {
    explanation
        .slope
        .as_ref()
        .map_or_else(String::new, |slope| {
            format!("does the step follow the link\n{}\n", slope_body(slope))
        })
}
