//! The payload of `serve-bench run`: the server that was asked, the load, every request, and the summary.

use serde::{Deserialize, Serialize};

use crate::caveat::Caveat;
use crate::stats::Distribution;

/// What `serve-bench run` found.
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
    /// Reservations about the whole record.
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
    /// A reservation about the whole record.
    Caveat {
        /// The reservation.
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
    /// Requests in flight at once, closed loop.
    pub concurrency: u32,
    /// Measured requests.
    pub requests: u32,
    /// Requests before the measured part.
    pub warmups: u32,
    /// Prompt tokens asked for, each request.
    pub input_tokens: u32,
    /// Output tokens asked for, each request.
    pub output_tokens: u32,
    /// Whether the server was told to ignore the end of sequence.
    pub ignore_eos: bool,
    /// Seed of the prompts.
    pub seed: u64,
}

/// One request. Instants are milliseconds since the run's start on the client's monotonic clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServeRequest {
    /// Number within the run, from 0.
    pub id: u32,
    /// When its bytes were handed to the socket, ms.
    pub sent_ms: f64,
    /// When the reply ended, ms.
    pub ended_ms: f64,
    /// When each chunk that carries tokens arrived, ms; empty where the reply was not streamed.
    pub token_chunks_ms: Vec<f64>,
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

/// Kinds of failure, told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestErrorKind {
    /// No connection could be made.
    Connect,
    /// It took longer than the time-out.
    TimedOut,
    /// An HTTP status other than success.
    Status,
    /// An error object inside the stream or the reply.
    InStream,
    /// The stream ended before it was done.
    CutShort,
    /// The reply was not understood.
    Garbled,
    /// Fewer or more output tokens than asked for with the end of sequence ignored.
    WrongLength,
}

impl std::fmt::Display for RequestErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Connect => "no connection",
            Self::TimedOut => "timed out",
            Self::Status => "HTTP status",
            Self::InStream => "error inside the reply",
            Self::CutShort => "cut short",
            Self::Garbled => "not understood",
            Self::WrongLength => "wrong length",
        })
    }
}

/// The metrics over the measured requests. Failed requests count in `failed` only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
}
