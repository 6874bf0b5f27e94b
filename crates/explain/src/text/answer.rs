//! The answer in two sentences that need no knowledge of the field: why, and what to do. Figures and grades stand below them.

use super::plain::why;
use super::tested::{Tested, found};
use super::waterfall::step_decimals;
use crate::advise::{Advice, Effect, Rule};
use crate::attribute::{Attribution, HalfModel, Refusal};
use crate::bounded::Bounded;
use crate::explanation::{Explanation, Outcome};
use crate::gates::{FAILURES, Gate, PURE_DECODE, Verdict};
use crate::next::NextStep;
use crate::slope::SlopeVerdict;
use crate::words::{first_reasons, number_of};

/// What to run where no gate says it, and a step has no time.
const RUN: &str = "give results with a time per token or a latency";

/// What to do where no gate says it, and a step has a time.
const LOOK: &str = "look whether --model, --box and --links are of these runs, then whether anything else differed between them";

/// Intervals that a sentence bears.
const INTERVALS: usize = 2;

/// The answer in two sentences: why, and what to do; and one for each size between both, which is not what is explained.
#[must_use]
pub fn answer(explanation: &Explanation) -> Vec<String> {
    let between = explanation.between.iter().map(ToString::to_string);
    in_two(explanation).into_iter().chain(between).collect()
}

fn in_two(explanation: &Explanation) -> Vec<String> {
    let tested = Tested::of(explanation);
    match &explanation.outcome {
        Outcome::Attributed {
            attribution,
            advice,
            next,
            ..
        } => {
            let is_simulated = explanation.simulated.is_some();
            let why = why(attribution, tested.as_ref(), is_simulated);
            let tested = tested.as_ref();
            let half = attribution.half.as_ref();
            let contradiction =
                half.and_then(|half| half.contradiction(step_decimals(attribution)));
            match (&attribution.misfit, contradiction) {
                // What to measure comes before what to change.
                (Some(misfit), _) => vec![
                    format!("{} {why}", misfit.headline()),
                    remedy(attribution, of_files(advice), next, tested),
                ],
                (None, Some(contradiction)) => vec![
                    format!("{contradiction} {why}"),
                    match (of_files(advice), half.and_then(HalfModel::again)) {
                        ([], Some(again)) => format!("What to do first: run {again}."),
                        (files, _) => remedy(attribution, files, next, tested),
                    },
                ],
                (None, None) => vec![why, remedy(attribution, advice, next, tested)],
            }
        }
        Outcome::Refused { refusal } => {
            let failed = explanation
                .gates
                .iter()
                .filter(|gate| gate.verdict == Verdict::Failed);
            let first = failed.clone().find(|gate| gate.what_to_run.is_some());
            let run = first.and_then(|gate| gate.what_to_run.as_deref());
            // Prompts that no gap shows are the nearer reason where nothing else failed.
            let hidden = explanation.gates.iter().find(|gate| {
                gate.verdict == Verdict::Unknown && gate.name.starts_with(PURE_DECODE)
            });
            let hidden = hidden.and_then(|gate| gate.what_to_run.as_deref());
            let otherwise = match (refusal.is_no_step(), Refusal::of_unit(&refusal.reasons)) {
                (true, _) => RUN,
                (false, Some(unit)) => unit,
                (false, None) => hidden.unwrap_or(LOOK),
            };
            let is_failures = |gate: &&Gate| gate.name.starts_with(FAILURES);
            let failures = match failed.filter(is_failures).count() {
                0 => String::new(),
                // That gate asks for it itself.
                _ if first.as_ref().is_some_and(is_failures) => String::new(),
                runs => format!("{}; then ", failures_first(explanation, runs)),
            };
            let alone = tested.map_or_else(String::new, |tested| {
                format!("; of the ablation alone, {}", found(tested.slope))
            });
            vec![
                format!(
                    "Nothing can be explained yet: {}{alone}.",
                    first_reasons(&refusal.reasons)
                ),
                format!("What to do first: {failures}{}.", run.unwrap_or(otherwise)),
            ]
        }
    }
}

/// That requests failed comes before all else, since the times of those that are left are too good.
fn failures_first(explanation: &Explanation, runs: usize) -> String {
    let all = explanation
        .bounded
        .iter()
        .find_map(|bounded| match bounded {
            Bounded::InFlight { bound } => bound.failed,
            Bounded::PrefillChunks { .. } => None,
        });
    let runs = number_of(runs as u64, "run");
    let seen = all.map_or(runs.clone(), |all| format!("{all} in {runs}"));
    format!(
        "find out why requests fail ({seen}), or ask for less at once, and run again until none fails"
    )
}

/// The advice that comes before any measurement: to look whether the files are what they were given as.
fn of_files(advice: &[Advice]) -> &[Advice] {
    match advice {
        [first, ..] if first.rule == Rule::FilesMixedUp => std::slice::from_ref(first),
        _ => &[],
    }
}

/// What to do, or what to measure.
fn remedy(
    attribution: &Attribution,
    advice: &[Advice],
    next: &[NextStep],
    tested: Option<&Tested<'_>>,
) -> String {
    let against = tested
        .filter(|tested| tested.is_of_this_load())
        .and_then(|tested| match &tested.slope.passes {
            SlopeVerdict::BelowPlan { why } | SlopeVerdict::AbovePlan { why } => Some(why),
            SlopeVerdict::Follows | SlopeVerdict::Undecided { .. } => None,
        });
    let timed = tested.and_then(Tested::alone);
    let is_open = attribution.misfit.is_none() && attribution.leading_beside(timed).is_none();
    match (against, advice.first(), next.first()) {
        // What is advised rests on figures that were just not borne out.
        (Some(why), _, _) => format!("What to do: look first into {why}."),
        (None, Some(first), _) => {
            // What to mind of it stands in the list below.
            let why = first.why.split("; ").next().unwrap_or(&first.why);
            let effect = first.effect.as_ref();
            let brings = effect.map(|effect| brings(attribution, effect));
            let has_room = |words: &String| {
                intervals(&first.what) + intervals(why) + intervals(words) <= INTERVALS
            };
            let brings = brings.filter(has_room).unwrap_or_default();
            let advised = format!("{}{brings}, because {why}", first.what);
            // Files that were mixed up come before any measurement.
            match next
                .first()
                .filter(|_| is_open && of_files(advice).is_empty())
            {
                Some(step) => format!("What to do first: measure {}. Then {advised}.", step.what),
                None => format!("What to do: {advised}."),
            }
        }
        (None, None, Some(step)) => format!("What to do: measure {}.", step.what),
        (None, None, None) => "What to do: nothing stands out.".to_owned(),
    }
}

/// What a piece of advice would bring, in brackets.
fn brings(attribution: &Attribution, effect: &Effect) -> String {
    let times = effect.times.with_decimals(2);
    let of = match effect.is_step_rate() {
        true => format!(
            " times the speed of one GPU by the decode step, {:.2} today",
            attribution.speed_up.mid
        ),
        false => format!("x {}", effect.of),
    };
    match (effect.at_most, &effect.condition) {
        (true, Some(condition)) => format!(" ({times}{of}, {condition})"),
        (true, None) => format!(" ({times}{of}, if all of it went away)"),
        (false, _) => format!(" (about {times}{of})"),
    }
}

/// Intervals in a text.
fn intervals(words: &str) -> usize {
    words.matches(" [").count()
}
