//! A comparison of two sizes of several GPUs as a document.

use ::explain::{Cause, Claim, Inputs, Range, SizeAttribution, SizeComparison, SizeOutcome};
use view::{Block, Document, Section, Tone};

use super::bars::{collectives, detail, frame, inputs, parts, priors, range, step, times};
use super::finding::{grouped, refused};
use crate::explain::curves::{all_reduces, drawn};

/// The document of a comparison.
pub(crate) fn sizes(of: &Inputs, comparison: &SizeComparison) -> Document {
    let (from, to) = (comparison.from, comparison.to);
    let title = format!("{}: TP{to} against TP{from}", comparison.model);
    let mut document = frame(title, comparison.simulated.clone(), "tplens explain");
    let how_fast = |speed_up: &Range| {
        let slower = if speed_up.high <= 1.0 {
            ", NOT faster"
        } else {
            ""
        };
        format!(
            "TP{to} decodes {} as fast as TP{from}{slower}.",
            times(speed_up)
        )
    };
    match &comparison.outcome {
        SizeOutcome::Attributed { attribution } => {
            let (findings, notes) = grouped(&attribution.caveats);
            document.answer = vec![
                how_fast(&attribution.speed_up),
                communication(attribution, from, to),
            ];
            document.answer.extend(attribution.untold_from_one.map(|_| {
                format!("Against TP1 communication at TP{to} is not distinguishable from zero.")
            }));
            document.findings = findings;
            let fewer = (from, attribution.step_of_fewer);
            let more = (to, attribution.step_of_more);
            document.sections.push(Section::new(
                "A decode step",
                vec![step(fewer, &attribution.bars, more)],
            ));
            let parts = parts(attribution.bars.iter(), more.1.mid);
            let of_size = |tp: u32| {
                let inputs = Inputs { tp, ..of.clone() };
                all_reduces("", &inputs)
            };
            let series = [of_size(from), of_size(to)].concat();
            let mut blocks: Vec<Block> = drawn(
                "all-reduce at both sizes, us over bytes",
                series,
                Vec::new(),
            )
            .into_iter()
            .collect();
            blocks.push(collectives(&attribution.collectives_of_more));
            let all = [
                detail("What the bars rest on", vec![parts]),
                detail("Collectives", blocks),
                notes,
                priors(&attribution.priors),
            ];
            document.sections.extend(all.into_iter().flatten());
        }
        SizeOutcome::Refused { refusal } => {
            document.tone = Tone::Warning;
            let rate = comparison.rate.iter();
            document.answer = rate.map(|rate| how_fast(&rate.speed_up)).collect();
            let findings = &comparison.findings;
            let notes = refused(&mut document, "Why is unknown", refusal, findings);
            document.sections.extend(notes);
        }
    }
    document.answer.extend(comparison.notes.iter().cloned());
    document.sections.extend(inputs(&comparison.inputs));
    document
}

fn communication(of: &SizeAttribution, from: u32, to: u32) -> String {
    let most = of.remainder.high;
    let bar = of.bars.iter().find(|bar| bar.cause == Cause::Communication);
    match (of.claim, bar) {
        (Claim::Estimated, Some(bar)) => format!(
            "All-reduce takes {} ms at TP{to} and {} at TP{from}.",
            range(&bar.ms, 1),
            range(&of.sent_of_fewer, 1)
        ),
        (Claim::None, _) => {
            format!("All-reduce at TP{to}: at most {most:.1} ms, not distinguishable from zero.")
        }
        (Claim::AtMost | Claim::Estimated, _) => {
            format!("All-reduce at TP{to}: at most {most:.1} ms. Not measured here.")
        }
    }
}
