//! The bodies of requests, made before the load begins.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::args::{Args, Endpoint};
use super::budget::most_chunks;
use super::data::{Data, Item, Prompt};
use super::read::AskedFor;

/// Bytes of all bodies together that are kept ready at most.
const MAX_BYTES: usize = 4 << 30;

/// Bytes of bodies that a run without a number of requests keeps ready; it begins anew after the last.
const BYTES_BY_TIME: usize = 128 << 20;

/// Bodies that such a run keeps ready at most.
const BODIES_BY_TIME: usize = 1 << 16;

/// Numbers of warm-up prompts begin here, so that a warm-up leaves nothing in a cache that a measured prompt begins with.
const FIRST_WARMUP: u64 = 1 << 32;

/// One request as it is sent.
#[derive(Debug, Clone)]
pub(super) struct Request {
    /// Its body.
    pub(super) body: Bytes,
    /// Chunks with tokens that its reply may have, where the tokens are known that it asks for.
    pub(super) most_chunks: Option<usize>,
    /// How long after the turn before it is sent, where it goes on with a conversation.
    pub(super) think_time: Option<Duration>,
}

/// The bodies of a run.
#[derive(Debug)]
pub(super) struct Bodies {
    /// Warm-up requests.
    pub(super) warmups: Vec<Request>,
    /// Measured requests; a run that needs more begins anew.
    pub(super) measured: Vec<Request>,
    /// Output tokens that each measured one asks for.
    pub(super) output_tokens: Vec<u32>,
    /// Whether each measured one goes on with the conversation of the one before.
    follows: Vec<bool>,
}

impl Bodies {
    /// A measured request by its number.
    pub(super) fn measured(&self, number: u32) -> Request {
        self.measured[number as usize % self.measured.len()].clone()
    }

    /// Whether a measured request goes on with the conversation of the one before.
    pub(super) fn follows(&self, number: u32) -> bool {
        self.follows[number as usize % self.follows.len()]
    }
}

/// Makes the bodies of so many measured requests; without an exact number fewer, where they would be large.
///
/// # Errors
/// In words: they do not fit into memory.
pub(super) fn bodies(
    args: &Args,
    data: &Data,
    model: &str,
    requests: u32,
    is_exact: bool,
) -> Result<Bodies, String> {
    let mut room = MAX_BYTES;
    let limit = asked_for(args, model).max_tokens;
    let request = |item: Item| Request {
        most_chunks: most_chunks(limit.map(|limit| own_or(limit, item.output_tokens))),
        body: body(args, model, item),
        think_time: None,
    };
    let warmups = (0..u64::from(args.traffic.warmups()))
        .map(|number| {
            let request = request(data.warmup(FIRST_WARMUP + number));
            room = room.checked_sub(request.body.len()).ok_or_else(too_large)?;
            Ok(request)
        })
        .collect::<Result<Vec<Request>, String>>()?;
    let (mut measured, mut output_tokens, mut bytes) = (Vec::new(), Vec::new(), 0);
    let mut follows = Vec::new();
    for number in 0..u64::from(requests) {
        let item = data.item(number);
        follows.push(data.follows(number));
        output_tokens.push(item.output_tokens);
        let mut request = request(item);
        request.think_time = args.data.think_time.filter(|_| data.follows(number));
        bytes += request.body.len();
        measured.push(request);
        if bytes > room {
            return Err(too_large());
        }
        if !is_exact && (bytes > BYTES_BY_TIME || measured.len() >= BODIES_BY_TIME) {
            break;
        }
    }
    Ok(Bodies {
        warmups,
        measured,
        output_tokens,
        follows,
    })
}

fn too_large() -> String {
    "the requests are more than 4 GiB together; ask for fewer --num-prompts or a shorter --input-len"
        .to_owned()
}

/// The limit of every body, or that of the request where each has its own.
pub(super) fn own_or(limit: u32, own: u32) -> u32 {
    if limit == u32::MAX { own } else { limit }
}

/// What every body asks for, with what `--extra-body` put over it; a limit of `u32::MAX` is that of the request.
pub(super) fn asked_for(args: &Args, model: &str) -> AskedFor {
    let extra = |name: &str| args.extra_body.as_ref()?.get(name);
    let limit = match extra("max_tokens") {
        Some(value) => value.as_u64().and_then(|limit| u32::try_from(limit).ok()),
        // Each request has its own; the caller says which.
        None => Some(u32::MAX),
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
fn body(args: &Args, model: &str, item: Item) -> Bytes {
    let mut members = Map::new();
    let mut put = |name: &str, value: Value| drop(members.insert(name.to_owned(), value));
    put("model", json!(model));
    match (args.endpoint(), item.prompt) {
        (_, Prompt::Messages(messages)) => put("messages", messages),
        (Endpoint::Completions, Prompt::Text(text)) => put("prompt", json!(text)),
        (Endpoint::Completions, Prompt::Ids(ids)) => put("prompt", json!(ids)),
        (Endpoint::Chat, Prompt::Text(text)) => {
            put("messages", json!([{"role": "user", "content": text}]));
        }
        // The command line is refused before it comes to this.
        (Endpoint::Chat, Prompt::Ids(ids)) => {
            put("messages", json!([{"role": "user", "content": ids}]));
        }
    }
    put("max_tokens", json!(item.output_tokens));
    for (name, value) in args.sampling.members() {
        put(name, value);
    }
    if args.data.ignores_eos() {
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
        let data = Data::of(&line.args.data, line.args.endpoint(), 5).unwrap();
        let bodies = bodies(&line.args, &data, "m", 1, true).unwrap();
        let read = |request: &Request| serde_json::from_slice(&request.body).unwrap();
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
        // Without one it is that of each request.
        assert_eq!(limit("{}"), ("m".to_owned(), Some(u32::MAX)));
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
