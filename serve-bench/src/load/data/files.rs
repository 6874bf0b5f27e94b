//! Prompts from files: ShareGPT's conversations, open questions, and one's own. What they say is not recorded.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Take};
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Item, Prompt};
use crate::load::args::{DataArgs, Endpoint};

/// Bytes of a file that are read: ShareGPT's largest has 0.7 GB.
const MOST_BYTES: u64 = 1 << 30;

/// Bytes of a line, which is one prompt.
const LONGEST_LINE: u64 = 16 << 20;

/// Prompts and answers below this are left out, as vLLM's client does (benchmarks/datasets.py).
const SHORTEST: u32 = 4;

/// Prompts above this are left out, as vLLM's client does.
const LONGEST_PROMPT: u32 = 1024;

/// Prompts and answers together above this are left out, as vLLM's client does.
const LONGEST: u32 = 2048;

/// Output tokens of an own prompt that says none, as vLLM's client has it.
const OWN_OUTPUT: u32 = 256;

/// Output tokens at most: as many as a flag could ask for.
const MOST_OUTPUT: u32 = 4_000_000;

/// A conversation of ShareGPT's files.
#[derive(Deserialize)]
struct Conversation {
    #[serde(default)]
    conversations: Vec<Turn>,
}

/// What one side said.
#[derive(Deserialize)]
struct Turn {
    value: String,
}

/// A line of one's own file.
#[derive(Deserialize)]
struct Own {
    /// HC3's name for it.
    question: Option<String>,
    prompt: Option<String>,
    messages: Option<Value>,
    output_tokens: Option<u32>,
}

/// Every turn of each conversation with what was said before it: what a person said is asked, what the model said is as long.
pub(super) fn talks(args: &DataArgs) -> Result<Vec<Vec<Item>>, String> {
    let path = path(args)?;
    let fixed = args.sharegpt_output_len.or(args.output_len);
    let talk = |conversation: Conversation| {
        let mut messages = Vec::new();
        let mut items: Vec<Item> = Vec::new();
        for pair in conversation.conversations.chunks_exact(2) {
            messages.push(json!({"role": "user", "content": pair[0].value}));
            let output_tokens = fixed.unwrap_or_else(|| words(&pair[1].value).max(1));
            items.push(Item {
                prompt: Prompt::Messages(Value::Array(messages.clone())),
                output_tokens,
            });
            messages.push(json!({"role": "assistant", "content": pair[1].value}));
        }
        (!items.is_empty()).then_some(items)
    };
    let talks: Vec<Vec<Item>> = conversations(path)?.into_iter().filter_map(talk).collect();
    match talks.is_empty() {
        true => Err(format!(
            "{} holds no conversation of two turns",
            path.display()
        )),
        false => Ok(talks),
    }
}

fn conversations(path: &Path) -> Result<Vec<Conversation>, String> {
    let file = open(path)?;
    serde_json::from_reader(file).map_err(|error| match error.is_io() {
        true => unreadable(path, &error.into()),
        false => format!(
            "{} line {}: not a conversation of ShareGPT: {error}; the file is one JSON array of objects with `conversations`",
            path.display(),
            error.line()
        ),
    })
}

/// The first two turns of each conversation, those too short or too long left out.
pub(super) fn sharegpt(args: &DataArgs) -> Result<Vec<Item>, String> {
    let path = path(args)?;
    let all = conversations(path)?;
    let fixed = args.sharegpt_output_len.or(args.output_len);
    let item = |conversation: Conversation| {
        let mut turns = conversation.conversations.into_iter();
        let (prompt, answer) = (turns.next()?.value, turns.next()?.value);
        let asked = words(&prompt);
        let output_tokens = fixed.unwrap_or_else(|| words(&answer));
        let fits = asked >= SHORTEST
            && (fixed.is_some() || output_tokens >= SHORTEST)
            && asked <= LONGEST_PROMPT
            && asked + output_tokens <= LONGEST.max(fixed.unwrap_or(0) + LONGEST_PROMPT);
        fits.then_some(Item {
            prompt: Prompt::Text(prompt),
            output_tokens,
        })
    };
    some(path, all.into_iter().filter_map(item).collect())
}

