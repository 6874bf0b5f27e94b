//! An explanation as a document: what is lost, whether that is normal, why, what now.

use ::explain::{
    Attribution, Cause, Claim, CommunicationFrom, Explanation, HalfModel, Inputs, NoSubstitute,
    Outcome, PeerState, StepFrom, WhatIf,
};
use record::unit::ByteCount;
use view::{Block, Document, Next, Section, Tone};

use super::advice;
use super::bars::{
    collectives, decimals, detail, frame, inputs, parts, priors, range, ranges, step, times,
};
use super::finding::{grouped, refused};
use super::slope;

/// What to do where nobody said what the machine is.
const UNNAMED: &str =
    "Name the machine: --box NAME (tplens help box) or --gpu NAME; its link's times then count.";

/// The document of an explanation.
pub(crate) fn explanation(of: &Inputs, explanation: &Explanation) -> Document {
    let title = match explanation.tp {
        1 => format!("{} on one GPU", explanation.model),
        tp => format!("{}: TP{tp} against TP{}", explanation.model, of.from()),
    };
    let mut document = frame(title, explanation.simulated.clone(), "tplens explain");
    match &explanation.outcome {
        Outcome::Attributed {
            attribution,
            advice,
            next,
            what_if,
        } => {
            if attribution.is_measured() {
                document.tone = Tone::Good;
            }
            document.answer = answer(of, attribution);
            document.answer.extend(what_if.iter().map(asked));
            let (findings, notes) = grouped(&attribution.caveats);
            document.findings = findings;
            let is_unknown = of.known.origins.is_empty() && of.tp > 1;
            let named = (is_unknown && !attribution.is_measured()).then(|| Next::plain(UNNAMED));
            let steps = advice::next(advice, next, !attribution.is_measured());
            document.next = named.into_iter().chain(steps).collect();
            let of_one = (attribution.from, attribution.step_of_one);
            let of_several = (attribution.tp, attribution.step_of_several);
            let heading = match attribution.step_from {
                StepFrom::Latency => {
                    "A decode step, worked out from latencies by an assumed prefill"
                }
                StepFrom::DecodeGap | StepFrom::Tpot => "A decode step",
            };
            document.sections.push(Section::new(
                heading,
                vec![step(of_one, &attribution.bars, of_several)],
            ));
            let bars = attribution.bars.iter().chain(&attribution.communication);
            let parts = parts(bars, of_several.1.mid);
            let of_sections = [
                detail("What the bars rest on", vec![parts, speed_ups(attribution)]),
                detail("Collectives of a step", of_collectives(attribution)),
                attribution
                    .half
                    .as_ref()
                    .and_then(|half| shard(half, attribution.tp)),
                explanation.slope.as_ref().map(slope::section),
                notes,
                priors(&attribution.priors),
            ];
            document.sections.extend(of_sections.into_iter().flatten());
        }
        Outcome::Refused { refusal } => {
            document.tone = Tone::Bad;
            let notes = refused(&mut document, refusal, &explanation.findings);
            let of_slope = explanation.slope.as_ref().map(slope::section);
            document
                .sections
                .extend([of_slope, notes].into_iter().flatten());
        }
    }
    document
        .answer
        .extend(explanation.slope.as_ref().map(slope::sentence));
    document.answer.extend(explanation.notes.iter().cloned());
    document.sections.extend(inputs(&explanation.inputs));
    document
}

fn answer(inputs: &Inputs, attribution: &Attribution) -> Vec<String> {
    let Attribution { tp, from, .. } = *attribution;
    let (gain, steps) = (attribution.throughput_gain, attribution.speed_up.mid);
    let ideal = attribution.bar(Cause::Ideal).map_or(0.0, |bar| bar.ms.mid);
    let lost = attribution.step_of_several.mid - ideal;
    let digits = decimals(attribution.step_of_several.mid);
    let decoding = match (gain / steps - 1.0).abs() > 0.01 {
        true => format!(" (decode only: {steps:.2}x)"),
        false => String::new(),
    };
    let slower = if steps <= 1.0 { ", NOT faster" } else { "" };
    let mut answer = vec![
        format!(
            "TP{tp} is {gain:.2}x TP{from}{slower}{decoding}: {lost:.digits$} ms lost per token."
        ),
        communication(attribution, digits),
    ];
    // One line where it fits.
    if answer.concat().chars().count() < 100 {
        answer = vec![answer.join(" ")];
    }
    // Nothing but the flags says which file is of which size.
    if gain < 1.0 && inputs.serve.iter().all(|(_, run)| run.tp.is_none()) {
        let other = gain.recip();
        answer.push(format!("If the two files are swapped, it is {other:.2}x."));
    }
    if let Some(sent) = &attribution.sent_of_few {
        answer.push(format!("At TP{from} it takes {} ms.", range(sent, digits)));
    }
    answer.extend(normal(inputs, attribution, digits));
    let rest = attribution.bar(Cause::Unexplained).map(|bar| bar.ms.mid);
    if let Some(over) = rest.map(|ms| -ms).filter(|over| *over > 0.05) {
        answer.push(format!(
            "Unexplained is below zero: the parts add up to {over:.digits$} ms more than was measured."
        ));
    }
    answer
}

