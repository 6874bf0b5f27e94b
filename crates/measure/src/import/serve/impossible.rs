//! Figures of one result that no run can have together, whatever made it: such a file is refused, since nobody can say which of
//! them hold.
//!
//! What a client calls by a wrong name, such as the latency a TTFT, is told elsewhere and is no contradiction.

use super::result::{Finding, FindingKind, ServeResult, float};
use super::run::ServeFormat;

/// Figures that were rounded agree within this.
const ROUNDED: f64 = 0.02;

/// Means of replies of many lengths are not products of means: so far may one lie from the other.
const MANY_LENGTHS: f64 = 0.5;

/// TTFT and TPOT make the latency within this where all replies are of one length.
const PARTS: f64 = 0.1;

/// A mean TTFT above the mean latency by this part may be a median of a few requests.
const ABOVE_MEAN: f64 = 0.1;

/// A pace that makes less than this part of the latency leaves most of it to the first token.
const LITTLE: f64 = 0.5;

/// A first token may come in less time than a step of many in flight, as a prompt that is read elsewhere does, but not in this part.
const PART_OF_A_STEP: f64 = 0.2;

/// A reply that lasts longer than the run that it is of.
pub(super) fn beyond_run(result: &ServeResult) -> Option<Finding> {
    let run = &result.run;
    // Ours knows the instants of each request, and is held against them.
    let told = run.e2el_ms.filter(|_| run.format != ServeFormat::Tplens)?;
    let (name, ms) = match told.max {
        Some(most) => ("largest", most),
        None => ("mean", told.mean),
    };
    let whole = run.duration_s * 1e3;
    (ms > whole * (1.0 + ROUNDED + result.duration_off())).then(|| {
        impossible(format!(
            "the {name} latency is {:.3} s and the whole run took {:.3} s, which no request can outlast",
            ms / 1e3,
            run.duration_s
        ))
    })
}

/// More output tokens than requests may give.
pub(super) fn above_most(result: &ServeResult) -> Option<Finding> {
    let run = of_summary(result)?;
    let (came, each) = (run.output_tokens?, result.asked.output_tokens?);
    let most = each.checked_mul(run.completed)?;
    (float(came) > float(most) * (1.0 + ROUNDED + result.duration_off())).then(|| {
        impossible(format!(
            "its totals or rates make {came} output tokens, and {} requests of {each} tokens at most are {most}",
            run.completed
        ))
    })
}

/// A first token that comes after the whole reply, or after the whole run.
pub(super) fn late_first_token(result: &ServeResult) -> Option<Finding> {
    let run = of_summary(result)?;
    let first = result.said.ttft_ms? / 1e3;
    let latency = run.e2el_ms?.mean / 1e3;
    let (name, whole, off) = match first > run.duration_s {
        true => (
            "the whole run took",
            run.duration_s,
            ROUNDED + result.duration_off(),
        ),
        false => ("the mean latency is", latency, ABOVE_MEAN),
    };
    (first > whole * (1.0 + off)).then(|| {
        impossible(format!(
            "the time to first token is {first:.3} s and {name} {whole:.3} s, which no first token can outlast"
        ))
    })
}

/// A median of gaps between tokens that is more than twice their mean: half of them would make more than all.
pub(super) fn median_above_all(result: &ServeResult) -> Option<Finding> {
    let gaps = result.run.itl_ms?;
    let median = gaps.median?;
    (median > 2.0 * gaps.mean * (1.0 + ROUNDED)).then(|| {
        impossible(format!(
            "the median gap between tokens (ITL) is {median:.3} ms and their mean {:.3} ms, which half of the gaps alone would be above",
            gaps.mean
        ))
    })
}

