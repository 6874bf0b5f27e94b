//! What requests are made of: random prompts of a length, or those of a file.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};

use super::refused::within;

/// What requests are made of.
#[derive(Debug, Clone, ClapArgs)]
#[command(next_help_heading = "Data")]
pub(in crate::load) struct DataArgs {
    /// What requests are made of.
    ///
    /// random: prompts of random words, about one token each; random-ids: of random token ids, exact. From --dataset-path:
    /// sharegpt: the first two turns of each conversation (JSON); custom, or openqa: the `prompt`, `question` or `messages` of each
    /// line, with its `output_tokens` (JSONL); trace: instants, lengths and shared blocks of Mooncake's (JSONL) or Azure's (CSV) traces.
    #[arg(long, value_enum, value_name = "NAME", default_value_t = DatasetName::Random)]
    pub(in crate::load) dataset_name: DatasetName,

    /// The file with the prompts.
    #[arg(long, value_name = "FILE")]
    pub(in crate::load) dataset_path: Option<PathBuf>,

    /// Prompt tokens of each request, whatever the data.
    ///
    /// The server's own count is what is recorded.
    #[arg(long, alias = "input-tokens", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4_000_000))]
    pub(in crate::load) input_len: Option<u32>,

    /// Output tokens of each request, whatever the data.
    #[arg(long, alias = "output-tokens", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4_000_000))]
    pub(in crate::load) output_len: Option<u32>,

    /// random: prompt tokens, those of --random-prefix-len not counted [default: 1024].
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4_000_000))]
    pub(in crate::load) random_input_len: Option<u32>,

    /// random: output tokens [default: 128].
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4_000_000))]
    pub(in crate::load) random_output_len: Option<u32>,

    /// random: part by which lengths vary, 0 to 1.
    ///
    /// They are whole numbers drawn from length x (1 - ratio), rounded down, to length x (1 + ratio), rounded up.
    #[arg(long, value_name = "RATIO", default_value = "0", value_parser = |text: &str| within(text, 0.0, 1.0))]
    pub(in crate::load) random_range_ratio: f64,

    /// random: tokens at the beginning that all prompts share.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=4_000_000))]
    pub(in crate::load) random_prefix_len: u32,

    /// sharegpt: output tokens [default: the words of the answer in the file].
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4_000_000))]
    pub(in crate::load) sharegpt_output_len: Option<u32>,

    /// custom: output tokens [default: `output_tokens` of the line, else 256].
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4_000_000))]
    pub(in crate::load) custom_output_len: Option<u32>,

    /// random-ids: token ids are drawn below this number.
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(2..))]
    pub(in crate::load) vocab: u32,

    /// sharegpt: ask every turn of a conversation, one after the other, with what was said before.
    ///
    /// What the model said before is what the file has. Needs --endpoint chat and --max-concurrency, which counts conversations.
    #[arg(long)]
    pub(in crate::load) multi_turn: bool,

    /// Seconds between a reply and the next turn of a conversation.
    #[arg(long, hide_short_help = true, value_name = "SECONDS", requires = "multi_turn", value_parser = program::command_line::seconds)]
    pub(in crate::load) think_time: Option<Duration>,

    /// trace: play it so many times as fast.
    #[arg(long, hide_short_help = true, value_name = "FACTOR", default_value_t = 1.0, value_parser = |text: &str| within(text, 1e-3, 1e6))]
    pub(in crate::load) trace_speed: f64,

    /// For files in vLLM's form only: lengths are counted in words, and by the server's own count.
    #[arg(long, hide_short_help = true, value_name = "PATH")]
    pub(in crate::load) tokenizer: Option<String>,

    /// Say that prefix cache hits are meant: no warning.
    #[arg(long, hide_possible_values = true, value_name = "expect", value_parser = ["expect"])]
    prefix_cache: Option<String>,

    /// Seed of prompts and arrivals; repeats them [default: another each run].
    ///
    /// The same seed gives the same requests at the same instants, which a server's cache may hold.
    #[arg(long, value_name = "N")]
    pub(in crate::load) seed: Option<u64>,

    /// Tell the server to go on to the output length; the default for random prompts.
    #[arg(long, hide_short_help = true, overrides_with = "no_ignore_eos")]
    ignore_eos: bool,

    /// Let the model end its replies; the default for prompts of people.
    #[arg(long, hide_short_help = true)]
    no_ignore_eos: bool,
}

/// A kind of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::load) enum DatasetName {
    /// Random words.
    Random,
    /// Random token ids.
    RandomIds,
    /// Conversations.
    Sharegpt,
    /// One's own, or open questions.
    #[value(alias = "openqa")]
    Custom,
    /// Instants and lengths of a published trace.
    #[value(aliases = ["mooncake", "azure", "timed_trace"])]
    Trace,
}

impl DataArgs {
    /// Whether the end of sequence is to be ignored.
    pub(in crate::load) fn ignores_eos(&self) -> bool {
        let by_data = matches!(
            self.dataset_name,
            DatasetName::Random | DatasetName::RandomIds | DatasetName::Trace
        );
        self.ignore_eos || (by_data && !self.no_ignore_eos)
    }

    /// Whether prompts from a cache are what is to be measured: a conversation's turns begin alike.
    pub(in crate::load) fn expects_cache(&self) -> bool {
        self.multi_turn || self.prefix_cache.is_some()
    }

    /// Whether prompts are token ids.
    pub(in crate::load) fn has_ids(&self) -> bool {
        self.dataset_name == DatasetName::RandomIds
    }

    /// Prompt tokens of random prompts, without those that all share.
    pub(in crate::load) fn random_input(&self) -> u32 {
        self.random_input_len.or(self.input_len).unwrap_or(1024)
    }

    /// Output tokens of random prompts.
    pub(in crate::load) fn random_output(&self) -> u32 {
        self.random_output_len.or(self.output_len).unwrap_or(128)
    }
}
