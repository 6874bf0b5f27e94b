//! Words that engines on paper and a study of them share.

use disagg::Verdict;
use view::Tone;

/// What stops more.
pub(super) fn limit(code: &str) -> &'static str {
    match code {
        "prefill" => "prefill",
        "decode" => "time of decode steps",
        "decode-slots" => "sequences of decode engines",
        "decode-kv" => "KV memory of decode engines",
        "link" => "the link",
        _ => "—",
    }
}

/// Whether to split: colour, code of the finding, and a sentence; `gain` is the ratio to aggregated engines in words, empty where slow
/// steps have none.
pub(super) fn verdict(of: Verdict, gain: &str) -> (Tone, Option<&'static str>, String) {
    let (tone, code) = match of {
        Verdict::Split { .. } => (Tone::Good, Some("split-pays")),
        Verdict::DoNotSplit { .. } => (Tone::Warning, Some("do-not-split")),
        Verdict::Neither => (Tone::Bad, None),
    };
    let what = match of {
        Verdict::Split { gain: None } => "Split: aggregated engines do not keep these limits.",
        Verdict::Split { gain: Some(_) } => "Split",
        Verdict::DoNotSplit { gain: None } => {
            "Do not split: engines that are split do not keep these limits."
        }
        Verdict::DoNotSplit { gain: Some(more) } if more >= 1.0 => {
            "Do not split, it gains too little"
        }
        Verdict::DoNotSplit { gain: Some(_) } => "Do not split",
        Verdict::Neither => "Neither keeps these limits.",
    };
    let verdict = match (of.gain(), gain) {
        (None, _) => what.to_owned(),
        (_, "") => format!("{what}, but with slow steps these limits are not kept."),
        (_, gain) => format!("{what}: {gain}x what aggregated engines serve a GPU."),
    };
    (tone, code, verdict)
}
