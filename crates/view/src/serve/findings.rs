//! The line of each finding of a serving benchmark.

use record::{CacheEvidence, ServeFinding};

use super::cells::{ms, significant};
use crate::codes;
use crate::document::{Item, Tone};

/// Its line with its code; red where it makes the numbers those of something else.
#[must_use]
pub fn item(finding: &ServeFinding) -> Item {
    use ServeFinding as F;
    let what = |requests: &bool| if *requests { "requests" } else { "tokens" };
    let percent = |part: f64| format!("{:.0}%", part * 100.0);
    let (tone, text) = match finding {
        F::RequestsFailed {
            of,
            failed,
            most,
            detail,
        } => (
            Tone::Bad,
            format!("{failed} of {of} requests failed, most: {most} ({detail})"),
        ),
        F::WarmupFailed { detail } => (Tone::Warning, format!("Warm-up: {detail}")),
        F::BatchNotReached { asked, mean } => (
            Tone::Warning,
            format!("{mean:.1} requests in flight on average, {asked} asked for"),
        ),
        F::OutputLengthDiffers {
            differ,
            of,
            least_most: (least, most),
        } => (
            Tone::Warning,
            format!(
                "{differ} of {of} replies have another length than asked for: {least}-{most} tokens"
            ),
        ),
        F::PromptLengthDiffers { asked, mean } => (
            Tone::Warning,
            format!("Prompts have {mean:.0} tokens on average, {asked} asked for"),
        ),
        F::TokensByChunks { replies, of } => (
            Tone::Warning,
            format!("No usage in {replies} of {of} replies: their chunks count as tokens"),
        ),
        F::SeveralTokensPerChunk { tokens, chunks } => (
            Tone::Warning,
            format!("{tokens} tokens in {chunks} chunks: ITL is the gap between chunks"),
        ),
        F::FewerTokensThanChunks { replies, of } => (
            Tone::Warning,
            format!("{replies} of {of} replies have more chunks than counted tokens"),
        ),
        F::PrefixCacheHits {
            cached,
            of,
            by,
            expected,
        } => {
            let share = percent(*cached as f64 / (*of).max(1) as f64);
            let text = match by {
                CacheEvidence::Usage => {
                    format!("{share} of the prompt tokens came from the server's cache")
                }
                CacheEvidence::Counters => {
                    format!("{share} of the prompt tokens came from its cache, by its counters")
                }
                CacheEvidence::Peak => format!(
                    "At least {share} of the prompt tokens came from a cache: no GPU is so fast"
                ),
            };
            match expected {
                true => (Tone::Open, text + ", as expected"),
                false => (Tone::Warning, text),
            }
        }
        F::ColdStart {
            first_ms,
            others_most_ms,
        } => (
            Tone::Warning,
            format!(
                "The first request waited {} for its first token, the others {} at most",
                ms(*first_ms),
                ms(*others_most_ms)
            ),
        ),
        F::MoreRequestsThanSlots {
            running,
            waiting,
            kv_used,
        } => {
            let cache = kv_used.map_or_else(String::new, |part| {
                format!("; KV cache {} full", percent(part))
            });
            (
                Tone::Warning,
                format!(
                    "The server ran {running:.0} requests at once while up to {waiting:.0} waited{cache}"
                ),
            )
        }
        F::ServerSimulated { machine } => (
            Tone::Bad,
            format!("Replies come from the simulated machine {machine}"),
        ),
        F::ModelDiffers { asked, answered } => (
            Tone::Bad,
            format!("Replies name {}, not {asked}", answered.join(", ")),
        ),
        F::MixedSteps { part, decode_ms } => {
            let alone = decode_ms.map_or_else(String::new, |it| format!(" ({} without)", ms(it)));
            (
                Tone::Warning,
                format!(
                    "{} of the tokens came with prefill steps: TPOT is theirs{alone}",
                    percent(*part)
                ),
            )
        }
        F::RateNotSustained { asked, completed } => (
            Tone::Warning,
            format!(
                "{} requests/s completed, {asked} came: a burst, not a rate",
                significant(*completed)
            ),
        ),
        F::RequestsResent { requests } => (
            Tone::Warning,
            format!("{requests} requests were sent again: the server closed their connections"),
        ),
        F::OthersPrompts { spans, of } => (
            Tone::Warning,
            format!("The server worked on prompts of others in {spans} of {of} readings"),
        ),
        F::CountersRestarted => (
            Tone::Warning,
            "The server's counters fell during the load".to_owned(),
        ),
        F::CountersDropped => (
            Tone::Warning,
            "The server's counters were too large to be kept".to_owned(),
        ),
        F::ServerShared {
            theirs,
            ours,
            requests,
        } => (
            Tone::Bad,
            format!(
                "The server counts {theirs:.0} {}, this client {ours:.0}: others use it",
                what(requests)
            ),
        ),
        F::SeveralServers {
            theirs,
            ours,
            requests,
        } => (
            Tone::Warning,
            format!(
                "The server counts {theirs:.0} {}, this client {ours:.0}: several servers?",
                what(requests)
            ),
        ),
        F::TtftDiffers { theirs_ms, ours_ms } => (
            Tone::Warning,
            format!(
                "Mean TTFT: {} by the server, {} here",
                ms(*theirs_ms),
                ms(*ours_ms)
            ),
        ),
        F::ItlDiffers { theirs_ms, ours_ms } => (
            Tone::Warning,
            format!(
                "Time between tokens: {} by the server, {} here",
                ms(*theirs_ms),
                ms(*ours_ms)
            ),
        ),
        F::Preempted { times } => (
            Tone::Warning,
            format!("The server preempted {times:.0} requests: its KV cache was full"),
        ),
        F::TokenizerUnused => (
            Tone::Open,
            "--tokenizer is not used: lengths are counted in words".to_owned(),
        ),
        F::CertificateUnchecked => (
            Tone::Warning,
            "The server's certificate was not checked".to_owned(),
        ),
        F::PromptsRepeat { prompts, requests } => (
            Tone::Warning,
            format!("{requests} requests from {prompts} prompts: a prefix cache may hold them"),
        ),
    };
    Item::of(tone, text).coded(finding.code())
}

/// A reason why times are the load generator's own, by its code.
pub(super) fn invalid(reason: &str) -> Item {
    let Some((code, _)) = codes::all().find(|(code, _)| *code == reason) else {
        return Item::of(
            Tone::Bad,
            format!("The load generator was the limit: {reason}"),
        );
    };
    Item::of(Tone::Bad, codes::line(code).trim_end_matches('.')).coded(code)
}
