//! The bytes of replies, in vLLM's form.

use std::io::Write;

use super::asked::Asked;
use super::manner::Manner;

/// The model's name.
pub(super) const MODEL: &str = "known-schedule";

/// The head of a streamed reply.
pub(super) const STREAM_HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";

/// The text of a token.
const TEXT: &str = " a";

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

/// Chunks that are the same in every reply of one kind, made once.
pub(super) struct Chunks {
    /// Chat: the role.
    role: Vec<u8>,
    /// A full chunk of content.
    content: [Vec<u8>; 2],
    /// A full chunk of reasoning.
    reasoning: Vec<u8>,
}

impl Chunks {
    /// Makes them.
    pub(super) fn new(manner: &Manner) -> Self {
        let full = |chat: bool, reasoning: bool| {
            let mut bytes = Vec::new();
            tokens_event(
                &mut bytes,
                manner,
                chat,
                reasoning,
                manner.tokens_per_chunk,
                "null",
            );
            bytes
        };
        let mut role = Vec::new();
        event(
            &mut role,
            &chat_chunk(r#"{"role":"assistant","content":""}"#, "null"),
        );
        Self {
            role,
            content: [full(false, false), full(true, false)],
            reasoning: full(true, true),
        }
    }

    /// What is sent when a streamed request is understood.
    pub(super) fn begin(&self, out: &mut Vec<u8>, manner: &Manner, asked: &Asked) {
        out.extend_from_slice(STREAM_HEAD);
        if asked.chat && manner.role_early {
            out.extend_from_slice(&self.role);
        }
    }

    /// The tokens from `from` up to `to` of a reply with `tokens`, with what follows the last.
    pub(super) fn tokens(
        &self,
        out: &mut Vec<u8>,
        manner: &Manner,
        asked: &Asked,
        (from, to, tokens): (u32, u32, u32),
    ) {
        if from == 0 && asked.chat && !manner.role_early {
            out.extend_from_slice(&self.role);
        }
        let mut next = from;
        while next < to {
            let end = next.saturating_add(manner.tokens_per_chunk).min(to);
            let reasoning = asked.chat && manner.is_reasoning(next, tokens);
            if end == tokens {
                let reason = if tokens < asked.tokens {
                    r#""stop""#
                } else {
                    r#""length""#
                };
                tokens_event(out, manner, asked.chat, reasoning, end - next, reason);
            } else if reasoning {
                out.extend_from_slice(&self.reasoning);
            } else {
                out.extend_from_slice(&self.content[usize::from(asked.chat)]);
            }
            next = end;
        }
        if to == tokens {
            if asked.usage && manner.usage {
                let object = object(asked.chat, true);
                let usage = usage(asked, tokens);
                event(
                    out,
                    &format!(
                        r#"{{"id":"cmpl-0","object":"{object}","created":0,"model":"{MODEL}","choices":[],"usage":{usage}}}"#
                    ),
                );
            }
            chunk(out, "data: [DONE]\n\n");
            out.extend_from_slice(b"0\r\n\r\n");
        }
    }
}

/// A reply that is not streamed.
pub(super) fn unstreamed(manner: &Manner, asked: &Asked, tokens: u32) -> Vec<u8> {
    let text = TEXT.repeat(tokens as usize);
    let choice = if asked.chat {
        format!(r#""message":{{"role":"assistant","content":"{text}"}}"#)
    } else {
        format!(r#""text":"{text}""#)
    };
    let reason = if tokens < asked.tokens {
        "stop"
    } else {
        "length"
    };
    let usage = if manner.usage {
        usage(asked, tokens)
    } else {
        "null".to_owned()
    };
    let object = object(asked.chat, false);
    let body = format!(
        r#"{{"id":"cmpl-0","object":"{object}","created":0,"model":"{MODEL}","choices":[{{"index":0,{choice},"finish_reason":"{reason}"}}],"usage":{usage}}}"#
    );
    whole("200 OK", body.as_bytes())
}

fn object(chat: bool, streamed: bool) -> &'static str {
    match (chat, streamed) {
        (false, _) => "text_completion",
        (true, true) => "chat.completion.chunk",
        (true, false) => "chat.completion",
    }
}

fn usage(asked: &Asked, tokens: u32) -> String {
    let total = asked.prompt_tokens + tokens as usize;
    format!(
        r#"{{"prompt_tokens":{},"total_tokens":{total},"completion_tokens":{tokens}}}"#,
        asked.prompt_tokens
    )
}

fn tokens_event(
    out: &mut Vec<u8>,
    manner: &Manner,
    chat: bool,
    reasoning: bool,
    tokens: u32,
    reason: &str,
) {
    let text = TEXT.repeat(tokens as usize);
    let data = if chat {
        let field = manner
            .reasoning
            .filter(|_| reasoning)
            .map_or("content", super::Reasoning::field);
        chat_chunk(&format!(r#"{{"{field}":"{text}"}}"#), reason)
    } else {
        format!(
            r#"{{"id":"cmpl-0","object":"text_completion","created":0,"model":"{MODEL}","choices":[{{"index":0,"text":"{text}","logprobs":null,"finish_reason":{reason},"stop_reason":null}}]}}"#
        )
    };
    event(out, &data);
}

fn chat_chunk(delta: &str, reason: &str) -> String {
    format!(
        r#"{{"id":"cmpl-0","object":"chat.completion.chunk","created":0,"model":"{MODEL}","choices":[{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":{reason}}}]}}"#
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
