//! A comparison of two sizes for the terminal.

use super::rate::how_fast;
use super::sizes_result::{SizeAttribution, SizeCause, SizeComparison, SizeOutcome};
use crate::attribute::{Claim, Grade, Refusal};
use crate::range::Range;
use crate::text::{Topic, gates, lines, list};
use crate::words::{first_reasons, inputs, or_unknown, simulated, warned, what_to_run_first};

/// The comparison as text; lines are not wrapped.
#[must_use]
pub fn sizes_text(comparison: &SizeComparison) -> String {
    let mut text = simulated(comparison.simulated.as_deref());
    for sentence in sizes_answer(comparison) {
        text.push_str(&format!("{sentence}\n"));
    }
    let judged = matches!(comparison.outcome, SizeOutcome::Attributed { .. });
    text.push_str(&warned(judged, &comparison.gates));
    text.push_str(&format!(
        "\n{}, TP{} against TP{}; {}; box {}, GPU {}\n",
        comparison.model,
        comparison.to,
        comparison.from,
        or_unknown(comparison.engine.as_deref()),
        or_unknown(comparison.box_name.as_deref()),
        or_unknown(comparison.gpu.as_deref())
    ));
    if let SizeOutcome::Attributed { attribution } = &comparison.outcome {
        text.push_str(&waterfall(comparison, attribution));
    }
    text.push_str(&list(Topic::ToDo.title(), &lines(&comparison.advice)));
    text.push_str(&gates(&comparison.gates));
    if let SizeOutcome::Attributed { attribution } = &comparison.outcome {
        text.push_str(&list(Topic::Reservations.title(), &attribution.caveats));
        text.push_str(&list(
            Topic::TakenAsKnown.title(),
            &lines(&attribution.priors),
        ));
    }
    text.push_str(&inputs(&comparison.inputs));
    text
}

/// The answer in two sentences, and one more each where files may be mixed up, and of a size between both.
#[must_use]
pub fn sizes_answer(comparison: &SizeComparison) -> Vec<String> {
    let mut answer = in_two(comparison);
    let advised = comparison.advice.iter();
    let advised = advised.map(|of| format!("What to do: {}, because {}.", of.what, of.why));
    if matches!(comparison.outcome, SizeOutcome::Refused { .. }) && !comparison.advice.is_empty() {
        // What to measure comes after it, and stands in the reason.
        answer.pop();
    }
    answer.extend(advised);
    answer.extend(comparison.between.iter().map(ToString::to_string));
    answer
}

fn in_two(comparison: &SizeComparison) -> Vec<String> {
    let (from, to) = (comparison.from, comparison.to);
    match &comparison.outcome {
        SizeOutcome::Attributed { attribution } => {
            let bars: Vec<String> = attribution
                .bars
                .iter()
                .filter(|bar| bar.cause != SizeCause::Ideal)
                // Two intervals are what a sentence bears, the speed-up's and this; those of all bars stand in the table.
                .map(|bar| match bar.cause {
                    SizeCause::Communication => {
                        let perhaps = perhaps(attribution, bar.grade);
                        format!(
                            "{} {perhaps}{} by the curve of {to} ranks{}",
                            bar.cause,
                            bar.ms.with_decimals(1),
                            untold_from_one(attribution)
                        )
                    }
                    other => format!("{other} {}", Range::number(bar.ms.mid, 1, false)),
                })
                .collect();
            let ideal = attribution.bars.first().map_or(0.0, |bar| bar.ms.mid);
            let claim = match &attribution.claim {
                Claim::Estimated => String::new(),
                Claim::AtMost { reason } | Claim::None { reason } => {
                    format!(" No claim about communication: {reason}.")
                }
            };
            vec![
                format!(
                    "{}, not {:.0} times: a step takes {:.1} ms where {from}/{to} of what TP{from} does between its collectives would be {ideal:.1}, and the {:.1} ms between are {} (ms, median [5%, 95%]).",
                    how_fast(&attribution.speed_up, from, to),
                    f64::from(to) / f64::from(from),
                    attribution.step_of_more.mid,
                    attribution.step_of_more.mid - ideal,
                    bars.join(", ")
                ),
                format!(
                    "With free links at TP{to}, all that is unexplained taken for theirs, a step would be {}x as fast as at TP{from}, whose own collectives take {}{} of {:.1} ms.{claim}",
                    attribution.free_links.with_decimals(2),
                    attribution.sent_of_fewer.with_decimals(1),
                    doubt(attribution),
                    attribution.step_of_fewer.mid
                ),
            ]
        }
        SizeOutcome::Refused { refusal } => {
            let reasons = first_reasons(&refusal.reasons);
            vec![
                match &comparison.rate {
                    Some(rate) => format!(
                        "{}; why cannot be explained yet: {reasons}.",
                        how_fast(&rate.speed_up, from, to)
                    ),
                    None => format!("Nothing can be explained yet: {reasons}."),
                },
                what_to_run_first(
                    &comparison.gates,
                    Refusal::of_unit(&refusal.reasons).unwrap_or("give streamed results of both sizes, and the collectives of both with --allreduce"),
                ),
            ]
        }
    }
}

/// Communication that rests on another box's curve, or that the same size against one GPU does not show, may not be there.
fn perhaps(attribution: &SizeAttribution, grade: Option<Grade>) -> &'static str {
    match grade == Some(Grade::D) || attribution.untold_from_one.is_some() {
        true => "perhaps ",
        false => "",
    }
}

/// That the step against one GPU does not show the communication that the curve gives.
fn untold_from_one(attribution: &SizeAttribution) -> &'static str {
    match attribution.untold_from_one {
        Some(_) => " (against TP1 the step itself does not tell it from nothing)",
        None => "",
    }
}

/// The grade of what the smaller size sends, where it is not of this box.
fn doubt(attribution: &SizeAttribution) -> String {
    match attribution.grade_of_fewer {
        Some(Grade::D) => format!(" (grade D, {})", attribution.source_of_fewer),
        _ => String::new(),
    }
}

fn waterfall(comparison: &SizeComparison, attribution: &SizeAttribution) -> String {
    let mut text = String::from(" ms a step, median [5%, 95%]\n");
    let measured = match comparison.simulated {
        Some(_) => "simulated",
        None => "measured",
    };
    let mut row = |what: String, ms: &Range, rests_on: &str| {
        text.push_str(&format!(
            " {what:<28} {:>22}  {rests_on}\n",
            ms.with_decimals(1)
        ));
    };
    row(
        format!("step on {}", comparison.from),
        &attribution.step_of_fewer,
        measured,
    );
    let grade = |grade: Option<Grade>| grade.map_or(String::new(), |grade| format!("{grade}: "));
    row(
        "of it its own collectives".to_owned(),
        &attribution.sent_of_fewer,
        &format!(
            "{}curve times count ({})",
            grade(attribution.grade_of_fewer),
            attribution.source_of_fewer
        ),
    );
    for bar in &attribution.bars {
        row(
            bar.cause.to_string(),
            &bar.ms,
            &format!("{}{}", grade(bar.grade), bar.source),
        );
    }
    row(
        format!("step on {}", comparison.to),
        &attribution.step_of_more,
        measured,
    );
    text.push_str(&format!(
        " medians of {} draws, which need not sum; {:.0}% of the draws sum to more than was measured and were dropped\n\n",
        attribution.draws,
        attribution.impossible * 100.0
    ));
    text
}
