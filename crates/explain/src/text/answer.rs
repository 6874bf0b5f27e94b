//! The answer in two sentences: why, and what to do. What the first sentence claims is chosen here and nowhere else.

use super::waterfall::step_decimals;
use crate::advise::{Advice, Rule};
use crate::attribute::{Attribution, Bar, Cause, Claim, CollectiveCost, Grade};
use crate::explanation::{Explanation, Outcome};
use crate::gates::Verdict;
use crate::next::NextStep;
use crate::range::Range;
use crate::slope::{Change, Slope, SlopeVerdict};

/// What to run where no gate says it, and a step has no time.
const RUN: &str = "give results with a time per token or a latency";

/// What to do where no gate says it, and a step has a time.
const LOOK: &str = "look whether --model, --box and --links are of these runs, then whether anything else differed between them";

/// Reasons of a refusal that stand in the first sentence.
const REASONS: usize = 2;

/// The answer in two sentences: why, and what to do.
#[must_use]
pub fn answer(explanation: &Explanation) -> Vec<String> {
    let slope = explanation.slope.as_ref();
    match &explanation.outcome {
        Outcome::Attributed {
            attribution,
            advice,
            next,
            ..
        } => {
            let tested = slope.map(|slope| Tested {
                slope,
                of_these_runs: explanation.of_other_runs(slope).is_none(),
            });
            let why = why(attribution, tested.as_ref());
            match &attribution.misfit {
                // What to measure comes before what to change.
                Some(misfit) => vec![
                    format!("{} {why}", misfit.headline()),
                    remedy(of_files(advice), next, tested.as_ref()),
                ],
                None => vec![why, remedy(advice, next, tested.as_ref())],
            }
        }
        Outcome::Refused { refusal } => {
            let mut failed = explanation
                .gates
                .iter()
                .filter(|gate| gate.verdict == Verdict::Failed);
            let run = failed.find_map(|gate| gate.what_to_run.as_deref());
            let otherwise = if refusal.is_no_step() { RUN } else { LOOK };
            let alone = slope.map_or_else(String::new, |slope| {
                format!("; of the ablation alone, {}", found(slope))
            });
            vec![
                format!(
                    "Nothing is attributed: {}{alone}.",
                    first_reasons(&refusal.reasons)
                ),
                format!("What to do first: {}.", run.unwrap_or(otherwise)),
            ]
        }
    }
}

/// The advice that comes before any measurement: to look whether the files are what they were given as.
fn of_files(advice: &[Advice]) -> &[Advice] {
    match advice {
        [first, ..] if first.rule == Rule::FilesMixedUp => std::slice::from_ref(first),
        _ => &[],
    }
}

/// The first reasons, and how many more there are; all of them are failed gates further down.
fn first_reasons(reasons: &[String]) -> String {
    let told = reasons.get(..REASONS).unwrap_or(reasons);
    match reasons.len() - told.len() {
        0 => told.join("; "),
        more => format!("{}; and {more} more that stand below", told.join("; ")),
    }
}

/// A slope test that was given beside the runs.
struct Tested<'a> {
    slope: &'a Slope,
    of_these_runs: bool,
}

/// Why it is not so many times as fast.
fn why(attribution: &Attribution, tested: Option<&Tested<'_>>) -> String {
    let tp = attribution.tp;
    let ideal = attribution.bar(Cause::Ideal).map_or(0.0, |bar| bar.ms.mid);
    let step = attribution.step_of_several.mid;
    let decimals = step_decimals(attribution);
    let doubt = if attribution.speed_up.mid <= 1.0 {
        "NOT FASTER THAN ONE GPU (a slow link does that, and files given the wrong way round): "
    } else {
        ""
    };
    let main = main_cause(attribution).map_or_else(String::new, |cause| format!(", {cause}"));
    let bar = attribution.bar(Cause::Communication);
    let borne_out = tested.map_or_else(String::new, |tested| {
        format!("; {}", tested.words(bar.map(|bar| bar.ms)))
    });
    let contradicted = attribution
        .half
        .as_ref()
        .filter(|half| half.is_contradicted());
    let half = contradicted.map_or_else(String::new, |half| {
        format!(
            "; the half-width model does NOT bear it out and leaves {} for communication and the host of several",
            half.difference.with_decimals(decimals)
        )
    });
    format!(
        "{doubt}TP{tp} gives {:.2}x the tokens per second of TP1 ({:.2}x a decode step), not {tp}x{main}: a step takes {step:.decimals$} ms where 1/{tp} of \
         one GPU's would be {ideal:.decimals$}, and the {:.decimals$} ms between are {} (ms, median [5%, 95%]){half}{borne_out}.",
        attribution.throughput_gain,
        attribution.speed_up.mid,
        step - ideal,
        parts(attribution, tested).join(", "),
    )
}

