//! The bodies of requests, made before the load begins.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::args::{Args, Endpoint};
use super::data::{Data, Item};

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
    /// Output tokens that its reply may have, where that is known.
    pub(super) limit: Option<u32>,
    /// Whether it goes on with the conversation of the one before.
    pub(super) follows: bool,
    /// How long after that one's reply it is sent.
    pub(super) think_time: Option<Duration>,
}

/// The bodies of a run.
#[derive(Debug)]
pub(super) struct Bodies {
    /// Warm-up requests.
    pub(super) warmups: Vec<Request>,
    /// Measured requests.
    pub(super) measured: Vec<Request>,
    /// Output tokens of the measured ones, by their data.
    pub(super) tokens: u64,
}

/// The request with a number; a run that needs more begins anew.
pub(super) fn of(requests: &[Request], number: u32) -> &Request {
    &requests[number as usize % requests.len()]
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
    let request = |item: Item| Request {
        limit: limit(args, item.output_tokens),
        follows: item.follows,
        think_time: args.data.think_time.filter(|_| item.follows),
        body: body(args, model, item),
    };
    let warmups = (0..u64::from(args.traffic.warmups()))
        .map(|number| {
            let request = request(data.warmup(FIRST_WARMUP + number));
            room = room.checked_sub(request.body.len()).ok_or_else(too_large)?;
            Ok(request)
        })
        .collect::<Result<Vec<Request>, String>>()?;
    let (mut measured, mut bytes, mut tokens) = (Vec::new(), 0, 0);
    for number in 0..u64::from(requests) {
        let item = data.item(number);
        tokens += u64::from(item.output_tokens);
        let request = request(item);
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
        tokens,
    })
}

fn too_large() -> String {
    "the requests are more than 4 GiB together; ask for fewer --num-prompts or a shorter --input-len"
        .to_owned()
}

/// What `--extra-body` puts over a member of every body.
fn extra<'a>(args: &'a Args, name: &str) -> Option<&'a Value> {
    args.extra_body.as_ref()?.get(name)
}

/// Output tokens that a reply may have where its request asks for these; `None` where the body is made so that this is not known.
fn limit(args: &Args, own: u32) -> Option<u32> {
    // With these a count is of several replies, or another limit holds.
    let others = ["n", "best_of", "max_completion_tokens", "use_beam_search"];
    match extra(args, "max_tokens") {
        _ if others.iter().any(|name| extra(args, name).is_some()) => None,
        Some(limit) => limit.as_u64()?.try_into().ok(),
        None => Some(own),
    }
}

/// The body of one request.
fn body(args: &Args, model: &str, item: Item) -> Bytes {
    let mut members = Map::new();
    let mut put = |name: &str, value: Value| drop(members.insert(name.to_owned(), value));
    put("model", json!(model));
    match (args.endpoint(), item.prompt) {
        (Endpoint::Completions, prompt) => put("prompt", prompt),
        (Endpoint::Chat, messages @ Value::Array(_)) => put("messages", messages),
        (Endpoint::Chat, text) => put("messages", json!([{"role": "user", "content": text}])),
    }
    put("max_tokens", json!(item.output_tokens));
    for (name, value) in json!(args.sampling).as_object().into_iter().flatten() {
        if !value.is_null() {
            put(name, value.clone());
        }
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
            let fixed = ["run", "--base-url", "http://x"];
            let more = ["--extra-body", extra];
            let line = Line::parse_from(fixed.iter().chain(&more));
            super::limit(&line.args, 3)
        };
        for (extra, expected) in [
            ("{}", Some(3)),
            (r#"{"max_tokens":7,"model":"x"}"#, Some(7)),
            (r#"{"n":2}"#, None),
            (r#"{"max_tokens":null}"#, None),
        ] {
            assert_eq!(limit(extra), expected, "{extra}");
        }
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
