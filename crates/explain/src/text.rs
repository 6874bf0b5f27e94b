//! An explanation for the terminal: two sentences first, then the waterfall, then everything behind it.

use comfy_table::{CellAlignment, Table, presets};
use measure::unit::ByteCount;

use crate::advise::{Advice, Effect};
use crate::attribute::{Attribution, Bar, Cause, Claim, Grade, Implied, PriorShare, StepFrom};
use crate::explanation::{Explanation, Outcome};
use crate::gates::{Gate, Verdict};
use crate::next::NextStep;
use crate::range::Range;

/// What a cell shows where there is nothing to show.
const ABSENT: &str = "—";

/// The explanation as text; lines are not wrapped.
#[must_use]
pub fn text(explanation: &Explanation) -> String {
    let mut text = String::new();
    if let Some(soft) = &explanation.simulated {
        text.push_str(&format!(
            "SIMULATED on the soft box {soft}: no figure here is of real hardware\n\n"
        ));
    }
    for sentence in answer(explanation) {
        text.push_str(&format!("{sentence}\n"));
    }
    text.push('\n');
    match &explanation.outcome {
        Outcome::Attributed {
            attribution,
            advice,
            next,
            what_if,
        } => {
            text.push_str(&heading(explanation, Some(attribution.batch)));
            text.push_str(&waterfall(attribution, explanation.simulated.is_some()));
            text.push_str(&behind(attribution));
            text.push_str(&gates(&explanation.gates));
            text.push_str(&advised(advice));
            text.push_str(&list("what if", &in_words(what_if)));
            text.push_str(&measured_next(next));
            text.push_str(&list("reservations", &attribution.caveats));
            text.push_str(&list("taken as known", &priors(attribution)));
            text.push_str(&list(
                "what is taken as known makes of the width",
                &prior_shares(&attribution.prior_shares),
            ));
        }
        Outcome::Refused { .. } => {
            text.push_str(&heading(explanation, None));
            text.push_str(&still_told(explanation));
            text.push_str(&gates(&explanation.gates));
        }
    }
    if let Some(first) = &explanation.first_token {
        text.push_str(&list("time to first token", &[first.to_string()]));
    }
    let sources: Vec<String> = explanation
        .inputs
        .iter()
        .map(|source| format!("{}: {}", source.origin, source.taken))
        .collect();
    text.push_str(&list("inputs", &sources));
    // Names come from files of others; an escape sequence in one must not reach a terminal.
    text.replace(|c: char| c.is_control() && c != '\n', "\u{fffd}")
}

/// What a refused case still tells.
fn still_told(explanation: &Explanation) -> String {
    let said = explanation.bounded.iter();
    let said: Vec<String> = said.flat_map(crate::bounded::Bounded::sentences).collect();
    list("what this case still tells", &said)
}

/// The answer in two sentences: why, and what to do.
#[must_use]
pub fn answer(explanation: &Explanation) -> Vec<String> {
    match &explanation.outcome {
        Outcome::Attributed {
            attribution,
            advice,
            next,
            ..
        } => vec![why(attribution), remedy(advice, next)],
        Outcome::Refused { refusal } => {
            let failed = explanation
                .gates
                .iter()
                .filter(|gate| gate.verdict == Verdict::Failed);
            let run = failed
                .into_iter()
                .find_map(|gate| gate.what_to_run.as_deref());
            let run = run.unwrap_or("give results with a time per token or a latency");
            vec![
                format!("Nothing is attributed: {}.", refusal.reasons.join("; ")),
                format!("What to do first: {run}."),
            ]
        }
    }
}

