//! The step taken apart in one line of figures, which stands above the waterfall.

use super::tested::Tested;
use super::waterfall::step_decimals;
use crate::attribute::{Attribution, Bar, Cause, Claim, CollectiveCost, Grade};
use crate::explanation::Explanation;
use crate::range::Range;

/// What a step takes and what it takes beyond its share, cause by cause; `None` where nothing is attributed.
#[must_use]
pub fn in_figures(explanation: &Explanation) -> Option<String> {
    let attribution = explanation.outcome.attribution()?;
    let tested = Tested::of(explanation);
    let tp = attribution.tp;
    let ideal = attribution.bar(Cause::Ideal).map_or(0.0, |bar| bar.ms.mid);
    let step = attribution.step_of_several.mid;
    let decimals = step_decimals(attribution);
    let borne_out = tested
        .as_ref()
        .map_or_else(String::new, |tested| format!("; {}", tested.in_figures()));
    let timed = tested.as_ref().and_then(Tested::alone);
    let no_room = no_room(attribution, timed, step - ideal);
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
    Some(format!(
        "TP{tp} gives {:.2}x the tokens per second of TP1 ({:.2}x a decode step): a step takes {step:.decimals$} ms where 1/{tp} of one GPU's would be \
         {ideal:.decimals$}, and the {:.decimals$} ms between are {} (ms, median [5%, 95%]){no_room}{half}{borne_out}.",
        attribution.throughput_gain,
        attribution.speed_up.mid,
        step - ideal,
        parts(attribution, tested.as_ref()).join(", "),
    ))
}

/// That the medians of what is told together are more than what is lost, where the arms of an ablation tell communication alone; else nothing.
fn no_room(attribution: &Attribution, timed: Option<&Bar>, lost: f64) -> String {
    let work = [Cause::NarrowGemm, Cause::Unsharded, Cause::Host];
    let ms = |cause| attribution.bar(cause).map_or(0.0, |bar| bar.ms.mid);
    let work: f64 = work.into_iter().map(ms).sum();
    match timed.is_some_and(|timed| timed.ms.mid + work > lost) {
        true => {
            "; the arms' figure and the two runs' leave no room for all of them at their medians"
                .to_owned()
        }
        false => String::new(),
    }
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
            Some(match tested.and_then(Tested::alone) {
                Some(told) => format!(
                    "communication at least {} by the ablation, where the two runs alone leave {} for it and what is unexplained together",
                    told.ms.with_decimals(decimals),
                    remainder.with_decimals(decimals)
                ),
                None => format!(
                    "communication and what is unexplained together {}, not told from nothing{}",
                    remainder.with_decimals(decimals),
                    by_curve(attribution, decimals)
                ),
            }),
            None,
        ],
        (Claim::AtMost { .. } | Claim::Estimated, _) => {
            // Without a curve, what the arms timed of the same step.
            [
                Some(match tested.and_then(Tested::alone) {
                    Some(timed) => format!(
                        "communication at least {} by the ablation, {} the {} that it and what is unexplained take together",
                        timed.ms.with_decimals(decimals),
                        // Both are measured apart: a part is no more than its whole.
                        match timed.ms.mid < remainder.mid {
                            true => "of",
                            false => "which is all of",
                        },
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
pub(super) fn by_difference(attribution: &Attribution) -> bool {
    let half = attribution.half.as_ref();
    half.is_some_and(|half| !half.is_contradicted())
}
