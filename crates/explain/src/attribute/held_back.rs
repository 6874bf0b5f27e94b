//! What leaves communication no better told than as perhaps, however well its times are known: a step that is worked out from a median
//! gap, and an engine whose collectives nobody here knows.
//!
//! Prompts that no gap shows are told elsewhere.

use measure::import::ServeRun;

use super::result::{Bar, Grade};
use super::step::StepTime;
use crate::gates::{RunShape, without_rules};
use crate::inputs::Inputs;

/// What holds a claim back.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct HeldBack {
    /// Why, a part of a sentence each.
    pub(super) why: Vec<String>,
    /// Whether the steps are worked out from median gaps.
    pub(super) is_by_median: bool,
}

impl HeldBack {
    /// Of runs whose step is taken from the time per token where `by_token`, and the sentences to say of it.
    pub(super) fn new(
        inputs: &Inputs,
        by_token: bool,
        sides: &[&StepTime],
        runs: &[&ServeRun],
    ) -> (Self, Vec<String>) {
        let (mut held, mut said) = (Self::default(), Vec::new());
        let most = sides.iter().filter_map(|side| side.left_out());
        let most = most.max_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
        if let Some((ms, of_ms)) = most.filter(|_| by_token) {
            held.is_by_median = true;
            held.why
                .push("the steps with prompts are left out of it by a median".to_owned());
            let files = runs
                .iter()
                .filter(|run| RunShape::new(run).left_out() > 0.0)
                .map(|run| run.origin.as_str());
            let files: Vec<&str> = files.collect();
            said.push(format!(
                "the step is worked out from the median gap between tokens, which leaves out steps with other requests' prompts: {ms:.2} ms of {of_ms:.2} ms a token at least ({}); communication is told as perhaps; run with shorter prompts, or give a result of serve-bench run",
                files.join(", ")
            ));
        }
        // A trace counts what was sent, and a half-width model measures it.
        let evidence = &inputs.evidence;
        if let Some(engine) = without_rules(inputs)
            && evidence.trace.is_none()
            && evidence.half.is_empty()
        {
            let why = format!("what {engine} sends is not known here");
            said.push(format!(
                "{why}: its collectives are counted by another engine's rules, so that communication is told as perhaps; a trace (--trace) counts them"
            ));
            held.why.push(why);
        }
        (held, said)
    }

    /// A bar of communication as good as this lets it be.
    pub(super) fn capped(&self, mut bar: Bar) -> Bar {
        if !self.why.is_empty() && bar.grade < Some(Grade::D) {
            bar.grade = Some(Grade::D);
            bar.source.push_str(&format!(
                "; {}, so that its evidence is D",
                self.why.join(" and ")
            ));
        }
        bar
    }
}