/// Why it is not so many times as fast.
fn why(attribution: &Attribution) -> String {
    let tp = attribution.tp;
    let ideal = attribution.bar(Cause::Ideal).map_or(0.0, |bar| bar.ms.mid);
    let step = attribution.step_of_several.mid;
    let part = |cause, words: &str| {
        let bar = attribution.bar(cause);
        bar.map(|bar| format!("{words} {}", bar.ms.with_decimals(1)))
    };
    let communication = match (&attribution.claim, attribution.bar(Cause::Communication)) {
        (Claim::Estimated, Some(bar)) if bar.grade < Some(Grade::D) => {
            let by = measured_by(attribution, bar);
            let words = format!("communication by {by}");
            [
                part(Cause::Communication, &words),
                // What a half-width model leaves is communication, whether a curve explains it or not.
                part(Cause::Unexplained, "unexplained").filter(|_| attribution.half.is_none()),
            ]
        }
        (Claim::Estimated, Some(bar)) => [
            Some(format!(
                "communication perhaps {} and at most {:.1}",
                bar.ms.with_decimals(1),
                attribution.remainder.high.max(bar.ms.high)
            )),
            part(Cause::Unexplained, "unexplained"),
        ],
        (Claim::None { .. }, _) => [
            Some("communication that cannot be told from nothing".to_owned()),
            None,
        ],
        _ => [
            Some(format!(
                "communication at most {} (what is unexplained is in it)",
                attribution.remainder.with_decimals(1)
            )),
            None,
        ],
    };
    let [communication, unexplained] = communication;
    let parts: Vec<String> = [
        communication,
        part(Cause::NarrowGemm, "narrow GEMMs"),
        part(Cause::Unsharded, "work that never shards"),
        part(Cause::Host, "host"),
        unexplained,
    ]
    .into_iter()
    .flatten()
    .collect();
    let doubt = if attribution.speed_up.mid <= 1.0 {
        "SLOWER THAN ONE GPU (are the files mixed up?): "
    } else {
        ""
    };
    format!(
        "{doubt}TP{tp} gives {:.2}x the tokens per second of TP1 ({:.2}x a decode step), not {tp}x: a step takes {step:.1} ms where 1/{tp} of one GPU's would be \
         {ideal:.1}, and the {:.1} ms between are {} (ms, median [5%, 95%]).",
        attribution.throughput_gain,
        attribution.speed_up.mid,
        step - ideal,
        parts.join(", "),
    )
}

/// What measured communication, in words.
fn measured_by(attribution: &Attribution, bar: &Bar) -> &'static str {
    match (&attribution.half, bar.grade) {
        (Some(_), _) => "the half-width model",
        (None, Some(Grade::A)) => "a trace of the engine",
        (None, _) => "this box's own curve",
    }
}

fn remedy(advice: &[Advice], next: &[NextStep]) -> String {
    match (advice.first(), next.first()) {
        (Some(first), _) => {
            let brings = first.effect.as_ref().map_or(String::new(), |effect| {
                format!(" ({})", effect_in_words(effect))
            });
            format!("What to do: {}{brings}, because {}.", first.what, first.why)
        }
        (None, Some(step)) => format!("What to do: measure {}.", step.what),
        (None, None) => "What to do: nothing stands out.".to_owned(),
    }
}

fn effect_in_words(effect: &Effect) -> String {
    let bound = if effect.at_most { "at most " } else { "" };
    format!("{bound}{}x {}", effect.times.with_decimals(2), effect.of)
}

/// Model, sizes, engine, box and gates in a line.
#[must_use]
pub fn heading(explanation: &Explanation, batch: Option<u32>) -> String {
    let batch = batch.map_or(String::new(), |batch| format!(", {batch} in flight"));
    let or_unknown = |known: &Option<String>| known.clone().unwrap_or_else(|| "unknown".to_owned());
    let sizes = match explanation.tp {
        1 => "TP1".to_owned(),
        tp => format!("TP{tp} against TP1"),
    };
    let count = |verdict| {
        let gates = explanation.gates.iter();
        gates.filter(|gate| gate.verdict == verdict).count()
    };
    format!(
        "{}, {sizes}{batch}; {}; box {}, GPU {}; gates: {} passed, {} unknown, {} failed\n",
        explanation.model,
        or_unknown(&explanation.engine),
        or_unknown(&explanation.box_name),
        or_unknown(&explanation.gpu),
        count(Verdict::Passed),
        count(Verdict::Unknown),
        count(Verdict::Failed),
    )
}

