//! A line for each finding, grouped: those that lower the grade first, what was only assumed as notes.

use ::explain::{Condition, Finding, Refusal};
use record::unit::ByteCount;
use serde_json::Value;
use view::{Block, Document, Item, Next, Section, Tone, codes};

use super::bars::detail;

/// Steps with prompts beyond this part make the times.
const MOSTLY: f64 = 0.5;

/// Findings for the screen at most; the others stand behind `-v`.
const SHOWN: usize = 6;

/// The findings that lower a grade or refuse, one line a kind, and the section of all others.
pub(super) fn grouped(findings: &[Finding]) -> (Vec<Item>, Option<Section>) {
    let kinds = by_words(findings);
    let item = |(finding, text): &(&Finding, String)| {
        let tone = match is_weighty(finding) {
            true if finding.refuses() => Tone::Bad,
            true => Tone::Warning,
            false => Tone::Open,
        };
        Item::of(tone, text.clone()).coded(finding.code())
    };
    let (weighty, notes): (Vec<_>, Vec<_>) =
        kinds.iter().partition(|(finding, _)| is_weighty(finding));
    let mut shown: Vec<Item> = weighty.into_iter().map(item).collect();
    let mut rest = shown.split_off(shown.len().min(SHOWN));
    rest.extend(notes.into_iter().map(item));
    if !rest.is_empty() {
        let notes = match rest.len() {
            1 => "1 note".to_owned(),
            many => format!("{many} notes"),
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

/// The findings with their lines, one for all runs of which it says the same.
fn by_words(findings: &[Finding]) -> Vec<(&Finding, String)> {
    let mut lines: Vec<(&Finding, String, Vec<&str>)> = Vec::new();
    for finding in findings {
        let (line, run) = (words(finding), run(finding));
        match lines.iter_mut().find(|(_, known, _)| *known == line) {
            Some((_, _, runs)) => runs.extend(run.filter(|run| !runs.contains(run))),
            None => lines.push((finding, line, run.into_iter().collect())),
        }
    }
    let lines = lines.into_iter();
    let named = lines.map(|(first, line, runs)| match runs.is_empty() {
        true => (first, line),
        false => (first, format!("{}: {line}", runs.join(", "))),
    });
    named.collect()
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
    let first = refusal.reasons.first().map(Finding::code);
    let (of_kind, others): (Vec<&Finding>, Vec<&Finding>) = refusal
        .reasons
        .iter()
        .partition(|of| Some(of.code()) == first);
    if let Some(code) = first {
        let told: Vec<String> = of_kind.into_iter().map(words).collect();
        let told = format!("No answer: {}", told.join(" "));
        document.answer.push(told);
        let todo = codes::todo(code).into_iter();
        document.next = todo.map(|todo| Next::plain(raised(&todo))).collect();
    }
    let beside = findings.iter().filter(|of| !refusal.reasons.contains(of));
    let all: Vec<Finding> = others.into_iter().chain(beside).cloned().collect();
    let (shown, notes) = grouped(&all);
    document.findings = shown;
    notes
}

fn run(finding: &Finding) -> Option<&str> {
    match finding {
        Finding::OpenLoop { run, .. }
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

/// The line of a finding, without the run that several may share.
pub(super) fn words(finding: &Finding) -> String {
    match finding {
        Finding::ModelDiffers { names } => format!("different models: {}.", names.join(", ")),
        Finding::BatchDiffers { in_flight } => {
            format!(
                "not the same batch: {} requests in flight.",
                numbers(in_flight)
            )
        }
        Finding::RequestsFailed { run, failed, of } => {
            format!("{failed} of {of} requests of {run} failed.")
        }
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
        Finding::PrefillInSteps { share, .. } => {
            format!("at least {} of the steps hold prefill.", percent(*share))
        }
        Finding::FileDoubtful { detail, .. } => format!("doubtful figure: {detail}."),
        Finding::EngineDiffers {
            used,
            served,
            has_rules,
            ..
        } => match has_rules {
            true => format!("rules of {used}, files of {served}: give --engine {served}."),
            false => format!("rules of {used} stand in for {served}, which has none here."),
        },
        Finding::CollectiveTrouble { detail, more, .. } => match more {
            0 => format!("collectives: {detail}."),
            more => format!("collectives: {detail}; {more} more."),
        },
        Finding::StepHoldsPrompts {
            most_ms: Some(most),
        } => format!("up to {most:.2} ms of the step may be other requests' prompts."),
        Finding::Assumed { detail } => format!("assumed: {detail}."),
        Finding::CacheTight { tp, holds, batch } => {
            format!("TP{tp}: the cache may hold {holds} of {batch} sequences.")
        }
        _ => line(finding),
    }
}

/// The line of its code, and behind it the numbers and names that it has.
fn line(finding: &Finding) -> String {
    let line = lowered(codes::line(finding.code()));
    let fields = match serde_json::to_value(finding) {
        Ok(Value::Object(fields)) => fields,
        _ => return line,
    };
    let fields = fields.iter();
    let fields = fields.filter(|(name, _)| !["code", "run"].contains(&name.as_str()));
    let told = fields.filter_map(|(name, value)| {
        let (value, name) = (shown(name, value)?, name.replace("gb_per_s", "GB/s"));
        let (what, unit) = match name.strip_suffix("_ms") {
            Some(what) => (what, " ms"),
            None => (name.as_str(), ""),
        };
        Some(format!("{} {value}{unit}", what.replace('_', " ")))
    });
    let told: Vec<String> = told.collect();
    match told.is_empty() {
        true => line,
        false => format!("{} ({}).", line.trim_end_matches('.'), told.join(", ")),
    }
}

fn shown(name: &str, value: &Value) -> Option<String> {
    match value {
        Value::Array(all) => {
            let all: Vec<String> = all.iter().filter_map(|one| shown(name, one)).collect();
            (!all.is_empty()).then(|| all.join(" and "))
        }
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(match (number.as_u64(), number.as_f64()?) {
            (Some(bytes), _) if name.ends_with("bytes") => ByteCount(bytes).to_string(),
            (Some(whole), _) => whole.to_string(),
            (None, part) if name == "share" => percent(part),
            (None, number) => format!("{number:.2}"),
        }),
        Value::Null | Value::Bool(_) | Value::Object(_) => None,
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
        Condition::Flags => "launch flags",
    }
}
