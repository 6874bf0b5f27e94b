//! An explanation as a document: what is lost, whether that is normal, why, what now.

use ::explain::{
    Attribution, Cause, Claim, CommunicationFrom, Explanation, HalfModel, Inputs, NoSubstitute,
    Outcome, PeerState, PriorShare, WhatIf,
};
use record::unit::ByteCount;
use view::{Block, Document, Next, Section, Tone};

use super::advice;
use super::bars::{
    collectives, decimals, detail, frame, inputs, parts, priors, range, step, table, times, tone,
};
use super::finding::{grouped, refused, remedy};
use super::slope;
use crate::explain::curves::{curves, marks};

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
            document.tone = tone(attribution.is_measured());
            document.answer = answer(of, attribution);
            document.answer.extend(what_if.iter().map(asked));
            let (findings, notes) = grouped(&attribution.caveats);
            document.findings = findings;
            document.next = advice::next(advice, next, !attribution.is_measured());
            let of_one = (attribution.from, attribution.step_of_one);
            let of_several = (attribution.tp, attribution.step_of_several);
            document.sections.push(Section::new(
                "A decode step",
                vec![step(of_one, &attribution.bars, of_several)],
            ));
            let bars = attribution.bars.iter().chain(&attribution.communication);
            let parts = parts(bars, of_several.1.mid);
            let of_sections = [
                detail("What the bars rest on", vec![parts, speed_ups(attribution)]),
                detail("Collectives of a step", of_collectives(of, attribution)),
                attribution
                    .half
                    .as_ref()
                    .and_then(|half| shard(half, attribution)),
                explanation.slope.as_ref().map(slope::section),
                notes,
                priors(&attribution.priors),
            ];
            document.sections.extend(of_sections.into_iter().flatten());
        }
        Outcome::Refused { refusal } => {
            document.tone = Tone::Bad;
            let notes = refused(&mut document, "No answer", refusal, &explanation.findings);
            let first = refusal.reasons.iter().take(1);
            document.next = first.map(|of| Next::plain(remedy(of))).collect();
            let drawn = detail("Collectives", curves(of, None).into_iter().collect());
            let of_slope = explanation.slope.as_ref().map(slope::section);
            document
                .sections
                .extend([drawn, of_slope, notes].into_iter().flatten());
        }
    }
    document
        .answer
        .extend(explanation.slope.as_ref().map(slope::sentence));
    document.answer.extend(explanation.notes.iter().cloned());
    document.sections.extend(inputs(&explanation.inputs));
    document
}

fn ms(attribution: &Attribution, cause: Cause) -> f64 {
    attribution.bar(cause).map_or(0.0, |bar| bar.ms.mid)
}

fn answer(inputs: &Inputs, attribution: &Attribution) -> Vec<String> {
    let (tp, gain, steps) = (
        attribution.tp,
        attribution.throughput_gain,
        attribution.speed_up.mid,
    );
    let from = attribution.from;
    let lost = attribution.step_of_several.mid - ms(attribution, Cause::Ideal);
    let digits = decimals(attribution.step_of_several.mid);
    let decoding = match (gain / steps - 1.0).abs() > 0.05 {
        true => format!(" ({steps:.2}x while decoding)"),
        false => String::new(),
    };
    let slower = if steps <= 1.0 { ", NOT faster" } else { "" };
    let what = communication(attribution, digits);
    let first = format!(
        "TP{tp} is {gain:.2}x TP{from}{slower}{decoding}: {lost:.digits$} ms lost per token."
    );
    // One line where it fits.
    let mut answer = match first.chars().count() + what.chars().count() < 100 {
        true => vec![format!("{first} {what}")],
        false => vec![first, what],
    };
    // Nothing but the flags says which file is of which size.
    if gain < 1.0 && inputs.serve.iter().all(|(_, run)| run.tp.is_none()) {
        let other = gain.recip();
        answer.push(format!("If the two files are swapped, it is {other:.2}x."));
    }
    answer.extend(
        attribution
            .sent_of_few
            .map(|sent| format!("At TP{from} it takes {} ms.", range(&sent, digits))),
    );
    answer.extend(normal(inputs, attribution, digits));
    answer.extend(main_uncertainty(attribution));
    answer
}

/// What communication takes, by the evidence there is: a bound without a curve of this machine, and "main cause" only with one.
fn communication(attribution: &Attribution, digits: usize) -> String {
    let most = attribution.remainder.high;
    if let Some(misfit) = &attribution.misfit {
        let (by, left) = (misfit.by_curve.mid, misfit.left.mid);
        return format!(
            "All-reduce unknown: its times give {by:.digits$} ms, the step leaves {left:.digits$}."
        );
    }
    let bar = attribution
        .bar(Cause::Communication)
        .filter(|_| attribution.claim == Claim::Estimated);
    match (bar, attribution.claim) {
        (_, Claim::None) => match &attribution.free_links_by_arms {
            Some(free) => format!(
                "Free links would give {}x, by the ablation.",
                range(free, 2)
            ),
            None => match attribution.timed_alone_ms() {
                Some(alone) => format!(
                    "All-reduce takes {alone:.digits$} ms by its own times, 0 to {most:.digits$} ms by the step."
                ),
                None => format!(
                    "Communication at most {most:.digits$} ms, not distinguishable from zero."
                ),
            },
        },
        (Some(bar), _) if attribution.is_measured() => {
            let leads = attribution
                .leading()
                .is_some_and(|of| of.cause == Cause::Communication);
            let main = if leads { ", the main cause" } else { "" };
            let what = match attribution.bar(Cause::AllGather) {
                Some(_) => "All-reduce and all-gather",
                None => "All-reduce",
            };
            format!("{what} {} ms{main}.", range(&bar.ms, digits))
        }
        (Some(bar), _) => {
            let by = match attribution.published_ms() {
                Some(_) => "published times",
                None => "the times given",
            };
            format!(
                "Communication at most {most:.digits$} ms, about {:.digits$} by {by}.",
                bar.ms.mid
            )
        }
        (None, _) => format!("Communication at most {most:.digits$} ms. Not measured here."),
    }
}

