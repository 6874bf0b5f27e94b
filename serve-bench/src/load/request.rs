//! The bodies of requests, made before the load begins.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::args::{Args, Endpoint, PromptArg};
use super::prompt::{Kind, prompt};
use super::read::AskedFor;

/// Bytes of all bodies together that are kept ready at most.
const MAX_BYTES: usize = 4 << 30;

/// Numbers of warm-up prompts begin here, so that a warm-up leaves nothing in a cache that a measured prompt begins with.
const FIRST_WARMUP: u64 = 1 << 32;

/// The bodies of a run.
#[derive(Debug)]
pub(super) struct Bodies {
    /// Warm-up requests.
    pub(super) warmups: Vec<Bytes>,
    /// Measured requests.
    pub(super) measured: Vec<Bytes>,
}

/// Makes all bodies.
///
/// # Errors
/// In words: they do not fit into memory.
pub(super) fn bodies(args: &Args, model: &str, seed: u64) -> Result<Bodies, String> {
    let mut room = MAX_BYTES;
    let mut phase = |first: u64, count: u32| {
        (0..u64::from(count))
            .map(|number| {
                let body = body(args, model, seed, first + number);
                room = room.checked_sub(body.len()).ok_or(
                    "the requests are more than 4 GiB together; ask for fewer --requests or --input-tokens",
                )?;
                Ok(body)
            })
            .collect::<Result<Vec<Bytes>, String>>()
    };
    Ok(Bodies {
        warmups: phase(FIRST_WARMUP, args.warmups())?,
        measured: phase(0, args.measured())?,
    })
}

/// What every body asks for, with what `--extra-body` put over it.
pub(super) fn asked_for(args: &Args, model: &str) -> AskedFor {
    let extra = |name: &str| args.extra_body.as_ref()?.get(name);
    let limit = match extra("max_tokens") {
        Some(value) => value.as_u64().and_then(|limit| u32::try_from(limit).ok()),
        None => Some(args.output_tokens),
    };
    // With these a count is of several replies, or another limit holds.
    let is_other = ["n", "best_of", "max_completion_tokens", "use_beam_search"]
        .iter()
        .any(|name| extra(name).is_some());
    AskedFor {
        model: extra("model")
            .and_then(Value::as_str)
            .unwrap_or(model)
            .to_owned(),
        max_tokens: limit.filter(|_| !is_other),
        streamed: !args.no_stream,
    }
}

/// The body of one request.
fn body(args: &Args, model: &str, seed: u64, number: u64) -> Bytes {
    let kind = match args.prompt {
        PromptArg::Words => Kind::Words,
        PromptArg::TokenIds => Kind::TokenIds {
            vocabulary: args.vocab,
        },
    };
    let prompt = prompt(kind, args.input_tokens, seed, number);
    let mut members = Map::new();
    let mut put = |name: &str, value: Value| drop(members.insert(name.to_owned(), value));
    put("model", json!(model));
    match args.endpoint {
        Endpoint::Completions => put("prompt", prompt),
        Endpoint::Chat => put("messages", json!([{"role": "user", "content": prompt}])),
    }
    put("max_tokens", json!(args.output_tokens));
    put("temperature", json!(0));
    if !args.no_ignore_eos {
        put("ignore_eos", json!(true));
    }
    put("stream", json!(!args.no_stream));
    if !args.no_stream {
        put("stream_options", json!({"include_usage": true}));
    }
    for (name, value) in args.extra_body.iter().flatten() {
        put(name, value.clone());
    }
    Bytes::from(Value::Object(members).to_string())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn made(arguments: &[&str]) -> (Value, Value) {
        let fixed = ["run", "--base-url", "http://x", "--concurrency", "1"];
        let line = Line::parse_from(fixed.iter().chain(arguments));
        let bodies = bodies(&line.args, "m", 5).unwrap();
        let read = |body: &Bytes| serde_json::from_slice(body).unwrap();
        (read(&bodies.measured[0]), read(&bodies.warmups[0]))
    }

    #[test]
    fn a_request_asks_for_a_fixed_length_and_a_count() {
        let (body, warmup) = made(&["--input-tokens", "2", "--output-tokens", "3"]);
        assert_eq!(body["max_tokens"], 3);
        assert_eq!(body["ignore_eos"], true);
        assert_eq!(body["stream_options"]["include_usage"], true);
        assert_eq!(body["prompt"].as_str().unwrap().split(' ').count(), 2);
        assert_ne!(body["prompt"], warmup["prompt"]);
    }

    #[test]
    fn the_limit_is_that_of_the_body() {
        let limit = |extra: &str| {
            let fixed = ["run", "--base-url", "http://x", "--output-tokens", "3"];
            let more = ["--extra-body", extra];
            let line = Line::parse_from(fixed.iter().chain(&more));
            let asked = asked_for(&line.args, "m");
            (asked.model, asked.max_tokens)
        };
        assert_eq!(limit("{}"), ("m".to_owned(), Some(3)));
        assert_eq!(
            limit(r#"{"max_tokens":7,"model":"x"}"#),
            ("x".to_owned(), Some(7))
        );
        assert_eq!(limit(r#"{"n":2}"#), ("m".to_owned(), None));
        assert_eq!(limit(r#"{"max_tokens":null}"#), ("m".to_owned(), None));
    }

    #[test]
    fn chat_no_stream_and_extra_members() {
        let (body, _) = made(&[
            "--endpoint",
            "chat",
            "--no-stream",
            "--no-ignore-eos",
            "--extra-body",
            r#"{"temperature":0.5,"top_k":1}"#,
        ]);
        assert_eq!(body["messages"][0]["role"], "user");
        assert_eq!(body["stream"], false);
        assert!(body.get("stream_options").is_none() && body.get("ignore_eos").is_none());
        assert_eq!(
            (&body["temperature"], &body["top_k"]),
            (&json!(0.5), &json!(1))
        );
    }
}
