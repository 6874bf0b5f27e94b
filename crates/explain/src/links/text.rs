//! A comparison of two links for the terminal: two sentences first, then the figures, then everything behind them.

use measure::unit::ByteCount;

use super::result::{Difference, LinkComparison, LinkFigures, LinkOutcome, TimeOf, WireDifference};
use super::verdict::{LinkVerdict, MIXED_UP};
use crate::attribute::{Refusal, StepFrom};
use crate::range::Range;
use crate::text::{Topic, gates, lines, list};
use crate::words::{ABSENT, first_reasons, inputs, simulated, warned, what_to_run_first};

/// The comparison as text; lines are not wrapped.
#[must_use]
pub fn links_text(comparison: &LinkComparison) -> String {
    let mut text = simulated(comparison.simulated.as_deref());
    for sentence in links_answer(comparison) {
        text.push_str(&format!("{sentence}\n"));
    }
    let judged = matches!(comparison.outcome, LinkOutcome::Compared { .. });
    text.push_str(&warned(judged, &comparison.gates));
    text.push_str(&format!("\n{}\n", links_heading(comparison)));
    if let LinkOutcome::Compared { figures } = &comparison.outcome {
        for difference in figures.decode.iter().chain(&figures.first_token) {
            text.push_str(&table(comparison, difference));
        }
        text.push_str(&list(
            "what bytes over the wire make of it (no latency in it)",
            &lines(&figures.wire),
        ));
        text.push_str(&list("not judged", &figures.not_judged));
        text.push_str(&list(
            "what else differs between the sides",
            &figures.confounders,
        ));
        text.push_str(&list(Topic::ToMeasure.title(), &figures.next));
        text.push_str(&gates(&comparison.gates));
        text.push_str(&list(Topic::Reservations.title(), &figures.caveats));
        text.push_str(&list(Topic::TakenAsKnown.title(), &lines(&figures.priors)));
    } else {
        text.push_str(&gates(&comparison.gates));
    }
    text.push_str(&inputs(&comparison.inputs));
    text
}

/// What was compared, in a line.
#[must_use]
pub fn links_heading(comparison: &LinkComparison) -> String {
    let side = |facts: &super::result::SideFacts| {
        let link = facts.link.as_ref();
        let link = link.map_or("link not known".to_owned(), ToString::to_string);
        let place = facts.box_name.as_deref().unwrap_or("box not known");
        format!(
            "{}: {link}, peer access {}, {place}, {}, {} curve points",
            facts.name,
            facts.peer,
            runs(facts.runs.len()),
            facts.curve_points
        )
    };
    let engine = comparison.a.engine.as_deref().unwrap_or("engine unknown");
    format!(
        "{} at TP{} on two links; {engine}\n {}\n {}\n",
        comparison.model,
        comparison.tp,
        side(&comparison.a),
        side(&comparison.b)
    )
}

/// The answer in two sentences: what differs and why, and what to do next.
#[must_use]
pub fn links_answer(comparison: &LinkComparison) -> Vec<String> {
    let figures = match &comparison.outcome {
        LinkOutcome::Compared { figures } => figures,
        LinkOutcome::Refused { refusal } => {
            return vec![
                format!(
                    "Nothing can be said of the links yet: {}.",
                    first_reasons(&refusal.reasons)
                ),
                what_to_run_first(&comparison.gates, otherwise(&refusal.reasons)),
            ];
        }
    };
    let parts: Vec<String> = [&figures.decode, &figures.first_token]
        .into_iter()
        .flatten()
        .map(|difference| sentence(comparison, figures, difference))
        .collect();
    let next = match figures.next.first() {
        Some(next) => format!("What to measure next: {next}."),
        None => "What to do: nothing is left to tell; what-if on a curve says what another link would bring.".to_owned(),
    };
    vec![format!("{}.", parts.join(". ")), next]
}

/// What to do where no gate asks for anything.
fn otherwise(reasons: &[String]) -> &'static str {
    match reasons.iter().any(|reason| reason.contains(MIXED_UP)) {
        true => {
            "look which curve was measured on which side, and give it with --allreduce-a or --allreduce-b"
        }
        false => {
            Refusal::of_unit(reasons).unwrap_or("give results with a time per token of a stream")
        }
    }
}

/// The finding in plain words, which the figures follow.
fn finding(comparison: &LinkComparison, verdict: &LinkVerdict) -> &'static str {
    let one_gpu = comparison.tp == 1;
    match verdict {
        LinkVerdict::ExplainedByLink => "The link explains the difference",
        LinkVerdict::MoreThanLink { .. } if one_gpu => "Something beside the link differs",
        LinkVerdict::MoreThanLink { .. } => "The link explains only a part of the difference",
        LinkVerdict::LessThanLink { .. } => "The slower link costs less than it should",
        LinkVerdict::NoDifference => "The two links make no difference here",
        LinkVerdict::CannotShow { .. } => {
            "These runs are too rough to show what the two links differ by"
        }
        LinkVerdict::MoreThanBytes { .. } => "The link alone cannot explain the difference",
        LinkVerdict::LessThanBytes { .. } => "The files contradict each other",
        LinkVerdict::LinkCould { .. } => {
            "The link could explain the difference, and is not proven to"
        }
        LinkVerdict::AgainstLink => "The link does not explain the difference",
        LinkVerdict::NotTold { .. } => "Nothing can be said of the link",
    }
}