/// What the time above the ideal is made of, communication first.
fn parts(attribution: &Attribution, tested: Option<&Tested<'_>>) -> Vec<String> {
    let decimals = step_decimals(attribution);
    let part = |cause, words: &str| {
        let bar = attribution.bar(cause);
        bar.map(|bar| format!("{words} {}", bar.ms.with_decimals(decimals)))
    };
    // Two intervals are what a sentence bears; those of all bars stand in the table.
    let middle = |cause, words: &str| {
        let bar = attribution.bar(cause);
        bar.map(|bar| format!("{words} {}", Range::number(bar.ms.mid, decimals, false)))
    };
    let remainder = attribution.remainder;
    let communication = match (&attribution.claim, attribution.bar(Cause::Communication)) {
        (Claim::Estimated, Some(bar)) if bar.grade < Some(Grade::D) => {
            let by = measured_by(attribution, bar);
            let words = format!("communication by {by}");
            [
                part(Cause::Communication, &words),
                // What a half-width model leaves is communication, whether a curve explains it or not.
                part(Cause::Unexplained, "unexplained").filter(|_| !by_difference(attribution)),
            ]
        }
        (Claim::Estimated, Some(bar)) => [
            Some(format!(
                "communication perhaps {}{}",
                bar.ms.with_decimals(decimals),
                // The medians are of different draws: a whole that is less than its part tells nothing.
                match bar.ms.mid <= remainder.mid {
                    true => format!(
                        " of the {} that it and what is unexplained take together",
                        remainder.with_decimals(decimals)
                    ),
                    false => String::new(),
                }
            )),
            middle(Cause::Unexplained, "unexplained"),
        ],
        (Claim::None { .. }, _) if attribution.misfit.is_some() => [
            part(
                Cause::Unexplained,
                "communication and what is unexplained, not told apart,",
            ),
            None,
        ],
        (Claim::None { .. }, _) => [
            Some(format!(
                "communication and what is unexplained together {}, not told from nothing{}",
                remainder.with_decimals(decimals),
                by_curve(attribution, decimals)
            )),
            None,
        ],
        (Claim::AtMost { .. } | Claim::Estimated, _) => {
            // Without a curve, what the arms timed of the same step.
            let timed = tested.filter(|tested| tested.of_these_runs);
            let timed = timed.and_then(|tested| tested.slope.evidence());
            [
                Some(match timed {
                    Some(timed) => format!(
                        "communication at least {} by the ablation, of the {} that it and what is unexplained take together",
                        timed.communication_ms.with_decimals(decimals),
                        remainder.with_decimals(decimals)
                    ),
                    None => format!(
                        "communication and what is unexplained together {}",
                        remainder.with_decimals(decimals)
                    ),
                }),
                None,
            ]
        }
    };
    let [communication, unexplained] = communication;
    [
        communication,
        middle(Cause::NarrowGemm, "narrow GEMMs"),
        middle(Cause::Unsharded, "work that never shards"),
        middle(Cause::Host, "host"),
        unexplained,
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What the curve gives of collectives that the step does not show; empty without a curve.
fn by_curve(attribution: &Attribution, decimals: usize) -> String {
    let us = |cost: &CollectiveCost| f64::from(cost.count) * cost.us;
    let ms = attribution.collectives.iter().map(us).sum::<f64>() / 1e3;
    match ms > 0.0 {
        true => format!(" (the collectives take {ms:.decimals$} by the curve)"),
        false => String::new(),
    }
}

/// The cause that is larger than every other, wherever in their intervals they lie; `None` where that cannot be said.
fn main_cause(attribution: &Attribution) -> Option<String> {
    let named = |cause, words| Some((attribution.bar(cause)?.ms, words, cause));
    let unexplained = match (&attribution.claim, attribution.misfit.is_some()) {
        (Claim::AtMost { .. }, _) => {
            "communication or something unexplained, which cannot be told apart without this box's curve"
        }
        (Claim::None { .. }, true) => {
            "communication or something unexplained, which the curve does not tell apart"
        }
        (Claim::None { .. } | Claim::Estimated, _) => "something that is not explained",
    };
    let causes = [
        named(Cause::Communication, "communication"),
        named(
            Cause::NarrowGemm,
            "narrow GEMMs, which take more than their share",
        ),
        named(Cause::Unsharded, "work that never shards"),
        named(Cause::Host, "the host"),
        named(Cause::Unexplained, unexplained),
    ];
    let causes: Vec<_> = causes.into_iter().flatten().collect();
    let (first, words, cause) = *causes.iter().max_by(|a, b| a.0.mid.total_cmp(&b.0.mid))?;
    let above = causes
        .iter()
        .filter(|(_, other, _)| *other != words)
        .all(|(ms, ..)| ms.high < first.low);
    let words = (above && first.low > 0.0).then_some(words)?;
    // Which bar is the largest is no better known than the bars are.
    let grade = attribution.bar(cause).and_then(|bar| bar.grade);
    let measured = grade.is_some_and(|grade| grade < Grade::D);
    let doubt = if measured { "" } else { "probably " };
    Some(format!("{doubt}mainly because of {words}"))
}

/// What measured communication, in words.
fn measured_by(attribution: &Attribution, bar: &Bar) -> &'static str {
    // Nothing but a trace is A where there is no half-width model.
    let was_a = bar.grade == Some(Grade::A) || attribution.lowered.contains(&bar.cause);
    match (by_difference(attribution), was_a) {
        (true, _) => "the half-width model",
        (false, true) => "a trace of the engine",
        (false, false) => "this box's own curve",
    }
}

/// Whether communication is what a half-width model leaves, which no curve of this box contradicts.
fn by_difference(attribution: &Attribution) -> bool {
    let half = attribution.half.as_ref();
    half.is_some_and(|half| !half.is_contradicted())
}

impl Tested<'_> {
    /// What the arms say of the figures before.
    fn words(&self, bar: Option<Range>) -> String {
        if !self.of_these_runs {
            return "the ablation is of other runs and tests nothing here".to_owned();
        }
        match self.slope.passes {
            SlopeVerdict::Follows => {
                let fit = self.slope.fit.as_ref();
                // What no arm changes is not in it.
                let ms = fit.map_or_else(String::new, |fit| {
                    format!(", {} at least", fit.communication_ms.with_decimals(1))
                });
                let beyond = fit
                    .zip(bar)
                    .is_some_and(|(fit, bar)| fit.communication_ms.low > bar.high);
                let verdict = match beyond {
                    true => {
                        "the ablation bears out that the step follows the link, and gives more than that bar"
                    }
                    false => "the ablation bears communication out",
                };
                format!("{verdict}{ms}: {}", found(self.slope))
            }
            SlopeVerdict::BelowPlan { .. } | SlopeVerdict::AbovePlan { .. } => {
                format!("the ablation does NOT bear it out: {}", found(self.slope))
            }
            SlopeVerdict::Undecided { .. } => {
                format!("the ablation decides nothing: {}", found(self.slope))
            }
        }
    }
}

