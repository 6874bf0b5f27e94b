//! A line for each finding, grouped: those that lower the grade first, what was only assumed as notes.

use ::explain::{Finding, Refusal};
use serde_json::Value;
use view::{Block, Document, Item, Next, Section, Tone, codes};

use super::bars::{beside, detail, fields};

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
        let more = format!("{} more on inputs and assumptions (-v).", rest.len());
        shown.push(Item::plain(more));
    }
    (
        shown,
        detail("Notes on inputs and assumptions", vec![Block::List(rest)]),
    )
}

/// The findings with their lines, one for all runs of which it says the same.
fn by_words(findings: &[Finding]) -> Vec<(&Finding, String)> {
    let mut lines: Vec<(&Finding, String, Vec<String>)> = Vec::new();
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
    let (first, others): (Vec<Finding>, Vec<Finding>) = refusal
        .reasons
        .iter()
        .cloned()
        .partition(|of| Some(of.code()) == refusal.reasons.first().map(Finding::code));
    let told: Vec<String> = by_words(&first).into_iter().map(|(_, line)| line).collect();
    if let Some(first) = first.first() {
        document
            .answer
            .push(format!("No answer: {}", told.join(" ")));
        let todo = codes::todo(first.code()).into_iter();
        document.next = todo.map(|todo| Next::plain(raised(&todo))).collect();
    }
    let beside = findings.iter().filter(|of| !refusal.reasons.contains(of));
    let all: Vec<Finding> = others.into_iter().chain(beside.cloned()).collect();
    let (shown, notes) = grouped(&all);
    document.findings = shown;
    notes
}

fn run(finding: &Finding) -> Option<String> {
    let (_, fields) = fields(finding);
    fields.get("run")?.as_str().map(str::to_owned)
}

/// The line of a finding's code, without the run that it is of, and behind it the numbers and names that it has.
fn words(finding: &Finding) -> String {
    match finding {
        Finding::SizeMissing {
            tp, runs_of_one: 0, ..
        } if *tp > 1 => {
            return format!(
                "A result of one GPU is missing: serve TP1, too, or another size than TP{tp}."
            );
        }
        Finding::EngineDiffers {
            used,
            served,
            has_rules: true,
            ..
        } => return format!("Rules of {used}, files of {served}: give --engine {served}."),
        _ => {}
    }
    let (code, mut fields) = fields(finding);
    fields.remove("run");
    let mut line = codes::line(&code).trim_end_matches('.').to_owned();
    if let Some(Value::String(detail)) = fields.remove("detail") {
        line += &format!(": {detail}");
    }
    format!("{}.", beside(&line, &fields))
}

fn raised(sentence: &str) -> String {
    let mut rest = sentence.chars();
    let first = rest.next().into_iter().flat_map(char::to_uppercase);
    first.chain(rest).collect()
}