fn name(of: &Difference) -> &'static str {
    match (of.of, of.step_from) {
        (TimeOf::DecodeStep, Some(StepFrom::Latency)) => "an output token, prompts included,",
        (TimeOf::DecodeStep, _) => "a decode step",
        (TimeOf::FirstToken, _) => "the first token",
        (TimeOf::WholeRun, _) => "all prompts",
    }
}

/// The side that takes longer; `None` where none is told to.
fn longer<'a>(comparison: &'a LinkComparison, of: &Difference) -> Option<&'a str> {
    let is_a = of.is_longer_on_a()?;
    let side = if is_a { &comparison.a } else { &comparison.b };
    Some(&side.name)
}

/// How much longer on the side that takes longer, or how little is told. What is told from nothing takes its own side; what
/// is not keeps its sign, on the side where the measured time is longer.
fn apart(comparison: &LinkComparison, of: &Difference, b_less_a: &Range, unit: &str) -> String {
    let on_a = match b_less_a.is_told() {
        true => Some(b_less_a.mid < 0.0),
        false => of.is_longer_on_a(),
    };
    let (a, b) = (&comparison.a.name, &comparison.b.name);
    match on_a {
        Some(true) => format!("{}{unit} longer on {a}", b_less_a.turned().with_decimals(2)),
        Some(false) => format!("{}{unit} longer on {b}", b_less_a.with_decimals(2)),
        None => format!("{b} less {a} {}{unit}", b_less_a.with_decimals(2)),
    }
}

fn sentence(comparison: &LinkComparison, figures: &LinkFigures, of: &Difference) -> String {
    let (a, b) = (&comparison.a.name, &comparison.b.name);
    let takes = format!(
        "{} takes {:.2} ms on {b} and {:.2} ms on {a}, {}",
        name(of),
        of.b.mid,
        of.a.mid,
        apart(comparison, of, &of.measured, " ms")
    );
    // Of three intervals the table has the third.
    let has_own = matches!(
        of.verdict,
        LinkVerdict::MoreThanLink { .. } | LinkVerdict::LessThanLink { .. }
    );
    let predicted = of.predicted.as_ref().filter(|_| !has_own);
    let by_curves = predicted.map_or(String::new(), |by| {
        format!(
            " (collectives by the two curves: {})",
            apart(comparison, of, &by.difference, " ms")
        )
    });
    let one_gpu = comparison.tp == 1;
    let why = match &of.verdict {
        LinkVerdict::ExplainedByLink => "which the link explains".to_owned(),
        LinkVerdict::MoreThanLink { .. } if one_gpu => {
            "though one GPU sends nothing: something beside the link between GPUs differs (host, NUMA node, clocks), and a comparison of several GPUs on these two is not clean".to_owned()
        }
        LinkVerdict::MoreThanLink { beyond } => format!(
            "{} ms more than the link explains: something else changed with it ({})",
            beyond.with_decimals(2),
            suspects(figures)
        ),
        LinkVerdict::LessThanLink { short } => format!(
            "{} ms less than the curves say: collectives are hidden behind other work, or the engine takes another path than the one that was timed",
            short.with_decimals(2)
        ),
        LinkVerdict::NoDifference if one_gpu => {
            "as it must be on one GPU: the negative control holds".to_owned()
        }
        LinkVerdict::NoDifference => "and the curves tell no difference either".to_owned(),
        LinkVerdict::CannotShow {
            most_ms,
            seen_from_ms,
        } => format!(
            "and cannot differ visibly: the two links make {most_ms:.3} ms at most, and these runs tell differences from {seen_from_ms:.2} ms on"
        ),
        LinkVerdict::MoreThanBytes { most_ms } => format!(
            "more than bytes over the two links can make ({most_ms:.3} ms at most, with what the library's protocol may carry beside a message): latency of another path, or something beside the link ({})",
            suspects(figures)
        ),
        LinkVerdict::LessThanBytes { least_ms, .. } => format!(
            "though bytes over the two links alone make {least_ms:.2} ms at least: LINKS AND RUNS CONTRADICT EACH OTHER (a link that is not as stated, collectives that are hidden behind other work, or an engine that sends less than planned)"
        ),
        LinkVerdict::LinkCould { doubt: None } => "which bytes over the two links could make; without curves of both it is not proven".to_owned(),
        LinkVerdict::LinkCould { doubt: Some(doubt) } => {
            format!("which could be the link, and is not proven: {doubt}")
        }
        // Where nobody said what the links are, only the curves do.
        LinkVerdict::AgainstLink if of.predicted.is_some() && figures.wire.is_empty() => format!(
            "though by the curves its link is the faster one: unless --allreduce-a and --allreduce-b are mixed up, it is not the link but something beside it ({})",
            suspects(figures)
        ),
        LinkVerdict::AgainstLink => format!(
            "though its link is the faster one: it is not the link but something beside it ({})",
            suspects(figures)
        ),
        LinkVerdict::NotTold { reason } => format!("of which nothing is claimed: {reason}"),
    };
    let finding = finding(comparison, &of.verdict);
    format!("{finding}: {takes}{by_curves}, {why}")
}

