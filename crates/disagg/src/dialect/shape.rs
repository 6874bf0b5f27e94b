//! What a protocol is made of: who is asked in which order, with which bodies and headers, and how keys and values are given back.

/// Who is asked when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The prefill engine, and with what it replies the decode engine.
    PrefillFirst,
    /// Both at once.
    Both,
    /// The decode engine's sidecar, which asks the prefill engine itself.
    DecodeOnly,
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
    /// The sidecar does it when its request is closed.
    Sidecar,
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
