//! Prompts of other requests in a time per token that no gap between tokens shows: how much they may take, and what that leaves to be
//! claimed.

use measure::import::ServeRun;

use super::result::{Bar, Grade};
use super::step::StepTime;
use crate::gates::{MixedIn, RunShape};
use crate::range::Range;

/// Prompts that may take more than this part of what is to be explained leave no claim better than perhaps.
const DOUBTFUL: f64 = 0.1;

/// Above this many in flight others start while a request decodes.
const ALONE: f64 = 1.05;

/// Prompts that may be in the step.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Unseen {
    /// What they may take of the step on several GPUs at most, ms; `None` where nothing bounds it.
    pub(super) most_ms: Option<f64>,
    /// Whether that is too much for a claim.
    pub(super) is_doubtful: bool,
    /// What there is to say of it.
    pub(super) words: String,
}

impl Unseen {
    /// Of the times per token on one GPU and on several; `None` where none can be there, or gaps show them.
    pub(super) fn new(
        tp: u32,
        one: &StepTime,
        several: &StepTime,
        runs: &[&ServeRun],
    ) -> Option<Self> {
        let next = wanted(runs)?;
        let excess = several.rough_ms() - one.rough_ms() / f64::from(tp);
        if runs.iter().any(|run| is_unbounded(run)) {
            return Some(Self {
                most_ms: None,
                is_doubtful: true,
                words: format!(
                    "a result has a time per token and neither gaps between tokens nor a time to first token, so that nobody can tell what other requests' prompts take of it: communication is told as perhaps; {next}"
                ),
            });
        }
        let (most_ms, of_ms) = several.unseen_prompts()?;
        let part = match excess > 0.0 {
            true => most_ms / excess,
            false => f64::INFINITY,
        };
        let is_doubtful = part > DOUBTFUL;
        let says = match is_doubtful {
            true => "communication is told as perhaps",
            false => "the step's interval holds it",
        };
        let of_excess = match part.is_finite() {
            true => format!(
                ", up to {:.0}% of the {excess:.2} ms above 1/{tp} of TP1's",
                part * 100.0
            ),
            false => String::new(),
        };
        Some(Self {
            most_ms: Some(most_ms),
            is_doubtful,
            words: format!(
                "other requests' prompts take 0 to {most_ms:.2} ms of TP{tp}'s {of_ms:.2} ms a token, by its time to first token{of_excess}: {says}; taken to be the same part of that bound at both sizes; {next}"
            ),
        })
    }

    /// A bar of communication as good as these prompts let it be.
    pub(super) fn capped(&self, mut bar: Bar) -> Bar {
        if self.is_doubtful && bar.grade < Some(Grade::D) {
            bar.grade = Some(Grade::D);
            bar.source
                .push_str("; prompts may be in the step, so that its evidence is D");
        }
        bar
    }

    /// Why nothing is said of communication, where prompts leave its interval wider than its own median on a side; `None` where it is
    /// told.
    pub(super) fn refusal(&self, communication: &Range) -> Option<String> {
        let Range { low, mid, high } = *communication;
        let is_wide = mid - low > mid || high - mid > mid;
        (self.is_doubtful && is_wide).then(|| {
            format!(
                "communication could be {} ms, which tells nothing: {}",
                communication.with_decimals(2),
                self.words
            )
        })
    }
}

/// What the first run that hides prompts lacks; `None` where gaps of every run show them.
fn wanted(runs: &[&ServeRun]) -> Option<String> {
    let mut shapes = runs.iter().map(|run| RunShape::new(run));
    let hides = |shape: &RunShape<'_>| !matches!(shape.mixed_in(), Some(MixedIn::ByGaps(_)));
    shapes.find(hides).map(|shape| shape.gaps_wanted())
}

/// Whether nothing bounds what others' prompts take of a run's time per token.
fn is_unbounded(run: &ServeRun) -> bool {
    let flight = run
        .in_flight_wanted()
        .or_else(|| RunShape::new(run).in_flight());
    RunShape::new(run).mixed_in().is_none() && flight.is_none_or(|flight| flight > ALONE)
}
