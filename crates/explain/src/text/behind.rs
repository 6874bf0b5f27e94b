//! What the waterfall leads to, and what stands behind its bars.

use measure::unit::ByteCount;

use super::tested::Tested;
use super::waterfall::step_decimals;
use crate::attribute::{Attribution, Cause, Claim, Implied, PublishedTime};

/// What the waterfall leads to.
pub(super) fn behind(attribution: &Attribution, tested: Option<&Tested<'_>>) -> String {
    let mut text = format!(
        "step speed-up {}x; {}\n",
        attribution.speed_up.with_decimals(2),
        free_links(attribution)
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
            let told = tested.and_then(Tested::alone);
            text.push_str(&match told {
                Some(_) => format!(
                    "communication is told by the ablation alone: of the two runs, {reason}\n"
                ),
                None => format!("no claim about communication: {reason}\n"),
            });
        }
    }
    // Which curve in which mode the bar stands on.
    if let Some(bar) = attribution.bar(Cause::Communication) {
        text.push_str(&format!(
            "communication, all-reduce and all-gather together, {} ms ({}): {}\n",
            bar.ms.with_decimals(step_decimals(attribution)),
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
    if let Some(of) = &attribution.implied {
        text.push_str(&format!("{}\n", implied(of)));
        for published in &of.published {
            text.push_str(&format!("   {published}\n"));
        }
    }
    text.push('\n');
    text
}

/// What free links would bring, in words: nothing is told where neither runs nor an ablation tell communication from nothing.
#[must_use]
pub fn free_links(attribution: &Attribution) -> String {
    if let Some(by_arms) = &attribution.free_links_by_arms {
        return format!(
            "{}x if links were free, by the ablation (one GPU's step over the arms' step without links)",
            by_arms.with_decimals(2)
        );
    }
    match &attribution.claim {
        Claim::None { .. } => {
            "what free links would give is not told, since communication is not told from nothing"
                .to_owned()
        }
        Claim::Estimated | Claim::AtMost { .. } => format!(
            "{}x if links were free and nothing were left unexplained",
            attribution.free_links.with_decimals(2)
        ),
    }
}

/// How many draws sum to more than was measured, and what that means; `None` where it is none of them.
#[must_use]
pub fn too_much(attribution: &Attribution) -> Option<String> {
    let told = |share: f64, what: &str| {
        (share >= 0.005).then(|| format!("{:.0}% of the draws {what}", share * 100.0))
    };
    let no_room = told(
        attribution.no_room,
        match attribution.half {
            Some(_) => {
                "leave the step on one GPU no room for its weights, or give the half-width model less than its share of it, and were dropped"
            }
            None => "leave the step on one GPU no room for its weights and were dropped",
        },
    );
    let several = match (attribution.half.is_some(), attribution.drops_draws()) {
        (true, _) => return no_room,
        (false, true) => {
            return told(
                attribution.impossible,
                "sum to more than was measured and were dropped: the ranges fit at their lower ends",
            );
        }
        (false, false) => told(
            attribution.impossible,
            "that the bars are made of sum to more than was measured: what is unexplained lies below zero there",
        ),
    };
    match (no_room, several) {
        (Some(no_room), Some(several)) => Some(format!("{no_room}; {several}")),
        (no_room, several) => no_room.or(several),
    }
}

/// What a half-width model measured, in sentences; empty where there is none.
#[must_use]
pub fn half_width(attribution: &Attribution) -> Vec<String> {
    let Some(half) = &attribution.half else {
        return Vec::new();
    };
    let (tp, decimals) = (attribution.tp, step_decimals(attribution));
    let grade = match attribution.is_half_contradicted() {
        true => "",
        false => "A: ",
    };
    let measured = format!(
        "half-width model: a step of {} ms, {} ms above 1/{tp} of TP1's ({grade}narrow GEMMs, never sharded and host together) and {} ms below TP{tp}'s ({grade}communication and executor)",
        half.step.with_decimals(decimals),
        half.loss.with_decimals(decimals),
        half.difference.with_decimals(decimals),
    );
    [Some(measured), half.in_words()]
        .into_iter()
        .flatten()
        .collect()
}

/// What one all-reduce would take if all that is left were communication.
#[must_use]
pub fn implied(implied: &Implied) -> String {
    format!(
        "if all that is left were communication, one all-reduce of {} ({} a step) would take {} us: an upper figure",
        ByteCount(implied.bytes_per_rank),
        implied.count,
        implied.us.with_decimals(1)
    )
}

impl std::fmt::Display for PublishedTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "published {:.1} us, {} ({})",
            self.us, self.path, self.source
        )
    }
}
