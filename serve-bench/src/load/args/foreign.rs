//! Flags of `vllm bench serve` that are not of this program: those that change no number are accepted, the others are refused by name.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

/// Flags without an effect: no tokenizer of Python is loaded, requests carry no id, and nothing is drawn.
const ACCEPTED: [&str; 8] = [
    "trust-remote-code",
    "tokenizer-mode",
    "skip-tokenizer-init",
    "skip-chat-template",
    "request-id-prefix",
    "plot-timeline",
    "timeline-itl-thresholds",
    "plot-dataset-stats",
];

/// Flags that change what is asked for or measured.
const REFUSED: [&str; 34] = [
    "append-result",
    "blazedit-max-distance",
    "blazedit-min-distance",
    "common-prefix-len",
    "disable-shuffle",
    "enable-multimodal-chat",
    "hf-name",
    "hf-output-len",
    "hf-split",
    "hf-subset",
    "logprobs",
    "lora-assignment",
    "lora-modules",
    "no-oversample",
    "no-reranker",
    "prefix-repetition-num-prefixes",
    "prefix-repetition-output-len",
    "prefix-repetition-prefix-len",
    "prefix-repetition-suffix-len",
    "profile",
    "profile-batch-size",
    "random-batch-size",
    "random-mm-base-items-per-request",
    "random-mm-bucket-config",
    "random-mm-limit-mm-per-prompt",
    "random-mm-num-mm-items-range-ratio",
    "sonnet-input-len",
    "sonnet-output-len",
    "sonnet-prefix-len",
    "spec-bench-category",
    "spec-bench-output-len",
    "speed-bench-category",
    "speed-bench-dataset-subset",
    "use-beam-search",
];

/// The flags of the other client that were given.
#[derive(Debug, Clone, Default)]
pub(in crate::load) struct Foreign {
    accepted: Vec<&'static str>,
    refused: Vec<&'static str>,
}

impl Foreign {
    /// Those that change nothing, in a line; `None` where there are none.
    pub(in crate::load) fn unused(&self) -> Option<String> {
        let flags = named(&self.accepted);
        (!self.accepted.is_empty()).then(|| format!("without effect here: {flags}"))
    }

    /// # Errors
    /// In words: a flag that changes a number.
    pub(super) fn check(&self) -> Result<(), String> {
        match &self.refused[..] {
            [] => Ok(()),
            refused => Err(format!(
                "{} would change what is measured and is not known here; leave it out",
                named(refused)
            )),
        }
    }
}

fn named(flags: &[&str]) -> String {
    let flags: Vec<String> = flags.iter().map(|flag| format!("--{flag}")).collect();
    flags.join(", ")
}

impl FromArgMatches for Foreign {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |flags: &[&'static str]| {
            let flags = flags.iter().copied();
            flags.filter(|flag| matches.contains_id(flag)).collect()
        };
        Ok(Self {
            accepted: given(&ACCEPTED),
            refused: given(&REFUSED),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Foreign {
    fn augment_args(line: Command) -> Command {
        let flag = |name: &&'static str| {
            let flag = Arg::new(*name).long(*name).hide(true);
            flag.num_args(0..).action(ArgAction::Append)
        };
        ACCEPTED
            .iter()
            .chain(&REFUSED)
            .fold(line, |line, name| line.arg(flag(name)))
    }

    fn augment_args_for_update(line: Command) -> Command {
        Self::augment_args(line)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        foreign: Foreign,
    }

    #[test]
    fn what_changes_no_number_is_named_and_the_rest_refused_by_name() {
        let of = |flags: &[&str]| {
            let line = Line::parse_from([&["run"], flags].concat());
            (line.foreign.accepted.clone(), line.foreign.check().is_ok())
        };
        let flags = ["--trust-remote-code", "--tokenizer-mode", "slow"];
        assert_eq!(
            of(&flags),
            (vec!["trust-remote-code", "tokenizer-mode"], true)
        );
        assert_eq!(of(&["--logprobs", "5"]), (vec![], false));
        assert_eq!(of(&[]), (vec![], true));
    }
}