fn waterfall(attribution: &Attribution, simulated: bool) -> String {
    let measured = match (simulated, attribution.step_from) {
        (true, _) => "simulated",
        (false, StepFrom::Latency) => "worked out",
        (false, StepFrom::DecodeGap | StepFrom::Tpot) => "measured",
    };
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_header(["ms a step", "median", "5%", "95%", "grade"]);
    let mut row = |name: String, ms: &Range, signed: bool, grade: String| {
        let number = |value: f64| match signed {
            true => format!("{value:+.1}"),
            false => format!("{value:.1}"),
        };
        table.add_row([name, number(ms.mid), number(ms.low), number(ms.high), grade]);
    };
    row(
        "step on one GPU".to_owned(),
        &attribution.step_of_one,
        false,
        measured.to_owned(),
    );
    for bar in &attribution.bars {
        let grade = match (bar.cause, bar.grade) {
            (_, Some(grade)) => grade.to_string(),
            (Cause::Ideal, None) => "arithmetic".to_owned(),
            (_, None) => ABSENT.to_owned(),
        };
        row(
            bar.cause.to_string(),
            &bar.ms,
            bar.cause != Cause::Ideal,
            grade,
        );
    }
    row(
        format!("step on {}", attribution.tp),
        &attribution.step_of_several,
        false,
        measured.to_owned(),
    );
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_cell_alignment(match index {
            0 | 4 => CellAlignment::Left,
            _ => CellAlignment::Right,
        });
    }
    let lines: Vec<String> = table
        .to_string()
        .lines()
        .map(|line| format!(" {}\n", line.trim_end()))
        .collect();
    let mut grades: Vec<Grade> = attribution
        .bars
        .iter()
        .filter_map(|bar| bar.grade)
        .collect();
    grades.sort_unstable();
    grades.dedup();
    let grades: Vec<String> = grades
        .iter()
        .map(|grade| format!("{grade}: {}", grade.meaning()))
        .collect();
    format!(
        "{} grade {}; medians of {} draws, which need not sum\n\n",
        lines.concat(),
        grades.join(", "),
        attribution.draws
    )
}

/// What the waterfall leads to.
fn behind(attribution: &Attribution) -> String {
    let mut text = format!(
        "step speed-up {}x; at most {}x if links were free\n",
        attribution.speed_up.with_decimals(2),
        attribution.free_links.with_decimals(2)
    );
    if let Some(possible) = &attribution.possible {
        text.push_str(&format!(
            "speed-up possible at this batch {}x: links free and GEMMs that lose nothing, so that only what never shards and the host are left\n",
            possible.with_decimals(2)
        ));
    }
    match &attribution.claim {
        Claim::Estimated => {}
        Claim::AtMost { reason } => text.push_str(&format!("no bar for communication: {reason}\n")),
        Claim::None { reason } => {
            text.push_str(&format!("no claim about communication: {reason}\n"));
        }
    }
    // Which curve in which mode the bar stands on.
    if let Some(bar) = attribution.bar(Cause::Communication) {
        text.push_str(&format!(
            "communication, all-reduce and all-gather together, {} ms ({}): {}\n",
            bar.ms.with_decimals(1),
            bar.grade.map_or(String::new(), |grade| grade.to_string()),
            bar.source
        ));
    }
    for line in half_width(attribution) {
        text.push_str(&format!("{line}\n"));
    }
    if let Some(line) = too_much(attribution) {
        text.push_str(&format!("{line}\n"));
    }
    if let Some(implied) = &attribution.implied {
        text.push_str(&implied_in_words(implied));
    }
    text.push('\n');
    text
}

/// How many draws sum to more than was measured, and what that means; `None` where it is none of them.
#[must_use]
pub fn too_much(attribution: &Attribution) -> Option<String> {
    let means = match attribution.drops_draws() {
        true => " and were dropped: the ranges fit at their lower ends",
        false => ": what is unexplained lies below zero there",
    };
    (attribution.impossible >= 0.005).then(|| {
        format!(
            "{:.0}% of the draws sum to more than was measured{means}",
            attribution.impossible * 100.0
        )
    })
}

