//! A line for each finding, grouped: those that lower the grade first, what was only assumed as notes.

use ::explain::{Condition, Finding, Refusal};
use record::unit::ByteCount;
use view::{Block, Document, Item, Next, Section, Tone, codes};

use super::bars::detail;

/// Steps with prompts beyond this part make the times.
const MOSTLY: f64 = 0.5;

/// Findings for the screen at most; the others stand behind `-v`.
const SHOWN: usize = 6;

/// The findings that lower a grade or refuse, one line a kind, and the section of all others.
pub(super) fn grouped(findings: &[Finding]) -> (Vec<Item>, Option<Section>) {
    let mut kinds: Vec<(&Finding, Vec<&str>)> = Vec::new();
    for finding in findings {
        let run = run(finding);
        let is_known = kinds.iter().any(|(first, _)| *first == finding);
        let same = |first: &Finding| first.code() == finding.code() && !is_single(first);
        match kinds.iter_mut().find(|(first, _)| same(first)) {
            _ if is_known => {}
            Some((_, runs)) => runs.extend(run),
            None => kinds.push((finding, run.into_iter().collect())),
        }
    }
    let item = |(finding, runs): &(&Finding, Vec<&str>)| {
        let of = match runs.is_empty() {
            true => String::new(),
            false => format!("{}: ", runs.join(", ")),
        };
        let tone = match is_weighty(finding) {
            true if finding.refuses() => Tone::Bad,
            true => Tone::Warning,
            false => Tone::Open,
        };
        Item::of(tone, format!("{of}{}", words(finding))).coded(finding.code())
    };
    let (weighty, notes): (Vec<_>, Vec<_>) =
        kinds.iter().partition(|(finding, _)| is_weighty(finding));
    let mut shown: Vec<Item> = weighty.into_iter().map(item).collect();
    let mut rest = shown.split_off(shown.len().min(SHOWN));
    rest.extend(notes.into_iter().map(item));
    if !rest.is_empty() {
        let notes = if rest.len() == 1 {
            "1 note".to_owned()
        } else {
            format!("{} notes", rest.len())
        };
        shown.push(Item::plain(format!(
            "{notes} on inputs and assumptions (-v)."
        )));
    }
    (
        shown,
        detail("Notes on inputs and assumptions", vec![Block::List(rest)]),
    )
}

/// Whether a finding stands on the screen: it refuses, lowers a grade, or says that nothing of a curve that was given counts.
fn is_weighty(finding: &Finding) -> bool {
    let is_whole = matches!(finding, Finding::CurveLeftOut { points, of } if points == of);
    is_whole || finding.refuses() || finding.caps().is_some()
}

/// Says what stands against an answer and what to do about it, and gives the section of the notes.
pub(super) fn refused(
    document: &mut Document,
    refusal: &Refusal,
    findings: &[Finding],
) -> Option<Section> {
    // What one run says by itself stands first, whatever it could be compared with.
    let prompts = findings
        .iter()
        .find(|of| matches!(of, Finding::PrefillInSteps { share, .. } if *share > MOSTLY));
    let told = prompts.map(|of| format!("Prompts set these times, not a link: {}", words(of)));
    document.answer.extend(told);
    if let Some(first) = refusal.reasons.first() {
        document.answer.push(format!("No answer: {}", words(first)));
        let todo = codes::todo(first.code()).into_iter();
        document.next = todo.map(|todo| Next::plain(raised(&todo))).collect();
    }
    let others = refusal.reasons.iter().skip(1);
    let beside = findings.iter().filter(|of| !refusal.reasons.contains(of));
    let all: Vec<Finding> = others.chain(beside).cloned().collect();
    let (shown, notes) = grouped(&all);
    document.findings = shown;
    notes
}

/// Kinds of which each one stands by itself.
fn is_single(finding: &Finding) -> bool {
    run(finding).is_none() || matches!(finding, Finding::FileDoubtful { .. })
}

