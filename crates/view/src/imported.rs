//! What was found in a serving result of any client, as a line with its code.

use import::serve::Finding;

use crate::document::{Item, Tone};

/// The line of a finding.
#[must_use]
pub fn item(finding: &Finding) -> Item {
    let tone = match finding {
        _ if finding.is_contradiction() => Tone::Warning,
        Finding::ClientLimit { .. } | Finding::RequestsFailed { .. } => Tone::Warning,
        _ => Tone::Open,
    };
    Item::of(tone, words(finding)).coded(finding.code())
}

/// The sentence of a finding.
#[must_use]
pub fn words(finding: &Finding) -> String {
    match finding {
        Finding::ClientLimit { detail } => {
            format!("INVALID, the load generator was the limit: {detail}")
        }
        Finding::InFlightDiffers { asked, seen } => {
            format!("{seen:.1} requests in flight by Little's law, {asked} asked for")
        }
        Finding::MixedSteps {
            step_ms,
            mixed_part: Some(part),
        } => {
            format!(
                "{step_ms:.2} ms per token is no decode step: {:.0}% of tokens came beside a prefill",
                part * 100.0
            )
        }
        Finding::MixedSteps {
            step_ms,
            mixed_part: None,
        } => {
            format!(
                "{step_ms:.0} ms per token is no decode step: prefill went on through most of the run"
            )
        }
        Finding::SecondWave { mean_ms, median_ms } => {
            let median = median_ms.map_or_else(String::new, |of| format!(", median {of:.0}"));
            format!("TTFT mean {mean_ms:.0} ms{median}: requests waited for others")
        }
        Finding::BurstNotRate { offered, completed } => {
            format!(
                "{completed:.2} requests/s completed of {offered} offered: a burst, no sustained rate"
            )
        }
        Finding::LatencyAsTtft { ttft_ms } => {
            format!("What is called TTFT, {ttft_ms:.0} ms, is the whole latency: no TTFT")
        }
        Finding::InverseThroughput { tpot_ms } => {
            format!(
                "What is called TPOT, {tpot_ms:.2} ms, is 1 / tokens/s of all requests: no TPOT"
            )
        }
        Finding::LatencyPerToken { tpot_ms } => {
            format!("What is called TPOT, {tpot_ms:.2} ms, is the latency over its tokens: no TPOT")
        }
        Finding::TimesDisagree {
            parts_ms,
            latency_ms,
        } => {
            format!(
                "TTFT and TPOT make {parts_ms:.1} ms, the latency is {latency_ms:.1}: a unit or a name is wrong"
            )
        }
        Finding::ImpossibleTime {
            time,
            ms,
            beside,
            other_ms,
        } => {
            format!("{time} of {ms:.3} ms cannot be beside {beside} of {other_ms:.3} ms")
        }
        Finding::Saturated { from, best } => {
            format!("From {from} in flight on, more give no more than {best:.2} requests/s")
        }
        Finding::RequestsFailed { failed, sent } => {
            format!("{failed} of {sent} requests failed and are in no average")
        }
        Finding::RequestsMissing { asked, counted } => {
            format!("{asked} requests asked for, {counted} counted")
        }
        Finding::FewerOutputTokens { asked, came } => {
            format!("{came} output tokens came of {asked} asked for: requests ended early")
        }
        Finding::TokensAsAsked { said, retokenized } => {
            format!(
                "{said} output tokens counted, but the text has {retokenized}: counted as asked for"
            )
        }
        Finding::FiguresDiffer { figure, said, own } => {
            format!("{figure} is {said:.2}, and the file's other figures make it {own:.2}")
        }
        Finding::ValueNotTaken { key, value } => {
            format!("{key} is {value} and is not taken")
        }
        Finding::BlockCut => "The printed block ends before its last line.".to_owned(),
    }
}
