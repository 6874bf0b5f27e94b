//! Flags of `vllm bench serve` that mean nothing here, or that are refused with what to use instead. A row each.

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};

/// What becomes of such a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It changes nothing here; why, in words.
    Nothing(&'static str),
    /// It is refused; what to use, in words.
    Refused(&'static str),
}

/// How many values a flag has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Values {
    None,
    One,
    Many,
}

use Fate::{Nothing, Refused};
use Values::{Many, None as No, One};

const LOCAL: &str = "no tokenizer of Python is loaded; lengths are the server's count";
const DATA: &str =
    "use --dataset-name random, sharegpt, openqa, sonnet, or custom with a file of your prompts";
const BODY: &str = "put it into every request with --extra-body";

/// The flags of vLLM 0.33 that are not among ours.
const ROWS: [(&str, Values, Fate); 39] = [
    ("trust-remote-code", No, Nothing(LOCAL)),
    ("tokenizer-mode", One, Nothing(LOCAL)),
    ("skip-tokenizer-init", No, Nothing(LOCAL)),
    (
        "skip-chat-template",
        No,
        Nothing("the server applies its template, on the chat endpoint only"),
    ),
    ("request-id-prefix", One, Nothing("requests carry no id")),
    (
        "disable-shuffle",
        No,
        Refused("data files are shuffled by --seed"),
    ),
    (
        "no-oversample",
        No,
        Refused("ask for as many --num-prompts as the file holds"),
    ),
    (
        "append-result",
        No,
        Refused("use --save-result, a file for each run"),
    ),
    ("self-timed", No, Refused("use --request-rate")),
    ("no-self-timed", No, Refused("leave it out")),
    (
        "profile",
        No,
        Refused("start the profiler of the server by itself"),
    ),
    (
        "probe-request-rate",
        One,
        Refused("run serve-bench a second time beside this one with --request-rate"),
    ),
    ("use-beam-search", No, Refused(BODY)),
    ("logprobs", One, Refused(BODY)),
    ("chat-template-kwargs", One, Refused(BODY)),
    (
        "lora-modules",
        Many,
        Refused("name the module with --model, one run for each"),
    ),
    (
        "lora-assignment",
        One,
        Refused("name the module with --model, one run for each"),
    ),
    (
        "plot-timeline",
        No,
        Refused("use --html, which has what went on over time, or --request-log"),
    ),
    (
        "timeline-itl-thresholds",
        One,
        Refused("use --html, which has what went on over time, or --request-log"),
    ),
    (
        "plot-dataset-stats",
        No,
        Refused("lengths are in the table and in --csv"),
    ),
    ("hf-name", One, Refused(DATA)),
    ("hf-subset", One, Refused(DATA)),
    ("hf-split", One, Refused(DATA)),
    ("hf-output-len", One, Refused(DATA)),
    ("random-batch-size", One, Refused(DATA)),
    ("random-mm-base-items-per-request", One, Refused(DATA)),
    ("random-mm-num-mm-items-range-ratio", One, Refused(DATA)),
    ("random-mm-limit-mm-per-prompt", One, Refused(DATA)),
    ("random-mm-bucket-config", One, Refused(DATA)),
    ("enable-multimodal-chat", No, Refused(DATA)),
    ("spec-bench-output-len", One, Refused(DATA)),
    ("spec-bench-category", One, Refused(DATA)),
    ("blazedit-min-distance", One, Refused(DATA)),
    ("blazedit-max-distance", One, Refused(DATA)),
    ("burstgpt-output-len", One, Refused(DATA)),
    (
        "prefix-repetition-prefix-len",
        One,
        Refused("use --random-prefix-len and --random-input-len"),
    ),
    (
        "prefix-repetition-suffix-len",
        One,
        Refused("use --random-prefix-len and --random-input-len"),
    ),
    (
        "prefix-repetition-num-prefixes",
        One,
        Refused("use --random-prefix-len and --random-input-len"),
    ),
    (
        "prefix-repetition-output-len",
        One,
        Refused("use --random-output-len"),
    ),
];

/// The flags of this kind that were given.
#[derive(Debug, Clone, Default)]
pub(in crate::load) struct Foreign(Vec<(&'static str, Fate)>);

impl Foreign {
    /// Refuses a flag that has no place here.
    ///
    /// # Errors
    /// In words, with what to use.
    pub(in crate::load) fn check(&self) -> Result<(), String> {
        let refused = self.0.iter().find_map(|(flag, fate)| match fate {
            Refused(instead) => Some(format!("--{flag} is not supported: {instead}")),
            Nothing(_) => None,
        });
        refused.map_or(Ok(()), Err)
    }

    /// What to say of those that mean nothing here.
    pub(in crate::load) fn notes(&self) -> impl Iterator<Item = String> {
        self.0.iter().filter_map(|(flag, fate)| match fate {
            Nothing(why) => Some(format!("--{flag} means nothing here: {why}")),
            Refused(_) => None,
        })
    }
}

impl Args for Foreign {
    fn augment_args(command: Command) -> Command {
        ROWS.into_iter()
            .fold(command, |command, (flag, values, _)| {
                let arg = Arg::new(flag).long(flag).hide(true);
                command.arg(match values {
                    Values::None => arg.action(ArgAction::SetTrue),
                    Values::One => arg.allow_hyphen_values(true),
                    Values::Many => arg.num_args(1..),
                })
            })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Foreign {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let given = |flag: &str| matches.value_source(flag) == Some(ValueSource::CommandLine);
        let rows = ROWS.into_iter().filter(|(flag, ..)| given(flag));
        Ok(Self(rows.map(|(flag, _, fate)| (flag, fate)).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
