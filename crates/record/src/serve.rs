//! The payload of `tplens serve run`: the server that was asked, the load, every request, and the summary.

use serde::{Deserialize, Serialize};

use super::request_error::RequestErrorKind;
use super::serve_client::ServeClient;
use super::serve_load::{Arrivals, Goals};
use super::serve_server::ServeServer;
use crate::caveat::Caveat;
use stats::Distribution;

/// What `tplens serve run` found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Serve {
    /// The server that was asked.
    pub target: Option<ServeTarget>,
    /// What it was asked for.
    pub load: Option<ServeLoad>,
    /// Every request of the measured part in the order of completion; warm-up requests are not here.
    pub requests: Vec<ServeRequest>,
    /// The metrics over them; `None` where no request completed or the run was broken off.
    pub summary: Option<ServeSummary>,
    /// What the load generator itself took and how late it was; `None` in records of 2026 and before, and of runs without an end.
    pub client: Option<ServeClient>,
    /// What was read of the server beside the load; `None` in records from before, and where nothing was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServeServer>,
    /// Caveats about the whole record.
    pub caveats: Vec<Caveat>,
}

/// One addition to [`Serve`]: what a journal line carries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServeEvent {
    /// The server and the load, before the first request.
    Begun {
        /// The server.
        target: ServeTarget,
        /// The load.
        load: ServeLoad,
    },
    /// A request ended.
    Request {
        /// The request.
        request: Box<ServeRequest>,
    },
    /// The metrics over all requests.
    Summary {
        /// The metrics.
        summary: Box<ServeSummary>,
    },
    /// What the load generator itself took.
    Client {
        /// Its own figures.
        client: Box<ServeClient>,
    },
    /// What was read of the server beside the load.
    Server {
        /// What was read.
        server: Box<ServeServer>,
    },
    /// A caveat about the whole record.
    Caveat {
        /// The caveat.
        caveat: Caveat,
    },
}

impl Serve {
    /// Adds what an event says.
    pub fn apply(&mut self, event: ServeEvent) {
        match event {
            ServeEvent::Begun { target, load } => {
                self.target = Some(target);
                self.load = Some(load);
            }
            ServeEvent::Request { request } => self.requests.push(*request),
            ServeEvent::Summary { summary } => self.summary = Some(*summary),
            ServeEvent::Client { client } => self.client = Some(*client),
            ServeEvent::Server { server } => self.server = Some(*server),
            ServeEvent::Caveat { caveat } => self.caveats.push(caveat),
        }
    }
}

/// The server that was asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServeTarget {
    /// Base URL without credentials.
    pub base_url: String,
    /// Model name that requests carry.
    pub model: String,
    /// Endpoint path, such as `/v1/completions`.
    pub endpoint: String,
    /// Whether replies were streamed; without a stream there is no TTFT, TPOT or ITL.
    pub streamed: bool,
    /// What the server says of itself: engine and version, where it does.
    pub server: Option<String>,
    /// Tensor parallel size, where the user or the study said so.
    pub tp: Option<u32>,
}

/// What the server was asked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServeLoad {
    /// When requests are sent.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// Requests in flight at most; in a closed loop as many as this. `None` where nothing limits them.
    pub concurrency: Option<u32>,
    /// Measured requests, at most these where a time ends the run.
    pub requests: u32,
    /// No request is sent later than this after the start, s; `None` where the number of requests ends the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_s: Option<f64>,
    /// Requests before the measured part.
    pub warmups: u32,
    /// Prompt tokens asked for, each request; `None` where the data decide.
    pub input_tokens: Option<u32>,
    /// Output tokens asked for, each request; `None` where the data decide.
    pub output_tokens: Option<u32>,
    /// Whether the server was told to ignore the end of sequence.
    pub ignore_eos: bool,
    /// Seed of prompts and arrivals.
    pub seed: u64,
    /// What prompts are made of, in words, such as `random words` or `sharegpt`.
    pub data: Option<String>,
    /// Lengths are drawn from `1 - ratio` to `1 + ratio` times those asked for; 0 where they are fixed.
    #[serde(default)]
    pub range_ratio: f64,
    /// Tokens at the beginning of every prompt that all share.
    #[serde(default)]
    pub prefix_tokens: u32,
    /// What a request must keep to count in the goodput.
    pub goals: Option<Goals>,
}