/// Whether that is what such a machine does.
fn normal(inputs: &Inputs, attribution: &Attribution, digits: usize) -> Option<String> {
    if attribution.misfit.is_some() {
        return None;
    }
    let unexplained = attribution.bar(Cause::Unexplained)?.ms;
    let is_bound = attribution.claim != Claim::Estimated;
    let path = match inputs.peer_state() {
        _ if inputs.tp == 1 => return None,
        PeerState::Denied if inputs.known.mig => {
            "MIG GPUs cannot reach each other: all-reduce goes through host memory."
        }
        PeerState::Denied => "These GPUs have no peer access: all-reduce goes through host memory.",
        PeerState::Staged => "Peer copies are staged: all-reduce goes through host memory.",
        PeerState::Direct | PeerState::Unprobed => "",
    };
    let verdict = match (is_bound, unexplained.low > 0.0) {
        (true, _) if attribution.timed_alone_ms().is_some() => {
            "Its times fit into the step within their intervals.".to_owned()
        }
        (true, _) => {
            "Whether that is normal cannot be said without the all-reduce's times.".to_owned()
        }
        (false, true) => format!(
            "Not all explained: {} ms have no known cause.",
            range(&unexplained, digits)
        ),
        (false, false) => match attribution.is_measured() {
            true => "Normal: the parts add up to the step within their intervals.".to_owned(),
            false => "Normal by published times, grade D: the parts add up to the step.".to_owned(),
        },
    };
    let is_normal = !is_bound && unexplained.low <= 0.0;
    Some(match (is_normal, path.is_empty()) {
        (true, false) => match attribution.is_measured() {
            true => format!("Normal here. {path}"),
            false => format!("Normal by published times, grade D. {path}"),
        },
        (_, true) => verdict,
        (false, false) => format!("{verdict} {path}"),
    })
}

/// The one prior that most of the interval comes from.
fn main_uncertainty(attribution: &Attribution) -> Option<String> {
    let of = |share: &PriorShare| share.of_communication.unwrap_or(share.of_remainder);
    let most = attribution
        .prior_shares
        .iter()
        .max_by(|a, b| of(a).total_cmp(&of(b)))?;
    let what = if most.of_communication.is_some() {
        "communication"
    } else {
        "the unexplained part"
    };
    let share = of(most);
    (share >= 0.5).then(|| {
        format!(
            "Main uncertainty of {what}: {} ({:.0}%).",
            named(&most.name),
            share * 100.0
        )
    })
}

fn named(prior: &str) -> String {
    match prior {
        "gemm_speedup" => "GEMM speed-up".to_owned(),
        "transfer_staged" | "transfer_peer" | "transfer_unprobed" => {
            "whether published times hold here".to_owned()
        }
        "exposed" => "overlap with other work".to_owned(),
        "in_situ" | "in_situ_interleaved" => "the step from bench to engine".to_owned(),
        "in_trace" => "the trace's own error".to_owned(),
        "prefill_tflops" | "prefix_cache_share" => "the assumed prefill".to_owned(),
        other => other.replace('_', " "),
    }
}

fn speed_ups(attribution: &Attribution) -> Block {
    let row = |what: &str, of: &::explain::Range| [what.to_owned(), range(of, 2)];
    let mut rows = vec![
        row("a decode step", &attribution.speed_up),
        row("if links were free", &attribution.free_links),
        row("if narrow GEMMs lost nothing", &attribution.halved_gemms),
    ];
    rows.extend(
        attribution
            .possible
            .iter()
            .map(|of| row("both: possible at this batch", of)),
    );
    let over = format!("speed-up over TP{}", attribution.from);
    table([&over, "times, median (5% to 95%)"], rows)
}

fn of_collectives(inputs: &Inputs, attribution: &Attribution) -> Vec<Block> {
    let mut blocks = Vec::new();
    if let Some(of) = &attribution.implied {
        let size = ByteCount(of.bytes_per_rank);
        let us = range(&of.us, 1);
        blocks.push(Block::Paragraph(format!(
            "Were all that is left communication, each of {} all-reduces of {size} took {us} us.",
            of.count
        )));
    }
    blocks.extend(curves(inputs, Some(marks(attribution))));
    blocks.push(collectives(&attribution.collectives));
    blocks
}

fn shard(half: &HalfModel, attribution: &Attribution) -> Option<Section> {
    let tp = attribution.tp;
    let row = |what: String, of: &::explain::Range| [what, range(of, 2)];
    let mut rows = vec![
        row("step of the shard".to_owned(), &half.step),
        row(
            format!("above 1/{tp} of TP1: GEMMs, replicated work, host"),
            &half.loss,
        ),
        row(
            format!("below TP{tp}: communication and executor"),
            &half.difference,
        ),
    ];
    rows.extend(
        half.by_curve
            .iter()
            .map(|of| row("the same by curve or trace".to_owned(), of)),
    );
    detail("Shard run on one GPU", vec![table(["what", "ms"], rows)])
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
        "With {}: a step of {step} ms, {factor} TP1{bound}{simulated}.",
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
