//! The bytes of replies, in vLLM's form.

use std::io::Write;

use super::asked::Asked;

/// The model's name.
pub(super) const MODEL: &str = "known-schedule";

/// The head of a streamed reply.
pub(super) const STREAM_HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";

/// A reply that is whole: status, type and body.
pub(super) fn whole(status: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "HTTP/1.1 {status}\r\nserver: uvicorn\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// An error as vLLM words it.
pub(super) fn refusal(code: u16, message: &str) -> Vec<u8> {
    let body = serde_json::json!({"error": {"message": message, "type": "BadRequestError", "param": null, "code": code}});
    let status = match code {
        404 => "404 Not Found",
        _ => "400 Bad Request",
    };
    whole(status, body.to_string().as_bytes())
}

/// The event of a token, the same in every reply but for the last.
pub(super) struct Chunks {
    token: Vec<u8>,
}

impl Chunks {
    /// Makes it.
    pub(super) fn new() -> Self {
        let mut token = Vec::new();
        event(&mut token, &content("null"));
        Self { token }
    }

    /// The tokens from `from` up to `to` of a reply, with what follows the last.
    pub(super) fn tokens(&self, out: &mut Vec<u8>, asked: &Asked, from: u32, to: u32) {
        for token in from..to {
            if token + 1 == asked.tokens {
                event(out, &content(r#""length""#));
            } else {
                out.extend_from_slice(&self.token);
            }
        }
        if to < asked.tokens {
            return;
        }
        if asked.usage {
            let (prompt, tokens) = (asked.prompt_tokens, asked.tokens);
            let total = prompt + tokens as usize;
            let usage = format!(
                r#"{{"prompt_tokens":{prompt},"total_tokens":{total},"completion_tokens":{tokens}}}"#
            );
            event(
                out,
                &format!(
                    r#"{{"id":"cmpl-0","object":"text_completion","created":0,"model":"{MODEL}","choices":[],"usage":{usage}}}"#
                ),
            );
        }
        chunk(out, "data: [DONE]\n\n");
        out.extend_from_slice(b"0\r\n\r\n");
    }
}

/// A token; `reason` as JSON.
fn content(reason: &str) -> String {
    format!(
        r#"{{"id":"cmpl-0","object":"text_completion","created":0,"model":"{MODEL}","choices":[{{"index":0,"text":" a","logprobs":null,"finish_reason":{reason},"stop_reason":null}}]}}"#
    )
}

/// An event as one chunk of HTTP.
fn event(out: &mut Vec<u8>, data: &str) {
    chunk(out, &format!("data: {data}\n\n"));
}

fn chunk(out: &mut Vec<u8>, data: &str) {
    // Writing to a vector does not fail.
    let _ = write!(out, "{:x}\r\n{data}\r\n", data.len());
}