/// One's own prompts or chats, each with its length where it says one.
pub(super) fn own(args: &DataArgs, endpoint: Endpoint) -> Result<Vec<Item>, String> {
    let path = path(args)?;
    let fixed = args.custom_output_len.or(args.output_len);
    let mut items = Vec::new();
    lines(path, |own: Own| {
        let prompt = match (own.prompt.or(own.question), own.messages) {
            (Some(text), None) if !text.is_empty() => Prompt::Text(text),
            (None, Some(Value::Array(list))) if endpoint != Endpoint::Chat && !list.is_empty() => {
                return Err("has `messages`, which go with --endpoint chat");
            }
            (None, Some(list @ Value::Array(_))) if list != Value::Array(Vec::new()) => {
                Prompt::Messages(list)
            }
            _ => return Err("needs a `prompt`, or a list of `messages`, and not both"),
        };
        let output_tokens = fixed.or(own.output_tokens).unwrap_or(OWN_OUTPUT);
        if !(1..=MOST_OUTPUT).contains(&output_tokens) {
            return Err("has `output_tokens` that are not 1 to 4000000");
        }
        items.push(Item {
            prompt,
            output_tokens,
        });
        Ok(())
    })?;
    some(path, items)
}

/// Words of a text, which stand for its tokens.
fn words(text: &str) -> u32 {
    u32::try_from(text.split_whitespace().count()).unwrap_or(u32::MAX)
}

fn path(args: &DataArgs) -> Result<&Path, String> {
    args.dataset_path
        .as_deref()
        .ok_or_else(|| "name the file with --dataset-path".to_owned())
}

/// A file of which no more than [`MOST_BYTES`] are read; one that has more is refused, not cut.
struct Bounded<R>(Take<R>);

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer)?;
        match self.0.limit() {
            0 => Err(bounded::too_large(MOST_BYTES)),
            _ => Ok(read),
        }
    }
}

fn open(path: &Path) -> Result<BufReader<Bounded<File>>, String> {
    File::open(path)
        .map(|file| BufReader::new(Bounded(file.take(MOST_BYTES + 1))))
        .map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &io::Error) -> String {
    format!("--dataset-path: cannot read {}: {error}", path.display())
}

/// Takes each line that is not empty; a wrong one is named by file and number.
fn lines<T: DeserializeOwned>(
    path: &Path,
    mut take: impl FnMut(T) -> Result<(), &'static str>,
) -> Result<(), String> {
    let wrong = |number: usize, what: &str| format!("{} line {number}: {what}", path.display());
    let mut file = open(path)?;
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = (&mut file).take(LONGEST_LINE).read_until(b'\n', &mut line);
        let length = read.map_err(|error| unreadable(path, &error))?;
        if length == 0 {
            break;
        }
        if length as u64 == LONGEST_LINE {
            return Err(wrong(number, "is longer than 16 MiB"));
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let entry = serde_json::from_slice(&line)
            .map_err(|error| wrong(number, &format!("not such a JSON object: {error}")))?;
        take(entry).map_err(|what| wrong(number, what))?;
    }
    Ok(())
}

fn some(path: &Path, items: Vec<Item>) -> Result<Vec<Item>, String> {
    if items.is_empty() {
        return Err(format!(
            "{} holds no prompt that can be used; name another --dataset-path or --dataset-name",
            path.display()
        ));
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_beyond_the_limit_is_refused_and_not_cut() {
        let read = |most: u64| io::read_to_string(Bounded(b"12345".take(most + 1)));
        assert_eq!(read(5).unwrap(), "12345");
        assert_eq!(read(4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }
}