/// A rate in a unit that shows its digits.
fn rate_in_words(gb_per_s: f64) -> String {
    match gb_per_s {
        fast if fast >= 1.0 => format!("{fast:.1} GB/s"),
        slow if slow >= 1e-3 => format!("{:.1} MB/s", slow * 1e3),
        slowest => format!("{:.1} KB/s", slowest * 1e6),
    }
}

fn runs(n: usize) -> String {
    format!("{n} run{}", if n == 1 { "" } else { "s" })
}

fn suspects(figures: &LinkFigures) -> String {
    if figures.confounders.is_empty() {
        "host, NUMA node, clocks".to_owned()
    } else {
        figures.confounders.join("; ")
    }
}

fn table(comparison: &LinkComparison, of: &Difference) -> String {
    let mut text = format!("{}, ms, median [5%, 95%]\n", name(of).trim_end_matches(','));
    let how = match comparison.simulated {
        Some(_) => "simulated",
        None => of.how(),
    };
    let mut row = |what: String, ms: &Range, rests_on: String| {
        text.push_str(&format!(
            " {what:<28} {:>28}  {rests_on}\n",
            ms.with_decimals(2)
        ));
    };
    let rests = |n: usize| format!("{how}, n = {}", runs(n));
    row(comparison.a.name.clone(), &of.a, rests(of.runs_of_a));
    row(comparison.b.name.clone(), &of.b, rests(of.runs_of_b));
    let less = format!("{} less {}", comparison.b.name, comparison.a.name);
    row(less.clone(), &of.measured, how.to_owned());
    match &of.predicted {
        Some(by) => {
            let rests = format!("grade {}: {}", by.grade, by.grade.meaning());
            row(
                format!("collectives, {}", comparison.a.name),
                &by.a,
                rests.clone(),
            );
            row(
                format!("collectives, {}", comparison.b.name),
                &by.b,
                rests.clone(),
            );
            row(format!("{less}, predicted"), &by.difference, rests);
            row(
                "beyond the prediction".to_owned(),
                &by.beyond,
                format!("{how} less predicted"),
            );
            let effective = by
                .effective
                .as_ref()
                .map_or(ABSENT.to_owned(), |n| n.with_decimals(1));
            text.push_str(&format!(
                " effective all-reduces         {effective} of {} planned, by the curves as they are\n",
                by.planned
            ));
        }
        None => text
            .push_str(" no prediction: the curves do not tell both sides (see the reservations)\n"),
    }
    if let Some(needed) = &of.needed {
        let rate = needed.gb_per_s.zip(longer(comparison, of));
        let rate = rate.map_or_else(String::new, |(rate, side)| {
            format!(
                ", as if the link of {side} carried that message at {}",
                rate_in_words(rate)
            )
        });
        text.push_str(&format!(
            " were the link all of it, each of {} all-reduces ({}) would take {}{rate}\n",
            needed.count,
            ByteCount(needed.bytes_per_rank),
            apart(comparison, of, &needed.us, " us")
        ));
    }
    text.push('\n');
    text
}

impl std::fmt::Display for WireDifference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}: {} all-reduces{}, {} at least {:.2} against {:.2} us on the wire; all {} against {} ms, {} ms apart{}",
            self.words,
            self.count,
            match self.of {
                TimeOf::WholeRun => " each",
                TimeOf::DecodeStep | TimeOf::FirstToken => "",
            },
            ByteCount(self.bytes_per_rank),
            self.a.least_us,
            self.b.least_us,
            self.a.all_ms.with_decimals(3),
            self.b.all_ms.with_decimals(3),
            self.difference_ms.with_decimals(3),
            self.most_ms.map_or_else(String::new, |most| format!(
                ", {most:.3} at most with what the library's protocol may carry beside a message"
            ))
        )
    }
}

#[cfg(test)]
mod tests {
    use super::rate_in_words;

    #[test]
    fn no_rate_is_printed_as_nothing() {
        let told = [25.04, 3.46, 0.04, 0.000_02].map(rate_in_words);
        assert_eq!(told, ["25.0 GB/s", "3.5 GB/s", "40.0 MB/s", "20.0 KB/s"]);
    }
}