/// What was varied and what the step did.
fn found(slope: &Slope) -> String {
    let late = slope
        .late
        .map_or_else(String::new, |late| format!("; {late}"));
    let Some(fit) = &slope.fit else {
        return format!("no line goes through its arms{late}");
    };
    let has = |change| {
        let mut arms = slope.arms.iter().filter(|arm| arm.fitted);
        arms.any(|arm| arm.change == change)
    };
    let varied = match (has(Change::Link), has(Change::Delay)) {
        (true, true) => "where only the link or a delay was varied",
        (true, false) => "where only the link was varied",
        (false, _) => "where only a delay was varied",
    };
    let followed = match &slope.passes {
        SlopeVerdict::Follows => "the step followed",
        SlopeVerdict::BelowPlan { .. } => "the step followed by less than planned",
        SlopeVerdict::AbovePlan { .. } => "the step followed by more than planned",
        SlopeVerdict::Undecided { .. } => "the step may or may not have followed",
    };
    format!(
        "{varied}, {followed}, with a slope of {} for {} all-reduces a step ({} arms, {} launches){late}",
        fit.slope.with_decimals(0),
        slope.planned,
        fit.arms.len(),
        fit.launches
    )
}

/// What to do, or what to measure.
fn remedy(advice: &[Advice], next: &[NextStep], tested: Option<&Tested<'_>>) -> String {
    let against = tested
        .filter(|tested| tested.of_these_runs)
        .and_then(|tested| match &tested.slope.passes {
            SlopeVerdict::BelowPlan { why } | SlopeVerdict::AbovePlan { why } => Some(why),
            SlopeVerdict::Follows | SlopeVerdict::Undecided { .. } => None,
        });
    match (against, advice.first(), next.first()) {
        // What is advised rests on figures that were just not borne out.
        (Some(why), _, _) => format!("What to do: look first into {why}."),
        (None, Some(first), _) => {
            let effect = first.effect.as_ref();
            let brings = effect.map_or(String::new(), |effect| format!(" ({effect})"));
            format!("What to do: {}{brings}, because {}.", first.what, first.why)
        }
        (None, None, Some(step)) => format!("What to do: measure {}.", step.what),
        (None, None, None) => "What to do: nothing stands out.".to_owned(),
    }
}
