//! The line of each finding of a serving benchmark.

use record::ServeFinding as F;
use record::{CacheEvidence, ServeFinding};

use crate::cell::{ms, significant};
use crate::codes;
use crate::document::{Item, Tone};

/// Its line with its code; red where it makes the numbers those of something else.
#[must_use]
pub fn item(finding: &ServeFinding) -> Item {
    let tone = match finding {
        F::RequestsFailed { .. }
        | F::ServerSimulated { .. }
        | F::ModelDiffers { .. }
        | F::ServerShared { .. } => Tone::Bad,
        F::PrefixCacheHits { expected: true, .. } | F::TokenizerUnused => Tone::Open,
        _ => Tone::Warning,
    };
    Item::of(tone, words(finding)).coded(finding.code())
}

fn words(finding: &ServeFinding) -> String {
    let what = |requests: &bool| if *requests { "requests" } else { "tokens" };
    let percent = |part: f64| format!("{:.0}%", part * 100.0);
    match finding {
        F::RequestsFailed {
            of,
            failed,
            most,
            detail,
        } => format!("{failed} of {of} requests failed, most: {most} ({detail})"),
        F::WarmupFailed { detail } => format!("Warm-up: {detail}"),
        F::BatchNotReached { asked, mean } => {
            format!("{mean:.1} requests in flight on average, {asked} asked for")
        }
        F::OutputLengthDiffers {
            differ,
            of,
            least_most: (least, most),
        } => format!(
            "{differ} of {of} replies have another length than asked for: {least}-{most} tokens"
        ),
        F::PromptLengthDiffers { asked, mean } => {
            format!("Prompts have {mean:.0} tokens on average, {asked} asked for")
        }
        F::TokensByChunks { replies, of } => {
            format!("No usage in {replies} of {of} replies: their chunks count as tokens")
        }
        F::SeveralTokensPerChunk { tokens, chunks } => {
            format!("{tokens} tokens in {chunks} chunks: ITL is the gap between chunks")
        }
        F::FewerTokensThanChunks { replies, of } => {
            format!("{replies} of {of} replies have more chunks than counted tokens")
        }
        F::PrefixCacheHits {
            cached,
            of,
            by,
            expected,
        } => {
            let share = percent(*cached as f64 / (*of).max(1) as f64);
            let (least, came) = match by {
                CacheEvidence::Usage => ("", "the server's cache"),
                CacheEvidence::Counters => ("", "its cache, by its counters"),
                CacheEvidence::Peak => ("At least ", "a cache: no GPU is so fast"),
            };
            let expected = if *expected { ", as expected" } else { "" };
            format!("{least}{share} of the prompt tokens came from {came}{expected}")
        }
        F::ColdStart {
            first_ms,
            others_most_ms,
        } => format!(
            "The first request waited {} for its first token, the others {} at most",
            ms(*first_ms),
            ms(*others_most_ms)
        ),
        F::MoreRequestsThanSlots {
            running,
            waiting,
            kv_used,
        } => {
            let cache = kv_used.map(|part| format!("; KV cache {} full", percent(part)));
            let cache = cache.unwrap_or_default();
            format!(
                "The server ran {running:.0} requests at once while up to {waiting:.0} waited{cache}"
            )
        }
        F::ServerSimulated { machine } => {
            format!("Replies come from the simulated machine {machine}")
        }
        F::ModelDiffers { asked, answered } => {
            format!("Replies name {}, not {asked}", answered.join(", "))
        }
        F::MixedSteps { part, decode_ms } => {
            let alone = decode_ms.map(|it| format!(" ({} without)", ms(it)));
            format!(
                "{} of the tokens came with prefill steps: TPOT is theirs{}",
                percent(*part),
                alone.unwrap_or_default()
            )
        }
        F::RateNotSustained { asked, completed } => {
            let completed = significant(*completed);
            format!("{completed} requests/s completed, {asked} came: a burst, not a rate")
        }
        F::RequestsResent { requests } => {
            format!("{requests} requests were sent again: the server closed their connections")
        }
        F::OthersPrompts { spans, of } => {
            format!("The server worked on prompts of others in {spans} of {of} readings")
        }
        F::CountersRestarted => "The server's counters fell during the load".to_owned(),
        F::CountersDropped => "The server's counters were too large to be kept".to_owned(),
        F::ServerShared {
            theirs,
            ours,
            requests,
        } => {
            let what = what(requests);
            format!("The server counts {theirs:.0} {what}, this client {ours:.0}: others use it")
        }
        F::SeveralServers {
            theirs,
            ours,
            requests,
        } => {
            let what = what(requests);
            format!("The server counts {theirs:.0} {what}, this client {ours:.0}: several servers?")
        }
        F::TtftDiffers { theirs_ms, ours_ms } => {
            let (theirs, ours) = (ms(*theirs_ms), ms(*ours_ms));
            format!("Mean TTFT: {theirs} by the server, {ours} here")
        }
        F::ItlDiffers { theirs_ms, ours_ms } => {
            let (theirs, ours) = (ms(*theirs_ms), ms(*ours_ms));
            format!("Time between tokens: {theirs} by the server, {ours} here")
        }
        F::Preempted { times } => {
            format!("The server preempted {times:.0} requests: its KV cache was full")
        }
        F::TokenizerUnused => "--tokenizer is not used: lengths are counted in words".to_owned(),
        F::CertificateUnchecked => "The server's certificate was not checked".to_owned(),
        F::PromptsRepeat { prompts, requests } => {
            format!("{requests} requests from {prompts} prompts: a prefix cache may hold them")
        }
    }
}

/// A reason why times are the load generator's own, by its code.
pub(super) fn invalid(reason: &str) -> Item {
    match codes::all().find(|(code, _)| *code == reason) {
        Some((code, _)) => Item::of(Tone::Bad, codes::line(code).trim_end_matches('.')).coded(code),
        None => Item::of(
            Tone::Bad,
            format!("The load generator was the limit: {reason}"),
        ),
    }
}
