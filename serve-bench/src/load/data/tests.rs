//! Prompts of every kind of data, compared with files that are written here.

use std::path::PathBuf;

use clap::Parser;
use serde_json::json;

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    data: DataArgs,
}

fn data(arguments: &[&str], endpoint: Endpoint) -> Result<Data, String> {
    let line = Line::parse_from([&["run"], arguments].concat());
    Data::of(&line.data, endpoint, 5)
}

/// A file that is removed at the end of its test.
struct Written(PathBuf);

impl Written {
    fn new(name: &str, text: &str) -> Self {
        let name = format!("tplens-data-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn read(&self, name: &str, more: &[&str], endpoint: Endpoint) -> Result<Data, String> {
        let path = self.0.to_str().unwrap();
        let fixed = ["--dataset-name", name, "--dataset-path", path];
        data(&[&fixed, more].concat(), endpoint)
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

fn texts(data: &Data) -> Vec<(String, u32)> {
    let mut all: Vec<(String, u32)> = (0..data.entries().unwrap() as u64)
        .map(|number| match data.item(number) {
            Item {
                prompt: Value::String(text),
                output_tokens,
                ..
            } => (text, output_tokens),
            other => panic!("{other:?}"),
        })
        .collect();
    all.sort();
    all
}

#[test]
fn a_shared_prefix_stands_before_prompts_that_differ() {
    let data = data(
        &["--random-input-len", "5", "--random-prefix-len", "3"],
        Endpoint::Completions,
    )
    .unwrap();
    let words = |number| match data.item(number).prompt {
        Value::String(text) => text.split(' ').map(str::to_owned).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    let (one, other) = (words(0), words(1));
    assert_eq!((one.len(), other.len()), (8, 8));
    assert_eq!(one[..3], other[..3]);
    assert_ne!(one[3..], other[3..]);
    assert_eq!(
        (data.input_tokens, data.output_tokens),
        (Some(8), Some(128))
    );
}

#[test]
fn the_two_first_turns_of_a_conversation_are_prompt_and_length() {
    let file = Written::new(
        "sharegpt.json",
        &json!([
            {"id": "a", "conversations": [{"from": "human", "value": "one two three four five"}, {"from": "gpt", "value": "a b c d e f"}]},
            {"id": "b", "conversations": [{"from": "human", "value": "only one turn is here"}]},
            {"id": "c", "conversations": [{"from": "human", "value": "too short"}, {"from": "gpt", "value": "a b c d e f"}]},
            {"id": "d"},
        ])
        .to_string(),
    );
    let read = file.read("sharegpt", &[], Endpoint::Completions).unwrap();
    // The answer has six words.
    assert_eq!(texts(&read), [("one two three four five".to_owned(), 6)]);
    let more = ["--sharegpt-output-len", "9"];
    let read = file.read("sharegpt", &more, Endpoint::Chat).unwrap();
    assert_eq!(texts(&read)[0].1, 9);
    assert_eq!(read.output_tokens, Some(9));
}

#[test]
fn questions_and_own_prompts_are_lines() {
    let file = Written::new(
        "questions.jsonl",
        "{\"question\": \"why?\", \"human_answers\": []}\n\n{\"prompt\": \"how?\"}\n",
    );
    let read = file
        .read("openqa", &["--output-len", "7"], Endpoint::Chat)
        .unwrap();
    assert_eq!(
        texts(&read),
        [("how?".to_owned(), 7), ("why?".to_owned(), 7)]
    );
    let file = Written::new(
        "own.jsonl",
        "{\"prompt\": \"a\", \"output_tokens\": 3}\n{\"prompt\": \"b\"}\n",
    );
    let read = file.read("custom", &[], Endpoint::Completions).unwrap();
    assert_eq!(texts(&read), [("a".to_owned(), 3), ("b".to_owned(), 256)]);
    assert_eq!(read.output_tokens, None);
    let file = Written::new(
        "chats.jsonl",
        "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}]}\n",
    );
    let read = file.read("custom", &[], Endpoint::Chat).unwrap();
    assert_eq!(
        read.item(0).prompt,
        json!([{"role": "user", "content": "a"}])
    );
    // The warm-up says something else.
    assert!(read.warmup(0).prompt.is_string());
    let refused = file.read("custom", &[], Endpoint::Completions).unwrap_err();
    assert!(refused.ends_with("line 1: has `messages`, which go with --endpoint chat"));
}

#[test]
fn the_order_of_a_file_is_that_of_the_seed_and_begins_anew() {
    let text: String = (0..20)
        .map(|number| format!("{{\"prompt\": \"p{number}\"}}\n"))
        .collect();
    let file = Written::new("order.jsonl", &text);
    let read = |seed: u64| {
        let path = file.0.to_str().unwrap();
        let fixed = ["run", "--dataset-name", "custom", "--dataset-path", path];
        Data::of(&Line::parse_from(fixed).data, Endpoint::Completions, seed).unwrap()
    };
    let order = |data: &Data| (0..20).map(|n| data.item(n)).collect::<Vec<_>>();
    assert_eq!(order(&read(1)), order(&read(1)));
    assert_ne!(order(&read(1)), order(&read(2)));
    assert_eq!(read(1).item(20), read(1).item(0));
}