/// One request. Instants are milliseconds since the run's start on the client's monotonic clock.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServeRequest {
    /// Number within the run, from 0.
    pub id: u32,
    /// When the load's schedule wanted it sent, ms; `None` in a closed loop, where the reply before it decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intended_ms: Option<f64>,
    /// When its bytes were handed to the socket, ms.
    pub sent_ms: f64,
    /// When the reply ended, ms.
    pub ended_ms: f64,
    /// When the first bytes of a streamed reply's body arrived, ms, whatever they held: a role, a comment, a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_chunk_ms: Option<f64>,
    /// When each chunk that carries tokens arrived, ms; empty where the reply was not streamed.
    pub token_chunks_ms: Vec<f64>,
    /// Tokens in each of those chunks; empty where the server does not tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chunk_tokens: Vec<u32>,
    /// Prompt tokens that the server took from a cache, where it said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u32>,
    /// Prompt tokens by the server's own count; `None` where it did not say.
    pub input_tokens: Option<u32>,
    /// Output tokens; `None` where nobody counted them.
    pub output_tokens: Option<u32>,
    /// Who counted the output tokens.
    pub counted_by: Option<TokenCount>,
    /// `None` where it succeeded.
    pub error: Option<RequestError>,
}

/// Who counted output tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenCount {
    /// The server's `usage`.
    Usage,
    /// Token ids that came with each chunk.
    TokenIds,
    /// Chunks with content, which may carry several tokens each.
    Chunks,
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestError {
    /// The kind.
    pub kind: RequestErrorKind,
    /// What was seen, in words.
    pub seen: String,
}

/// The metrics over the measured requests. Failed requests count in `failed` only.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServeSummary {
    /// From the first send to the last end, s.
    pub duration_s: f64,
    /// Requests that succeeded.
    pub completed: u32,
    /// Requests that failed.
    pub failed: u32,
    /// Failures by kind.
    pub failures: Vec<(RequestErrorKind, u32)>,
    /// Prompt tokens of completed requests; `None` where the server did not count them.
    pub input_tokens: Option<u64>,
    /// Output tokens of completed requests; `None` where nobody counted them for one of them.
    pub output_tokens: Option<u64>,
    /// Completed requests per second.
    pub requests_per_s: f64,
    /// Output tokens per second.
    pub output_tokens_per_s: Option<f64>,
    /// Mean requests in flight: the time that all requests, failed ones too, were under way, over the duration.
    pub mean_in_flight: f64,
    /// Time to first token, ms; `None` without a stream.
    pub ttft_ms: Option<Distribution>,
    /// Time per output token after the first, ms: (e2el - ttft) / (output tokens - 1), one value a request of two tokens or more.
    pub tpot_ms: Option<Distribution>,
    /// Gaps between successive chunks that carry tokens, ms, all requests pooled.
    pub itl_ms: Option<Distribution>,
    /// End-to-end latency, ms: until the last chunk that carries tokens, or the reply's end without a stream.
    pub e2el_ms: Option<Distribution>,
    /// Time to the first chunk whatever it holds, ms.
    pub ttfc_ms: Option<Distribution>,
    /// Gaps shared among the tokens of the chunk that ends them, ms, one value a token after the first; where tokens of chunks are known.
    pub itl_per_token_ms: Option<Distribution>,
    /// From the instant that the schedule wanted to the actual sending, ms; in an open loop only.
    pub queue_ms: Option<Distribution>,
    /// End-to-end latency from the instant that the schedule wanted, ms; in an open loop only.
    pub e2el_intended_ms: Option<Distribution>,
    /// Prompt lengths, tokens.
    pub input_lengths: Option<Distribution>,
    /// Output lengths, tokens.
    pub output_lengths: Option<Distribution>,
    /// Requests in flight at most at any instant.
    pub peak_in_flight: Option<u32>,
    /// Most output tokens within one second, by tokens and not by chunks.
    pub peak_output_tokens_per_s: Option<f64>,
    /// Prompt and output tokens per second.
    pub total_tokens_per_s: Option<f64>,
    /// Completed requests within all goals, per second; `None` where no goals were set.
    pub goodput_per_s: Option<f64>,
    /// Completed requests within all goals; `None` where no goals were set, or one of them cannot be judged.
    pub good: Option<u32>,
    /// Time per output token over steps in which no other request was in prefill, ms, one value a request that had such.
    pub tpot_decode_ms: Option<Distribution>,
    /// Time per output token over steps in which another request was in prefill, ms, one value a request that had such.
    pub tpot_mixed_ms: Option<Distribution>,
    /// Part of the tokens after each request's first that came with such mixed steps, 0 to 1.
    pub mixed_part: Option<f64>,
}
