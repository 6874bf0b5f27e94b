//! What requests are made of: random words or token ids of a length, or the prompts of a file.

mod files;
mod trace;
mod words;

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use self::words::length;
pub(super) use self::words::{Purpose, random};
use super::args::{DataArgs, DatasetName, Endpoint};

/// A request to be.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Item {
    /// What it says: a text, a list of token ids, which only the completions endpoint takes, or one of a chat's messages.
    pub(super) prompt: Value,
    /// Output tokens to ask for.
    pub(super) output_tokens: u32,
    /// Whether it goes on with the conversation of the one before.
    pub(super) follows: bool,
}

/// Where the requests of a run come from.
#[derive(Debug)]
pub(super) struct Data {
    args: DataArgs,
    source: Source,
    seed: u64,
    /// What it is, in words.
    pub(super) words: &'static str,
    /// Prompt tokens of each request, where they are all alike.
    pub(super) input_tokens: Option<u32>,
    /// Output tokens of each request, where they are all alike.
    pub(super) output_tokens: Option<u32>,
}

#[derive(Debug)]
enum Source {
    Random,
    /// Entries of a file in the order of the seed.
    Kept(Vec<Item>),
    Trace(Vec<trace::Entry>),
}

/// Tokens of a prompt that were drawn together: those of a number are the same in all prompts, others in no other one.
type Part = (Option<u64>, u32);

impl Data {
    /// Reads or prepares the data that the command line names.
    ///
    /// # Errors
    /// In words: a file that cannot be read or holds something else, with the line.
    pub(super) fn of(args: &DataArgs, endpoint: Endpoint, seed: u64) -> Result<Self, String> {
        let kept = |items| Source::Kept(shuffled(items, seed));
        // The command line is refused where a file is needed and none is named.
        let path = args.dataset_path.as_deref().unwrap_or(Path::new(""));
        let (source, words) = match args.dataset_name {
            DatasetName::Random => (Source::Random, "random words"),
            DatasetName::RandomIds => (Source::Random, "random token ids"),
            DatasetName::Trace => {
                let entries = trace::trace(path, args.trace_speed)?;
                (Source::Trace(entries), "a trace")
            }
            DatasetName::Sharegpt if args.multi_turn => {
                let talks = shuffled(files::talks(args, path)?, seed);
                (Source::Kept(talks.concat()), "sharegpt, turn by turn")
            }
            DatasetName::Sharegpt => (kept(files::sharegpt(args, path)?), "sharegpt"),
            DatasetName::Custom => (kept(files::own(args, path, endpoint)?), "prompts of a file"),
        };
        let (input_tokens, output_tokens) = match &source {
            Source::Random => (
                Some(args.random_prefix_len + args.random_input()),
                Some(args.random_output()),
            ),
            Source::Kept(items) => (None, alike(items)),
            Source::Trace(_) => (None, None),
        };
        Ok(Self {
            args: args.clone(),
            source,
            seed,
            words,
            input_tokens,
            output_tokens,
        })
    }

    /// The request with this number; a file begins anew after its last entry.
    pub(super) fn item(&self, number: u64) -> Item {
        let (parts, output_tokens) = match &self.source {
            Source::Random => {
                let mut lengths = random(self.seed, Purpose::Lengths, number);
                let mut length = |of| length(&mut lengths, of, self.args.random_range_ratio);
                let own = length(self.args.random_input());
                let parts = vec![(Some(0), self.args.random_prefix_len), (None, own)];
                (parts, length(self.args.random_output()))
            }
            Source::Kept(items) => return items[(number % items.len() as u64) as usize].clone(),
            Source::Trace(entries) => {
                let entry = &entries[(number % entries.len() as u64) as usize];
                (entry.parts.clone(), entry.output)
            }
        };
        self.drawn(number, &parts, output_tokens)
    }

    fn drawn(&self, number: u64, parts: &[Part], output_tokens: u32) -> Item {
        let random = |of: Option<u64>| match of {
            Some(shared) => random(self.seed, Purpose::Prefix, shared),
            None => random(self.seed, Purpose::Prompt, number),
        };
        let parts = parts.iter().filter(|(_, tokens)| *tokens > 0);
        let prompt = if self.args.has_ids() {
            let ids = |(of, tokens): &Part| words::ids(&mut random(*of), *tokens, self.args.vocab);
            Value::from(parts.flat_map(ids).collect::<Vec<u32>>())
        } else {
            let words = |(of, tokens): &Part| words::words(&mut random(*of), *tokens);
            Value::from(parts.map(words).collect::<Vec<String>>().join(" "))
        };
        Item {
            prompt,
            output_tokens,
            follows: false,
        }
    }

    /// The instants of a trace.
    pub(super) fn instants(&self) -> Option<Vec<Duration>> {
        match &self.source {
            Source::Trace(entries) => Some(entries.iter().map(|entry| entry.at).collect()),
            _ => None,
        }
    }

    /// A request of random words as long as that of a number, for the warm-up: what is measured must not be in a cache.
    pub(super) fn warmup(&self, number: u64) -> Item {
        let like = self.item(number);
        let words = match (&self.source, &like.prompt) {
            (Source::Random, _) => return like,
            (_, Value::String(text)) => text.split_whitespace().count(),
            (_, messages) => messages.to_string().split_whitespace().count(),
        };
        let words = u32::try_from(words.max(1)).unwrap_or(u32::MAX);
        self.drawn(number, &[(None, words)], like.output_tokens)
    }

    /// Entries of a file; `None` for what never runs out.
    pub(super) fn entries(&self) -> Option<usize> {
        match &self.source {
            Source::Random | Source::Trace(_) => None,
            Source::Kept(items) => Some(items.len()),
        }
    }
}

/// Entries in the order of a seed (Fisher and Yates).
fn shuffled<T>(mut entries: Vec<T>, seed: u64) -> Vec<T> {
    let mut random = random(seed, Purpose::Order, 0);
    for last in (1..entries.len()).rev() {
        entries.swap(last, random.below(last + 1));
    }
    entries
}

/// The output length of all entries, where they have one.
fn alike(items: &[Item]) -> Option<u32> {
    let first = items.first()?.output_tokens;
    let same = items.iter().all(|item| item.output_tokens == first);
    same.then_some(first)
}

#[cfg(test)]
mod tests;