fn run(finding: &Finding) -> Option<&str> {
    match finding {
        Finding::RequestsFailed { run, .. }
        | Finding::OpenLoop { run, .. }
        | Finding::InFlightOff { run, .. }
        | Finding::SeveralTokens { run, .. }
        | Finding::PrefillInSteps { run, .. }
        | Finding::OutputVaries { run, .. }
        | Finding::TimesDisagree { run, .. }
        | Finding::FileDoubtful { run, .. }
        | Finding::Throttled { run, .. }
        | Finding::ClocksNotWatched { run } => Some(run),
        _ => None,
    }
}

fn listed<T>(values: &[T], text: impl Fn(&T) -> String) -> String {
    values.iter().map(text).collect::<Vec<_>>().join(", ")
}

fn numbers(values: &[f64]) -> String {
    listed(values, |value| format!("{value:.1}"))
}

fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

/// The line of a finding, without the run that it is of.
pub(super) fn words(finding: &Finding) -> String {
    match finding {
        Finding::ModelDiffers { names } => format!("different models: {}.", names.join(", ")),
        Finding::BatchDiffers { in_flight } => {
            format!(
                "not the same batch: {} requests in flight.",
                numbers(in_flight)
            )
        }
        Finding::RequestsFailed { failed, of, .. } => format!("{failed} of {of} requests failed."),
        Finding::SimulatedMixed { origins } => {
            format!(
                "measured and simulated files are mixed: {}.",
                origins.join(", ")
            )
        }
        Finding::SizeMissing {
            tp, runs_of_one: 0, ..
        } if *tp > 1 => {
            format!("a result of one GPU is missing: serve TP1, too, or another size than TP{tp}.")
        }
        Finding::ConditionsDiffer { what, values } => {
            format!("{} differ: {}.", condition(*what), values.join(" and "))
        }
        Finding::OpenLoop {
            rate: Some(rate), ..
        } => format!("open loop at {rate} requests/s: the batch was not fixed."),
        Finding::InFlightOff { seen, asked, .. } => {
            format!("{seen:.1} requests in flight where {asked:.0} were asked for.")
        }
        Finding::SeveralTokens {
            tokens: Some(tokens),
            ..
        } => format!("{tokens:.2} tokens a chunk: a gap is not one step."),
        Finding::PrefillInSteps { share, .. } => {
            format!("at least {} of the steps hold prefill.", percent(*share))
        }
        Finding::LengthsDiffer { input, output } => {
            format!(
                "lengths differ: {} tokens in, {} out.",
                numbers(input),
                numbers(output)
            )
        }
        Finding::OutputVaries { mean, asked, .. } => match asked {
            Some(asked) => format!("{mean:.1} of {asked} output tokens on average."),
            None => format!("replies differ in length, {mean:.1} tokens on average."),
        },
        Finding::TimesDisagree {
            sum_ms, whole_ms, ..
        } => {
            format!("TTFT and TPOT add up to {sum_ms:.0} ms of {whole_ms:.0} ms latency.")
        }
        Finding::FileDoubtful { detail, .. } => format!("doubtful figure: {detail}."),
        Finding::Throttled {
            slowed,
            readings,
            reasons,
            ..
        } => {
            format!(
                "clocks held in {slowed} of {readings} readings ({}).",
                reasons.join(", ")
            )
        }
        Finding::ClocksDiffer { mhz } if !mhz.is_empty() => {
            format!("clocks differ: {} MHz.", numbers(mhz))
        }
        Finding::TransportDisagrees { bench, log } => {
            let of = |via: &Option<String>| via.clone().unwrap_or_else(|| "not stated".to_owned());
            let (bench, log) = (of(bench), of(log));
            format!("transport: {bench} by the bench, {log} by the server's log.")
        }
        Finding::WeightsTooLarge {
            weight_bytes,
            memory_bytes,
        } => format!(
            "{} of weights do not fit one GPU of {}.",
            ByteCount(*weight_bytes),
            ByteCount(*memory_bytes)
        ),
        Finding::StepTooShort { gb_per_s } => {
            format!("a step would read weights at {gb_per_s:.0} GB/s: check model and units.")
        }
        Finding::EngineDiffers {
            used,
            served,
            has_rules,
            ..
        } => match has_rules {
            true => format!("rules of {used}, files of {served}: give --engine {served}."),
            false => format!("rules of {used} stand in for {served}, which has none here."),
        },
        Finding::ShardOutOfBounds {
            shard_ms,
            part_ms,
            several_ms,
        } => {
            format!("shard step {shard_ms:.1} ms lies outside {part_ms:.1} to {several_ms:.1} ms.")
        }
        Finding::ShardDisagrees { left_ms, other_ms } => format!(
            "shard run leaves {left_ms:.1} ms for communication, another measurement says {other_ms:.1}."
        ),
        Finding::CollectiveTrouble { detail, more, .. } => match more {
            0 => format!("collectives: {detail}."),
            more => format!("collectives: {detail}; {more} more."),
        },
        Finding::CurveLeftOut { points, of } => format!(
            "{points} of {of} collective times left out: other ranks, ranks in host memory, or intervals that reach 0."
        ),
        Finding::CurveTooFar { ranks, bytes } => {
            format!(
                "the curve of {ranks} GPUs ends too far from {}.",
                listed(bytes, |size| ByteCount(*size).to_string())
            )
        }
        Finding::CurveMode { timed, wanted } => {
            let timed =
                timed.map_or_else(|| "an unstated mode".to_owned(), |mode| mode.to_string());
            let wanted = listed(wanted, ToString::to_string);
            format!("collectives timed in {timed}, the engine runs {wanted}.")
        }
        Finding::CurveByFormula { gb_per_s } => {
            format!("all-reduce worked out from {gb_per_s:.1} GB/s a link, not measured.")
        }
        Finding::CurveTooSlow {
            by_curve_ms,
            left_ms,
        } => {
            format!("collectives would take {by_curve_ms:.1} ms and the step leaves {left_ms:.1}.")
        }
        Finding::TraceDoubtful { calls } => {
            format!("{calls:.0} traced all-reduces are no whole steps of this plan.")
        }
        Finding::StepHoldsPrompts {
            most_ms: Some(most),
            ..
        } => format!("up to {most:.2} ms of the step may be other requests' prompts."),
        Finding::StepByMedian { left_out_ms, of_ms } => format!(
            "step from the median gap: {left_out_ms:.2} of {of_ms:.2} ms with prompts left out."
        ),
        Finding::LaunchesDiffer {
            tp,
            least_ms,
            most_ms,
            launches,
        } => format!(
            "{launches} launches of TP{tp} differ: {least_ms:.1} to {most_ms:.1} ms a step."
        ),
        Finding::Assumed { detail } => format!("assumed: {detail}."),
        Finding::CacheTight { tp, holds, batch } => {
            format!("TP{tp}: the cache may hold {holds} of {batch} sequences.")
        }
        _ => lowered(codes::line(finding.code())),
    }
}

fn raised(sentence: &str) -> String {
    let mut rest = sentence.chars();
    let first = rest.next().into_iter().flat_map(char::to_uppercase);
    first.chain(rest).collect()
}

/// A sentence as it goes on after a colon.
fn lowered(line: &str) -> String {
    let mut rest = line.chars();
    match rest.next() {
        Some(first) if !line[first.len_utf8()..].starts_with(char::is_uppercase) => {
            first.to_lowercase().chain(rest).collect()
        }
        _ => line.to_owned(),
    }
}

fn condition(of: Condition) -> &'static str {
    match of {
        Condition::Engine => "engines",
        Condition::Host => "machines",
        Condition::Gpus => "GPUs",
        Condition::Quantisation => "weight formats",
        Condition::Machine => "simulated machines",
        Condition::Version => "engine versions",
        Condition::Data => "data sets",
        Condition::Seed => "seeds",
        Condition::Flags => "launch flags",
    }
}
