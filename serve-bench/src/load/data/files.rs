//! Prompts from files: ShareGPT's conversations, open questions, and one's own. What they say is not recorded.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use super::Item;
use crate::load::args::{DataArgs, Endpoint};

/// Bytes of a file that are read: ShareGPT's largest has 0.7 GB.
const MOST_BYTES: u64 = 1 << 30;

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
pub(super) fn talks(args: &DataArgs, path: &Path) -> Result<Vec<Vec<Item>>, String> {
    let fixed = args.sharegpt_output_len.or(args.output_len);
    let talk = |conversation: Conversation| {
        let mut messages = Vec::new();
        let turn = |pair: &[Turn]| {
            messages.push(json!({"role": "user", "content": pair[0].value}));
            let item = Item {
                prompt: Value::Array(messages.clone()),
                output_tokens: fixed.unwrap_or_else(|| words(&pair[1].value).max(1)),
                follows: messages.len() > 1,
            };
            messages.push(json!({"role": "assistant", "content": pair[1].value}));
            item
        };
        let turns = conversation.conversations.chunks_exact(2);
        turns.map(turn).collect::<Vec<Item>>()
    };
    let talks = conversations(path)?.into_iter().map(talk);
    some(path, talks.filter(|talk| !talk.is_empty()).collect())
}

fn conversations(path: &Path) -> Result<Vec<Conversation>, String> {
    serde_json::from_slice(&read(path, MOST_BYTES)?).map_err(|error| {
        format!(
            "{} line {}: not a conversation of ShareGPT: {error}; the file is one JSON array of objects with `conversations`",
            path.display(),
            error.line()
        )
    })
}

/// The first two turns of each conversation, those too short or too long left out.
pub(super) fn sharegpt(args: &DataArgs, path: &Path) -> Result<Vec<Item>, String> {
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
            prompt: prompt.into(),
            output_tokens,
            follows: false,
        })
    };
    some(path, all.into_iter().filter_map(item).collect())
}

/// One's own prompts or chats, each with its length where it says one.
pub(super) fn own(args: &DataArgs, path: &Path, endpoint: Endpoint) -> Result<Vec<Item>, String> {
    let fixed = args.custom_output_len.or(args.output_len);
    let item = |own: Own| {
        let prompt = match (own.prompt.or(own.question), own.messages) {
            (Some(text), None) if !text.is_empty() => text.into(),
            (None, Some(Value::Array(list))) if endpoint != Endpoint::Chat && !list.is_empty() => {
                return Err("has `messages`, which go with --endpoint chat");
            }
            (None, Some(list @ Value::Array(_))) if list != json!([]) => list,
            _ => return Err("needs a `prompt`, or a list of `messages`, and not both"),
        };
        let output_tokens = fixed.or(own.output_tokens).unwrap_or(OWN_OUTPUT);
        if !(1..=MOST_OUTPUT).contains(&output_tokens) {
            return Err("has `output_tokens` that are not 1 to 4000000");
        }
        Ok(Item {
            prompt,
            output_tokens,
            follows: false,
        })
    };
    let text = read(path, MOST_BYTES)?;
    let lines = (1..).zip(text.split(|byte| *byte == b'\n'));
    let items = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
    let items = items.map(|(number, line)| {
        let own = serde_json::from_slice(line);
        let own = own.map_err(|error| format!("not such a JSON object: {error}"));
        let item = own.and_then(|own| item(own).map_err(str::to_owned));
        item.map_err(|what| format!("{} line {number}: {what}", path.display()))
    });
    some(path, items.collect::<Result<_, String>>()?)
}

/// Words of a text, which stand for its tokens.
fn words(text: &str) -> u32 {
    u32::try_from(text.split_whitespace().count()).unwrap_or(u32::MAX)
}

/// The bytes of the file that was named.
pub(super) fn read(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    bounded::read(path, most)
        .map_err(|error| format!("--dataset-path: cannot read {}: {error}", path.display()))
}

fn some<T>(path: &Path, items: Vec<T>) -> Result<Vec<T>, String> {
    if items.is_empty() {
        return Err(format!(
            "{} holds no prompt that can be used; name another --dataset-path or --dataset-name",
            path.display()
        ));
    }
    Ok(items)
}
