//! A gate that does not hold in words that need no knowledge of it, for the first sentence of a refusal.

use super::engine_asked::ENGINE_ASKED;
use super::files::{BOTH_ORIGINS, BOTH_RUNS, TWO_BOXES};
use super::grows::CURVE_GROWS;
use super::of_run::{ONE_TOKEN, PURE_DECODE};

/// What is wrong where the gate of that name does not hold.
const PLAIN: [(&str, &str); 29] = [
    (BOTH_ORIGINS, "measured and simulated files are mixed"),
    (TWO_BOXES, "the files are of two soft boxes"),
    (
        "collectives are right",
        "a transfer between these GPUs gave wrong data",
    ),
    (
        BOTH_RUNS,
        "a run on one GPU and a run on several are needed to compare, and not both were given",
    ),
    ("two results", "the same result was given for both sides"),
    ("same model", "the runs served different models"),
    (
        "the model asked about",
        "the files are of another model than --model names",
    ),
    (
        "weights fit",
        "the model does not go into one of these GPUs, so that model, box and runs do not belong together",
    ),
    (
        "a step can read its weights",
        "the times are too short for this model: no GPU reads its weights so fast",
    ),
    ("same engine", "the runs were served by different engines"),
    ("same host", "the runs were served by different machines"),
    ("same GPUs", "the runs are of different GPUs"),
    (
        "same quantisation",
        "the runs stored the model's weights differently",
    ),
    (
        ENGINE_ASKED,
        "the files are of another engine than the one whose rules were taken",
    ),
    (
        CURVE_GROWS,
        "the times of the exchange between the GPUs cannot be right, since a longer message takes far less time than a shorter one",
    ),
    (
        "no failures",
        "requests failed, and the times of those that are left are too good",
    ),
    (
        "closed loop",
        "how many requests were served at the same time was not held fixed",
    ),
    (
        "requests in flight",
        "the client did not keep as many requests going as it was asked to",
    ),
    (ONE_TOKEN, "the time per token is not that of a step"),
    (
        PURE_DECODE,
        "too much of the time went into reading prompts, so that the time per token is not that of making tokens",
    ),
    ("fixed output length", "the replies were not of one length"),
    (
        "two output tokens or more",
        "replies of a single token have no time per token",
    ),
    ("times agree", "the file's own times contradict each other"),
    (
        "no throttling",
        "heat or a power limit slowed the GPUs down during the run",
    ),
    (
        "batch equal",
        "the runs did not serve as many requests at the same time as each other",
    ),
    (
        "lengths equal",
        "the runs had prompts or replies of different lengths",
    ),
    (
        "clocks alike",
        "the GPUs ran at different clocks in the runs",
    ),
    (
        "transport proven",
        "the files contradict each other on how the GPUs exchange data",
    ),
    (
        "half-width model",
        "the run of the model at a rank's width does not fit between the other runs",
    ),
];

/// A reason of a refusal, `gate: what was seen`, in plain words with what was seen behind them; a reason that is of no gate as it is.
pub(crate) fn in_plain_words(reason: &str) -> String {
    let told = PLAIN.iter().find_map(|(name, words)| {
        let rest = reason.strip_prefix(name)?;
        // Behind the gate's name stands the run that it is of.
        let of_run = rest.strip_prefix(", ").or(rest.strip_prefix(": "))?;
        Some(format!("{words} ({of_run})"))
    });
    told.unwrap_or_else(|| reason.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_that_fails_is_told_in_plain_words_with_its_run_and_what_was_seen() {
        assert_eq!(
            in_plain_words("no failures, TP1 run 2: 2 of 64 requests failed"),
            "requests failed, and the times of those that are left are too good (TP1 run 2: 2 of 64 requests failed)"
        );
        assert_eq!(
            in_plain_words("measured or simulated, not both: measured and l40x4"),
            "measured and simulated files are mixed (measured and l40x4)"
        );
        assert_eq!(
            in_plain_words("same engine: vllm in a.json and sglang in b.json"),
            "the runs were served by different engines (vllm in a.json and sglang in b.json)"
        );
        // No gate's name, and a longer one that begins alike.
        for reason in [
            "no time of a step: a result needs one",
            "same engine version: 1 and 2",
        ] {
            assert_eq!(in_plain_words(reason), reason);
        }
    }
}
