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
    /// What it says.
    pub(super) prompt: Prompt,
    /// Output tokens to ask for.
    pub(super) output_tokens: u32,
}

/// What a request says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Prompt {
    /// Text.
    Text(String),
    /// Token ids; only the completions endpoint takes them.
    Ids(Vec<u32>),
    /// Messages of a chat as they are.
    Messages(Value),
}

/// Where the requests of a run come from.
#[derive(Debug)]
pub(super) struct Data {
    source: Source,
    seed: u64,
    /// What it is, in words.
    pub(super) words: String,
    /// Prompt tokens of each request, where they are all alike.
    pub(super) input_tokens: Option<u32>,
    /// Output tokens of each request, where they are all alike.
    pub(super) output_tokens: Option<u32>,
    /// Whether a tokenizer was named that is not used.
    pub(super) without_tokenizer: bool,
}

#[derive(Debug)]
enum Source {
    Random(Random),
    /// Entries in the order of the seed; of conversations whether each goes on with the one before.
    Kept(Vec<Item>, Vec<bool>),
    /// A trace.
    Trace(Vec<trace::Entry>),
}

/// Random prompts.
#[derive(Debug)]
struct Random {
    input: u32,
    output: u32,
    ratio: f64,
    prefix: u32,
    /// Token ids below this number; words where there is none.
    vocabulary: Option<u32>,
}

impl Data {
    /// Reads or prepares the data that the command line names.
    ///
    /// # Errors
    /// In words: a file that cannot be read or holds something else, with the line.
    pub(super) fn of(args: &DataArgs, endpoint: Endpoint, seed: u64) -> Result<Self, String> {
        let (source, words) = match args.dataset_name {
            DatasetName::Random | DatasetName::RandomIds => {
                let vocabulary = args.has_ids().then_some(args.vocab);
                let random = Random {
                    input: args.random_input(),
                    output: args.random_output(),
                    ratio: args.random_range_ratio,
                    prefix: args.random_prefix_len,
                    vocabulary,
                };
                let kind = if vocabulary.is_some() {
                    "random token ids"
                } else {
                    "random words"
                };
                (Source::Random(random), kind.to_owned())
            }
            DatasetName::Trace => {
                let path = args.dataset_path.as_deref().unwrap_or(Path::new(""));
                let entries = trace::trace(path, args.trace_speed)?;
                (Source::Trace(entries), "a trace".to_owned())
            }
            DatasetName::Sharegpt if args.multi_turn => {
                let talks = shuffled(files::talks(args)?, seed);
                let follows = talks
                    .iter()
                    .flat_map(|talk| (0..talk.len()).map(|turn| turn > 0));
                let follows = follows.collect();
                let words = "sharegpt, turn by turn".to_owned();
                (Source::Kept(talks.concat(), follows), words)
            }
            DatasetName::Sharegpt => {
                let entries = shuffled(files::sharegpt(args)?, seed);
                (Source::Kept(entries, Vec::new()), "sharegpt".to_owned())
            }
            DatasetName::Custom => {
                let entries = shuffled(files::own(args, endpoint)?, seed);
                let words = "prompts of a file".to_owned();
                (Source::Kept(entries, Vec::new()), words)
            }
        };
        let (input_tokens, output_tokens) = match &source {
            Source::Random(random) => (Some(random.prefix + random.input), Some(random.output)),
            Source::Kept(items, _) => (None, alike(items)),
            Source::Trace(..) => (None, None),
        };
        Ok(Self {
            source,
            seed,
            words,
            input_tokens,
            output_tokens,
            without_tokenizer: args.tokenizer.is_some(),
        })
    }

    /// The request with this number; a file begins anew after its last entry.
    pub(super) fn item(&self, number: u64) -> Item {
        match &self.source {
            Source::Random(random) => random.item(self.seed, number),
            Source::Kept(items, _) => items[(number % items.len() as u64) as usize].clone(),
            Source::Trace(entries) => {
                self.traced(&entries[(number % entries.len() as u64) as usize], number)
            }
        }
    }

    /// The request of a trace's entry: what its blocks hold is the same wherever they stand.
    fn traced(&self, entry: &trace::Entry, number: u64) -> Item {
        let random = |block: Option<u64>| match block {
            Some(block) => random(self.seed, Purpose::Prefix, block),
            None => random(self.seed, Purpose::Prompt, number),
        };
        let parts = entry.parts().into_iter();
        let words = parts.map(|(of, tokens)| words::words(&mut random(of), tokens));
        Item {
            prompt: Prompt::Text(words.collect::<Vec<String>>().join(" ")),
            output_tokens: entry.output,
        }
    }

    /// Whether a request goes on with the conversation of the one before.
    pub(super) fn follows(&self, number: u64) -> bool {
        match &self.source {
            Source::Kept(items, follows) => {
                let at = (number % items.len() as u64) as usize;
                follows.get(at).is_some_and(|follows| *follows)
            }
            _ => false,
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
        match &self.source {
            Source::Random(random) => random.item(self.seed, number),
            Source::Kept(..) | Source::Trace(..) => {
                let like = self.item(number);
                let words = match &like.prompt {
                    Prompt::Text(text) => text.split_whitespace().count(),
                    Prompt::Ids(ids) => ids.len(),
                    Prompt::Messages(messages) => messages.to_string().split_whitespace().count(),
                };
                let mut random = random(self.seed, Purpose::Prompt, number);
                let words = u32::try_from(words.max(1)).unwrap_or(u32::MAX);
                Item {
                    prompt: Prompt::Text(words::words(&mut random, words)),
                    ..like
                }
            }
        }
    }

    /// Entries of a file; `None` for what never runs out.
    pub(super) fn entries(&self) -> Option<usize> {
        match &self.source {
            Source::Random(_) | Source::Trace(..) => None,
            Source::Kept(items, _) => Some(items.len()),
        }
    }
}

impl Random {
    fn item(&self, seed: u64, number: u64) -> Item {
        let mut lengths = random(seed, Purpose::Lengths, number);
        let input = length(&mut lengths, self.input, self.ratio);
        let output_tokens = length(&mut lengths, self.output, self.ratio);
        let mut own = random(seed, Purpose::Prompt, number);
        let mut shared = random(seed, Purpose::Prefix, 0);
        let prompt = match self.vocabulary {
            Some(vocabulary) => {
                let mut ids = words::ids(&mut shared, self.prefix, vocabulary);
                ids.extend(words::ids(&mut own, input, vocabulary));
                Prompt::Ids(ids)
            }
            None => {
                let own = words::words(&mut own, input);
                Prompt::Text(match self.prefix {
                    0 => own,
                    prefix => words::words(&mut shared, prefix) + " " + &own,
                })
            }
        };
        Item {
            prompt,
            output_tokens,
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