/// What a half-width model measured, in sentences; empty where there is none.
#[must_use]
pub fn half_width(attribution: &Attribution) -> Vec<String> {
    let Some(half) = &attribution.half else {
        return Vec::new();
    };
    let tp = attribution.tp;
    let measured = format!(
        "half-width model: a step of {} ms, {} ms above 1/{tp} of TP1's (A: narrow GEMMs, never sharded and host together) and {} ms below TP{tp}'s (A: communication and executor)",
        half.step.with_decimals(1),
        half.loss.with_decimals(1),
        half.difference.with_decimals(1),
    );
    [Some(measured), half.in_words()]
        .into_iter()
        .flatten()
        .collect()
}

fn implied_in_words(implied: &Implied) -> String {
    let mut text = format!(
        "one all-reduce of {} ({} a step) takes at most {} us\n",
        ByteCount(implied.bytes_per_rank),
        implied.count,
        implied.us.with_decimals(0)
    );
    for time in &implied.published {
        text.push_str(&format!(
            "   published {:.1} us, {} ({})\n",
            time.us, time.path, time.source
        ));
    }
    text
}

pub(crate) fn gates(gates: &[Gate]) -> String {
    let lines: Vec<String> = gates
        .iter()
        .map(|gate| {
            let mut line = format!("{}: {} ({})", gate.verdict, gate.name, gate.seen);
            if gate.verdict != Verdict::Passed {
                line.push_str(&format!("; needed: {}", gate.needed));
            }
            if let Some(run) = &gate.what_to_run {
                line.push_str(&format!("; {run}"));
            }
            line
        })
        .collect();
    list("gates", &lines)
}

fn in_words<T: ToString>(items: &[T]) -> Vec<String> {
    items.iter().map(ToString::to_string).collect()
}

fn advised(advice: &[Advice]) -> String {
    let lines: Vec<String> = advice.iter().map(ToString::to_string).collect();
    list("what to do", &lines)
}

impl std::fmt::Display for Advice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let effect = self
            .effect
            .as_ref()
            .map_or("no figure".to_owned(), effect_in_words);
        write!(
            f,
            "{}: {}; {effect} [{}]",
            self.what, self.why, self.based_on
        )?;
        match &self.prove {
            Some(command) => write!(f, "; to see it: {command}"),
            None => Ok(()),
        }
    }
}

fn measured_next(next: &[NextStep]) -> String {
    let lines: Vec<String> = next.iter().map(ToString::to_string).collect();
    list("what to measure next", &lines)
}

impl std::fmt::Display for NextStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} (", self.what, self.how)?;
        match self.narrows {
            Some(narrows) => write!(
                f,
                "settles {:.0}% of the variance of communication as reported: from {:.1} to about {:.1} ms between 5% and 95%",
                narrows.share * 100.0,
                narrows.now_ms,
                narrows.after_ms
            )?,
            None => f.write_str(
                "gives communication a figure of its own beside the one that is reported",
            )?,
        }
        if let Some(minutes) = self.minutes {
            write!(f, "; about {minutes:.0} minutes")?;
        }
        f.write_str(")")
    }
}

fn priors(attribution: &Attribution) -> Vec<String> {
    attribution.priors.iter().map(ToString::to_string).collect()
}

/// Less than this part of both widths is not worth a line.
const LITTLE: f64 = 0.02;

/// What each prior makes of the variance of communication and of what bounds it, a line each.
#[must_use]
pub fn prior_shares(shares: &[PriorShare]) -> Vec<String> {
    let percent = |share: f64| format!("{:.0}%", share * 100.0);
    let is_much = |share: &&PriorShare| {
        share
            .of_remainder
            .max(share.of_communication.unwrap_or(0.0))
            >= LITTLE
    };
    let line = |share: &PriorShare| {
        let of_communication = share.of_communication.map_or(ABSENT.to_owned(), percent);
        format!(
            "{}: {of_communication} of the variance of communication, {} of that of communication and unexplained together, and so of the implied all-reduce",
            share.name,
            percent(share.of_remainder)
        )
    };
    shares.iter().filter(is_much).map(line).collect()
}

pub(crate) fn list(title: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = lines.iter().map(|line| format!(" - {line}\n")).collect();
    format!("{title}\n{}\n", lines.concat())
}
