//! What a protocol is: who is asked in which order, with which bodies and headers, and how keys and values are given back.

use std::fmt;

use crate::Body;

/// The protocol of one kind of engine.
pub trait Dialect: Sync + fmt::Debug {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// Who is asked when.
    fn order(&self) -> Order;

    /// Whether a request can be split at all.
    ///
    /// # Errors
    /// It asks for several replies or prompts and the protocol hands over one, or for what only a prefill engine knows.
    fn check(&self, body: &Body<'_>) -> Result<(), Unsupported> {
        one_reply(body)
    }

    /// What a prefill engine is asked; `None` where the router does not ask it.
    fn prefill(&self, body: &Body<'_>, leg: &Leg<'_>) -> Option<Ask>;

    /// What a prefill engine's reply hands over; `None` where it is not the reply that does. `Err` where it should and does not: a
    /// decode engine would prefill without a word (vllm-project/vllm#26896).
    ///
    /// # Errors
    /// The reply holds nothing to hand over.
    fn handover(&self, reply: &Body<'_>) -> Result<Option<Handover>, Unsupported>;

    /// What a decode engine is asked.
    fn decode(&self, body: &Body<'_>, leg: &Leg<'_>, handover: Option<&Handover>) -> Ask;

    /// How a prefill engine's blocks are given back where no decode engine took them.
    fn release(&self) -> Release;

    /// What a decode engine is asked to take blocks that nobody wants any more: one token, whose end frees both engines' blocks. It is
    /// not closed before, because what dies between two schedulers frees nothing.
    fn release_ask(&self, body: &Body<'_>, leg: &Leg<'_>, handover: &Handover) -> Option<Ask> {
        if self.release() != Release::ThroughDecode {
            return None;
        }
        let short = one_token(body, &[]);
        let short = Body::read(short.as_bytes()).ok()?;
        Some(self.decode(&short, leg, Some(handover)))
    }

    /// How long a prefill engine keeps blocks that nobody fetches.
    fn lease(&self) -> Lease;

    /// Whether a request needs the engine's name, which its bootstrap server tells.
    fn needs_engine_id(&self) -> bool {
        false
    }
}

/// Who is asked when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The prefill engine, and with what it replies the decode engine.
    PrefillFirst,
    /// Both at once.
    Both,
}

/// How blocks are given back that no decode engine took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// A decode engine takes them for one token, or is closed before: its abort frees the prefill engine's blocks, too.
    ThroughDecode,
    /// Both requests are closed.
    CloseBoth,
    /// Nobody can: the lease ends.
    LeaseOnly,
}

/// How long blocks are kept that nobody fetches, by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// Seconds.
    pub seconds: u32,
    /// The setting that says so.
    pub setting: &'static str,
}

/// One request's names and the prefill engine that was chosen for it.
#[derive(Debug, Clone, Copy)]
pub struct Leg<'a> {
    /// The client's `X-Request-Id`, or one that was made.
    pub request_id: &'a str,
    /// A name that no other request has.
    pub transfer_id: &'a str,
    /// A number that no other request has, below 2^63.
    pub room: u64,
    /// The prefill engine's `host:port`.
    pub prefill: &'a str,
    /// The prefill engine's bootstrap server.
    pub bootstrap: &'a Bootstrap,
}

/// A prefill engine's bootstrap server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bootstrap {
    /// Its host.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The engine's name at rank 0, as the server told it.
    pub engine_id: Option<String>,
}

/// A request to an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// The body; `None` sends the client's.
    pub body: Option<String>,
    /// Headers over the client's.
    pub headers: Vec<(&'static str, String)>,
}

/// What a prefill engine's reply hands over.
#[derive(Debug, Clone, PartialEq)]
pub struct Handover {
    /// The value of `kv_transfer_params` as a decode engine gets it.
    pub params: String,
    /// Seconds since 1970 after which it is worth nothing.
    pub expires_s: Option<f64>,
    /// Tokens of the prompt that are held.
    pub prompt_tokens: Option<u64>,
}

/// Why a request or a reply does not fit the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// Several replies to one prompt.
    #[error("n above 1 cannot be split: one prompt's keys and values go to one reply")]
    SeveralReplies,
    /// Several prompts in one request.
    #[error("several prompts in one request cannot be split; send one request each")]
    SeveralPrompts,
    /// The prompt's own log probabilities, which only a prefill engine has.
    #[error("echo and prompt_logprobs cannot be split: only the prefill engine knows them")]
    PromptLogprobs,
    /// A prefill engine that hands over nothing.
    #[error(
        "the prefill engine replied without kv_transfer_params; is its kv_role kv_producer or kv_both?"
    )]
    NoHandover,
}

/// Refuses what a hand-over of one prompt to one reply cannot serve.
pub(super) fn one_reply(body: &Body<'_>) -> Result<(), Unsupported> {
    prompt_only(body)?;
    if replies(body) > 1 {
        return Err(Unsupported::SeveralReplies);
    }
    if prompts(body) > 1 {
        return Err(Unsupported::SeveralPrompts);
    }
    Ok(())
}

/// Refuses what only a prefill engine could answer.
pub(super) fn prompt_only(body: &Body<'_>) -> Result<(), Unsupported> {
    let asks = |key| !matches!(body.raw(key), None | Some("null" | "false"));
    if asks("echo") || asks("prompt_logprobs") {
        return Err(Unsupported::PromptLogprobs);
    }
    Ok(())
}

/// Replies that a prompt asks for.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped"
)]
pub(super) fn replies(body: &Body<'_>) -> usize {
    body.number("n")
        .map_or(1, |n| n.clamp(1.0, 1024.0) as usize)
}

/// Prompts in a body: those of an array of texts or of arrays, otherwise one.
pub(super) fn prompts(body: &Body<'_>) -> usize {
    let raw = body.raw("prompt").filter(|raw| raw.starts_with('['));
    let items = raw.and_then(|raw| serde_json::from_str::<Vec<serde_json::Value>>(raw).ok());
    items
        .filter(|items| items.iter().any(|item| item.is_string() || item.is_array()))
        .map_or(1, |items| items.len().max(1))
}

/// The body of a prefill engine that computes a prompt and one token, as vLLM's proxies write it.
pub(super) fn one_token(body: &Body<'_>, more: &[(&'static str, String)]) -> String {
    let mut set = vec![
        ("stream", "false".to_owned()),
        ("max_tokens", "1".to_owned()),
    ];
    if body.raw("max_completion_tokens").is_some() {
        set.push(("max_completion_tokens", "1".to_owned()));
    }
    set.extend_from_slice(more);
    // Both would refuse a request of one token, or are of streams only.
    let drop = ["stream_options", "min_tokens", "min_completion_tokens"];
    body.edited(&set, &drop)
}
