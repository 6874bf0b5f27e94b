//! A comparison of two sizes for the terminal.

use super::sizes::{SizeAttribution, SizeCause, SizeComparison, SizeOutcome};
use crate::attribute::Claim;
use crate::gates::Verdict;
use crate::range::Range;
use crate::text::{gates, list};

/// The comparison as text; lines are not wrapped.
#[must_use]
pub fn sizes_text(comparison: &SizeComparison) -> String {
    let mut text = String::new();
    if let Some(soft) = &comparison.simulated {
        text.push_str(&format!(
            "SIMULATED on the soft box {soft}: no figure here is of real hardware\n\n"
        ));
    }
    for sentence in sizes_answer(comparison) {
        text.push_str(&format!("{sentence}\n"));
    }
    let or_unknown = |known: &Option<String>| known.clone().unwrap_or_else(|| "unknown".to_owned());
    text.push_str(&format!(
        "\n{}, TP{} against TP{}; {}; box {}, GPU {}\n",
        comparison.model,
        comparison.to,
        comparison.from,
        or_unknown(&comparison.engine),
        or_unknown(&comparison.box_name),
        or_unknown(&comparison.gpu)
    ));
    if let SizeOutcome::Attributed { attribution } = &comparison.outcome {
        text.push_str(&waterfall(comparison, attribution));
    }
    text.push_str(&gates(&comparison.gates));
    if let SizeOutcome::Attributed { attribution } = &comparison.outcome {
        text.push_str(&list("reservations", &attribution.caveats));
        let priors: Vec<String> = attribution.priors.iter().map(ToString::to_string).collect();
        text.push_str(&list("taken as known", &priors));
    }
    let inputs: Vec<String> = comparison
        .inputs
        .iter()
        .map(|source| format!("{}: {}", source.origin, source.taken))
        .collect();
    text.push_str(&list("inputs", &inputs));
    text.replace(|c: char| c.is_control() && c != '\n', "\u{fffd}")
}

/// The answer in two sentences.
#[must_use]
pub fn sizes_answer(comparison: &SizeComparison) -> Vec<String> {
    let (from, to) = (comparison.from, comparison.to);
    match &comparison.outcome {
        SizeOutcome::Attributed { attribution } => {
            let bars: Vec<String> = attribution
                .bars
                .iter()
                .filter(|bar| bar.cause != SizeCause::Ideal)
                .map(|bar| format!("{} {}", bar.cause, bar.ms.with_decimals(1)))
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
                    "TP{to} gives {}x the decode steps of TP{from}, not {:.0}x: a step takes {:.1} ms where {from}/{to} of what TP{from} does between its collectives would be {ideal:.1}, and the {:.1} ms between are {} (ms, median [5%, 95%]).",
                    attribution.speed_up.with_decimals(2),
                    f64::from(to) / f64::from(from),
                    attribution.step_of_more.mid,
                    attribution.step_of_more.mid - ideal,
                    bars.join(", ")
                ),
                format!(
                    "With free links at TP{to} a step would be at most {}x as fast as at TP{from}, whose own collectives take {} of {:.1} ms.{claim}",
                    attribution.free_links.with_decimals(2),
                    attribution.sent_of_fewer.with_decimals(1),
                    attribution.step_of_fewer.mid
                ),
            ]
        }
        SizeOutcome::Refused { refusal } => {
            let mut failed = comparison
                .gates
                .iter()
                .filter(|gate| gate.verdict == Verdict::Failed);
            let run = failed.find_map(|gate| gate.what_to_run.as_deref());
            let run = run.unwrap_or(
                "give streamed results of both sizes, and the collectives of both with --allreduce",
            );
            vec![
                format!("Nothing is attributed: {}.", refusal.reasons.join("; ")),
                format!("What to do first: {run}."),
            ]
        }
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
    row(
        "of it its own collectives".to_owned(),
        &attribution.sent_of_fewer,
        "curve times count",
    );
    for bar in &attribution.bars {
        let grade = bar
            .grade
            .map_or(String::new(), |grade| format!("{grade}: "));
        row(
            bar.cause.to_string(),
            &bar.ms,
            &format!("{grade}{}", bar.source),
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