/// A first token that comes in far less than a step: it waits for one at least.
pub(super) fn early_first_token(result: &ServeResult) -> Option<Finding> {
    let run = &result.run;
    let first = result
        .said
        .ttft_ms
        .or_else(|| run.ttft_ms.map(|first| first.mean))?;
    let each = result.output_each().filter(|each| *each >= 2.0);
    let by_latency = run
        .e2el_ms
        .zip(each)
        .map(|(latency, each)| (latency.mean - first) / (each - 1.0));
    let step = run.tpot_ms.map(|each| each.mean).or(by_latency)?;
    (first > 0.0 && first < PART_OF_A_STEP * step).then(|| {
        impossible(format!(
            "the mean time to first token is {first:.3} ms and a token after it takes {step:.3} ms, and no first token comes in less than \
             {PART_OF_A_STEP} of a step: one of the two has another unit or is another thing"
        ))
    })
}

/// A time per output token that leaves most of the latency to a first token whose time is not given: a long wait, another unit or
/// another thing under the name.
pub(super) fn little_pace(result: &ServeResult) -> Option<Finding> {
    let run = of_summary(result)?;
    let (tpot, latency) = (result.said.tpot_ms?, run.e2el_ms?.mean);
    let each = result.output_each().filter(|each| *each > 1.0)?;
    let is_told = run.streamed || result.said.ttft_ms.is_some();
    let tokens = tpot * (each - 1.0);
    if is_told || is_misnamed(result, tpot, latency, each) || tokens >= LITTLE * latency {
        return None;
    }
    Some(Finding::new(
        FindingKind::Pace,
        format!(
            "{tpot:.3} ms per output token, {:.1} times, are {tokens:.1} ms of a mean latency of {latency:.1} ms: the other {:.1} ms would be \
             the wait for the first token, which the file does not give, or the {tpot:.3} ms have another unit or are another thing",
            each - 1.0,
            latency - tokens
        ),
    ))
}

/// A time per output token that makes more than the latency, or with the time to first token another one.
pub(super) fn pace(result: &ServeResult) -> Option<Finding> {
    let run = of_summary(result)?;
    let (tpot, latency) = (result.said.tpot_ms?, run.e2el_ms?.mean);
    let each = result.output_each().filter(|each| *each > 1.0)?;
    if is_misnamed(result, tpot, latency, each) {
        return None;
    }
    let is_fixed = run.fixed_output == Some(true);
    let tokens = tpot * (each - 1.0);
    let most = if is_fixed { ROUNDED } else { MANY_LENGTHS };
    if tokens > latency * (1.0 + most) {
        return Some(impossible(format!(
            "{tpot:.3} ms per output token, {:.1} times after the first, are {tokens:.1} ms, and the mean latency is {latency:.1} ms",
            each - 1.0
        )));
    }
    let first = result.said.ttft_ms.filter(|_| !run.streamed)?;
    let off = if is_fixed { PARTS } else { MANY_LENGTHS };
    let whole = first + tokens;
    ((whole - latency).abs() > off * latency).then(|| {
        impossible(format!(
            "a time to first token of {first:.1} ms and {tpot:.3} ms per output token, {:.1} times, are {whole:.1} ms, and the mean latency is \
             {latency:.1} ms",
            each - 1.0
        ))
    })
}

/// Whether TTFT or TPOT are other things under these names, as clients that do not stream write them.
fn is_misnamed(result: &ServeResult, tpot: f64, latency: f64, each: f64) -> bool {
    let is = |one: f64, other: f64| (one - other).abs() <= ROUNDED * other;
    let of_all = result.output_tokens_per_s();
    let first = result.said.ttft_ms;
    is(tpot * each, latency)
        || of_all.is_some_and(|rate| is(tpot * rate, 1e3))
        || first.is_some_and(|first| is(first, latency))
}

fn of_summary(result: &ServeResult) -> Option<&super::run::ServeRun> {
    Some(&result.run).filter(|run| run.format == ServeFormat::Summary)
}

fn impossible(words: String) -> Finding {
    Finding::new(FindingKind::Impossible, words)
}
