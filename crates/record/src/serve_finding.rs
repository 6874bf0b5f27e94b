//! What was found about a load, its requests and its server, as data: a variant with figures and a stable code. No words.

use serde::{Deserialize, Serialize};

use super::request_error::RequestErrorKind;

/// A thing to know before a number of a serving benchmark is believed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(tag = "found", rename_all = "snake_case")]
#[strum(serialize_all = "kebab-case")]
pub enum ServeFinding {
    /// Requests failed; they are in no latency.
    RequestsFailed {
        /// Of how many that were sent.
        of: usize,
        /// How many failed.
        failed: usize,
        /// The kind of most of them.
        most: RequestErrorKind,
        /// What was seen of one of those; for display only.
        detail: String,
    },
    /// Requests before the measured part failed.
    WarmupFailed {
        /// What was seen; for display only.
        detail: String,
    },
    /// Fewer were in flight than asked for.
    BatchNotReached {
        /// Asked for.
        asked: u32,
        /// In the mean.
        mean: f64,
    },
    /// Replies had other lengths than asked for, although the end of sequence was ignored.
    OutputLengthDiffers {
        /// Replies of another length.
        differ: usize,
        /// Of how many.
        of: usize,
        /// The shortest and the longest of them, tokens.
        least_most: (u32, u32),
    },
    /// Prompts had another length than asked for.
    PromptLengthDiffers {
        /// Asked for, tokens.
        asked: u32,
        /// In the mean, by the server.
        mean: f64,
    },
    /// The server sent no usage: its chunks were counted.
    TokensByChunks {
        /// Replies without usage.
        replies: usize,
        /// Of how many.
        of: usize,
    },
    /// Chunks held several tokens.
    SeveralTokensPerChunk {
        /// Tokens in all.
        tokens: u64,
        /// Chunks in all.
        chunks: usize,
    },
    /// More chunks with text came than the server counts tokens.
    FewerTokensThanChunks {
        /// Such replies.
        replies: usize,
        /// Of how many.
        of: usize,
    },
    /// The server took prompts from its cache.
    #[strum(serialize = "prefix-cache-hit")]
    PrefixCacheHits {
        /// Tokens from the cache.
        cached: u64,
        /// Of how many.
        of: u64,
        /// What shows it.
        #[serde(default)]
        by: CacheEvidence,
        /// Whether `--prefix-cache expect` said so before.
        #[serde(default)]
        expected: bool,
    },
    /// The first request waited much longer than all others for its first token.
    ColdStart {
        /// Its time to first token, ms.
        first_ms: f64,
        /// The longest of the others, ms.
        others_most_ms: f64,
    },
    /// The server worked on fewer requests at once than it had, by its own counters.
    MoreRequestsThanSlots {
        /// Most requests in steps.
        running: f64,
        /// Most requests that waited.
        waiting: f64,
        /// Largest part of the key-value cache in use, 0 to 1.
        kv_used: Option<f64>,
    },
    /// Replies came from a simulated machine that the record's head does not name.
    ServerSimulated {
        /// Its name.
        machine: String,
    },
    /// Replies name another model than was asked for.
    ModelDiffers {
        /// Asked for.
        asked: String,
        /// Named by replies.
        answered: Vec<String>,
    },
    /// Most tokens came with steps that also worked on prompts.
    MixedSteps {
        /// Part of the tokens, 0 to 1.
        part: f64,
        /// Mean TPOT of the other steps, ms.
        decode_ms: Option<f64>,
    },
    /// The server did not keep up with the rate.
    RateNotSustained {
        /// Asked for, requests/s.
        asked: f64,
        /// Completed, requests/s.
        completed: f64,
    },
    /// Requests were sent again on new connections.
    RequestsResent {
        /// How many.
        requests: u64,
    },
    /// The server worked on prompts of others.
    OthersPrompts {
        /// Spans between readings with such prompts.
        spans: usize,
        /// Of how many.
        of: usize,
    },
    /// The server's counters fell.
    CountersRestarted,
    /// The server's counters did not fit into the record.
    CountersDropped,
    /// The server counts more than was asked here.
    ServerShared {
        /// By the server.
        theirs: f64,
        /// Here.
        ours: f64,
        /// Whether requests are counted, else tokens.
        requests: bool,
    },
    /// The server counts less than came here.
    SeveralServers {
        /// By the server.
        theirs: f64,
        /// Here.
        ours: f64,
        /// Whether requests are counted, else tokens.
        requests: bool,
    },
    /// Mean TTFT of the server is not ours.
    TtftDiffers {
        /// By the server, ms.
        theirs_ms: f64,
        /// Here, ms.
        ours_ms: f64,
    },
    /// Time between tokens of the server is not ours.
    ItlDiffers {
        /// By the server, ms.
        theirs_ms: f64,
        /// Here, ms.
        ours_ms: f64,
    },
    /// The server put requests back, its cache being full.
    #[strum(serialize = "requests-preempted")]
    Preempted {
        /// How often.
        times: f64,
    },
    /// A tokenizer was named and lengths were counted in words.
    TokenizerUnused,
    /// The server's certificate was not checked.
    CertificateUnchecked,
    /// Fewer prompts than requests: a cache may hold them.
    PromptsRepeat {
        /// In the data.
        prompts: usize,
        /// Asked for.
        requests: u32,
    },
}

/// What shows that prompts came from a cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheEvidence {
    /// The usage of the replies.
    #[default]
    Usage,
    /// The server's counters.
    Counters,
    /// First tokens came sooner than the GPUs can work on whole prompts: at least so many tokens.
    Peak,
}

impl ServeFinding {
    /// Its stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.into()
    }
}
