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
    let of_ratio = |verdict| match gain {
        "" => format!("{verdict}, but with slow steps these limits are not kept."),
        gain => format!("{verdict}: {gain}x what aggregated engines serve a GPU."),
    };
    let (pays, not) = (Some("split-pays"), Some("do-not-split"));
    match of {
        Verdict::Split { gain: Some(_) } => (Tone::Good, pays, of_ratio("Split")),
        Verdict::Split { gain: None } => {
            let text = "Split: aggregated engines do not keep these limits.";
            (Tone::Good, pays, text.to_owned())
        }
        Verdict::DoNotSplit { gain: Some(more) } if more >= 1.0 => (
            Tone::Warning,
            not,
            of_ratio("Do not split, it gains too little"),
        ),
        Verdict::DoNotSplit { gain: Some(_) } => (Tone::Warning, not, of_ratio("Do not split")),
        Verdict::DoNotSplit { gain: None } => {
            let text = "Do not split: engines that are split do not keep these limits.";
            (Tone::Warning, not, text.to_owned())
        }
        Verdict::Neither => (Tone::Bad, None, "Neither keeps these limits.".to_owned()),
    }
}
