//! What a selftest found; also its form as JSON.

use measure::exit;
use measure::record::Stamps;
use serde::{Deserialize, Serialize};

use super::bounds::Verdict;
use super::compare::Compared;

/// The version of the JSON's form.
pub(super) const SCHEMA: u32 = 1;

/// A selftest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Report {
    /// Version of this form.
    pub(super) schema: u32,
    /// This program's version.
    pub(super) version: String,
    /// The server's own CPU; `None` where it had none.
    pub(super) server_cpu: Option<usize>,
    /// The client's own CPU; `None` where it had none.
    pub(super) client_cpu: Option<usize>,
    /// The schedule's TTFT, ms; `None` for a server that somebody else runs.
    pub(super) ttft_ms: Option<f64>,
    /// The schedule's time between tokens, ms.
    pub(super) itl_ms: Option<f64>,
    /// Output tokens of each request.
    pub(super) tokens: u32,
    /// CPU time of a client with one request, s: what is taken off in [`Line::cpu_s_per_million_tokens`].
    pub(super) start_cpu_s: Option<f64>,
    /// One for each number of streams, then one for each form of streams.
    pub(super) lines: Vec<Line>,
    /// Without a schedule; `None` where it was left out.
    pub(super) flood: Option<Flood>,
    /// What this ended with.
    pub(super) exit_code: u8,
}

/// A load and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Line {
    /// The form of streams.
    pub(super) mode: String,
    /// Requests at once.
    pub(super) streams: u32,
    /// Requests in all.
    pub(super) requests: u32,
    /// The figures; `None` where client and truth could not be compared.
    pub(super) compared: Option<Compared>,
    /// Whose instants the client took.
    pub(super) stamps: Stamps,
    /// Part of the client's reads with a kernel's time stamp, 0 to 1; `None` where it asked for none.
    pub(super) kernel_stamped: Option<f64>,
    /// CPU time of the client's process without its start, s per million output tokens; `None` for so few that the clock is too
    /// coarse.
    pub(super) cpu_s_per_million_tokens: Option<f64>,
    /// Why the client calls its own run invalid; empty where it does not.
    pub(super) client_says: Vec<String>,
    /// Whether the error is within its bounds.
    pub(super) judged: Verdict,
}

/// What the client takes of a server without a schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Flood {
    /// Requests at once.
    pub(super) streams: u32,
    /// Output tokens in all, by the server.
    pub(super) tokens: u64,
    /// Output tokens per second, by the client; `None` where a request failed.
    pub(super) tokens_per_s: Option<f64>,
    /// CPU time of the client's process without its start, s per million output tokens.
    pub(super) cpu_s_per_million_tokens: Option<f64>,
}

impl Report {
    /// 0 where all lines are within their bounds, else 3.
    pub(super) fn exit_code(&self) -> u8 {
        let is_within = |line: &Line| line.judged == Verdict::Within;
        if self.lines.iter().all(is_within) {
            exit::DONE
        } else {
            exit::INCONCLUSIVE
        }
    }
}