/// What communication takes, by the evidence there is: a bound without a curve of this machine, and "main cause" only with one.
fn communication(attribution: &Attribution, digits: usize) -> String {
    let most = attribution.remainder.high;
    if let Some((by, left)) = attribution.misfit() {
        return format!(
            "All-reduce unknown: its times give {by:.digits$} ms, the step leaves {left:.digits$}."
        );
    }
    if attribution.claim == Claim::None {
        let (arms, alone) = (
            &attribution.free_links_by_arms,
            attribution.timed_alone_ms(),
        );
        return match (arms, alone) {
            (Some(free), _) => {
                let free = range(free, 2);
                format!("Free links would give {free}x, by the ablation.")
            }
            (None, Some(alone)) => format!(
                "All-reduce takes {alone:.digits$} ms by its own times, 0 to {most:.digits$} ms by the step."
            ),
            (None, None) => {
                format!("Communication at most {most:.digits$} ms, not distinguishable from zero.")
            }
        };
    }
    let bar = attribution.bar(Cause::Communication);
    let Some(bar) = bar.filter(|_| attribution.claim == Claim::Estimated) else {
        return format!("Communication at most {most:.digits$} ms. Not measured here.");
    };
    if attribution.is_measured() {
        let leading = attribution.leading().map(|of| of.cause);
        let main = match leading == Some(Cause::Communication) {
            true => ", the main cause",
            false => "",
        };
        return format!("Communication {} ms{main}.", range(&bar.ms, digits));
    }
    let by = match attribution.published_ms() {
        Some(_) => "published times",
        None => "the times given",
    };
    let about = bar.ms.mid;
    format!("Communication at most {most:.digits$} ms, about {about:.digits$} by {by}.")
}

/// Whether that is what such a machine does.
fn normal(inputs: &Inputs, attribution: &Attribution, digits: usize) -> Option<String> {
    if attribution.misfit().is_some() || inputs.tp == 1 {
        return None;
    }
    let unexplained = attribution.bar(Cause::Unexplained)?.ms;
    let verdict = match attribution.claim == Claim::Estimated {
        false if attribution.timed_alone_ms().is_some() => {
            "Its times fit into the step within their intervals.".to_owned()
        }
        false => "Whether that is normal cannot be said without the all-reduce's times.".to_owned(),
        true if unexplained.low > 0.0 => {
            let left = range(&unexplained, digits);
            format!("Not all explained: {left} ms have no known cause.")
        }
        true if attribution.is_measured() => {
            "Normal: the parts add up within their intervals.".to_owned()
        }
        true => "Normal by published times, grade D: the parts add up within their intervals."
            .to_owned(),
    };
    let why = match (inputs.peer_state(), inputs.known.mig) {
        (PeerState::Staged, _) => "Peer copies are staged",
        (PeerState::Denied, true) => "MIG instances have no peer access",
        (PeerState::Denied, false) => "These GPUs have no peer access",
        (PeerState::Direct | PeerState::Unprobed, _) => return Some(verdict),
    };
    Some(format!(
        "{verdict} {why}: all-reduce goes through host memory."
    ))
}

fn speed_ups(of: &Attribution) -> Block {
    let heads = format!("speed-up over TP{} | times, median (5% to 95%)", of.from);
    let rows = [
        ("decode only", Some(&of.speed_up)),
        ("if links were free", Some(&of.free_links)),
        ("if narrow GEMMs lost nothing", Some(&of.halved_gemms)),
        ("both: possible at this batch", of.possible.as_ref()),
    ];
    ranges(&heads, &rows)
}

fn of_collectives(attribution: &Attribution) -> Vec<Block> {
    let implied = attribution.implied.as_ref().map(|of| {
        let (size, us) = (ByteCount(of.bytes_per_rank), range(&of.us, 1));
        Block::Paragraph(format!(
            "Were all that is left communication, each of {} all-reduces of {size} took {us} us.",
            of.count
        ))
    });
    let table = collectives(&attribution.collectives);
    implied.into_iter().chain([table]).collect()
}

fn shard(half: &HalfModel, tp: u32) -> Option<Section> {
    let above = format!("above 1/{tp} of TP1: GEMMs, replicated work, host");
    let below = format!("below TP{tp}: communication and executor");
    let rows = [
        ("step of the shard", Some(&half.step)),
        (&above, Some(&half.loss)),
        (&below, Some(&half.difference)),
        ("the same by curve or trace", half.by_curve.as_ref()),
    ];
    detail("Shard run on one GPU", vec![ranges("what | ms", &rows)])
}

fn asked(of: &WhatIf) -> String {
    let predicted = match &of.answer {
        Ok(predicted) => predicted,
        Err(reason) => return format!("With {}: {}.", of.asked, substitute(*reason)),
    };
    let (step, factor) = (range(&predicted.step_ms, 1), times(&predicted.speed_up));
    let bound = match predicted.taken_out {
        CommunicationFrom::Remainder => ", an upper figure",
        CommunicationFrom::Curve | CommunicationFrom::HalfModel => "",
    };
    let simulated = match &predicted.simulated {
        Some(name) => format!(", SIMULATED on {name}"),
        None => String::new(),
    };
    format!(
        "With {}: a decode step of {step} ms, {factor} TP1 while decoding{bound}{simulated}.",
        of.asked
    )
}

fn substitute(why: NoSubstitute) -> &'static str {
    match why {
        NoSubstitute::CommunicationUnknown => "communication today is unknown",
        NoSubstitute::NoCurve => "no curve of so many GPUs: give curve=FILE",
        NoSubstitute::CurveTooFar => "that curve ends too far from the model's sizes",
        NoSubstitute::LinkUnknown => "today's link is unknown: give link=OLD:NEW",
        NoSubstitute::Same => "these GPUs have it already",
    }
}
