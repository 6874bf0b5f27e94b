//! The command line of `serve-bench engine`, spelled like `vllm serve` where both have a flag.

use std::path::PathBuf;
use std::time::Duration;

use super::dialect::Dialect;
use super::fault::Fault;

/// Serve a simulated box over HTTP as vLLM would, or another engine: `/v1/completions`, `/v1/chat/completions`, `/v1/models`,
/// `/health`, `/version`, `/metrics`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// Box to simulate: a built-in name or a box file.
    #[arg(long = "box", value_name = "NAME|FILE")]
    pub(super) described: String,
    /// Model: a shipped name, a config.json or a folder that holds one.
    #[arg(long, value_name = "NAME|FILE")]
    pub(super) model: String,
    /// Name that requests carry [default: the model's].
    #[arg(long, value_name = "NAME")]
    pub(super) served_model_name: Option<String>,
    /// Tensor parallel size.
    #[arg(long, visible_alias = "tp", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(super) tensor_parallel_size: u32,
    /// Address to listen on.
    #[arg(long, default_value = "127.0.0.1")]
    pub(super) host: String,
    /// Port to listen on; 0 takes a free one. The first line on standard output tells it.
    #[arg(long, default_value_t = 8000)]
    pub(super) port: u16,
    /// Sequences in one step at most [default: as vLLM's for the box's memory].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) max_num_seqs: Option<u32>,
    /// Tokens in one step at most [default: as vLLM's for the box's memory].
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) max_num_batched_tokens: Option<u32>,
    /// Longest prompt and reply together, tokens; less where the box has no room for it.
    #[arg(long, value_name = "TOKENS", default_value_t = 32_768, value_parser = clap::value_parser!(u32).range(2..))]
    pub(super) max_model_len: u32,
    /// No captured graphs.
    #[arg(long)]
    pub(super) enforce_eager: bool,
    /// Leave every all-reduce to the vendor's library, as vLLM's flag does; torch's symmetric memory is left out, too.
    #[arg(long)]
    pub(super) disable_custom_all_reduce: bool,
    /// Keep whole blocks of prompts for later prompts that begin alike. Off unless said, so that every prompt is computed.
    #[arg(long)]
    pub(super) enable_prefix_caching: bool,
    /// JSON object with figures of the step's duration that replace the box's defaults.
    #[arg(long, value_name = "FILE")]
    pub(super) profile: Option<PathBuf>,
    /// Run this many times faster than the box would; for tests of programs, not for measurements.
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = speed)]
    pub(super) speed: f64,

    /// Whose words are used in streams, replies and /metrics. SGLang's are after its source, the others after servers that ran.
    #[arg(long, value_enum, value_name = "NAME", default_value_t = Dialect::Vllm)]
    pub(super) dialect: Dialect,
    /// Tokens in each chunk of a stream after the first, which has one.
    #[arg(long, visible_alias = "stream-interval", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) tokens_per_chunk: u32,
    /// List the ids of tokens in each chunk, as vLLM does for a request with `return_token_ids`.
    #[arg(long)]
    pub(super) token_ids: bool,
    /// Tokens at the beginning of each chat reply that are reasoning.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) reasoning_tokens: u32,
    /// Send the role of a chat reply at once, as some proxies do, and not with its first token.
    #[arg(long)]
    pub(super) early_role: bool,
    /// With --dialect llama.cpp: seconds between comments until the first token; 0 sends none.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    pub(super) sse_ping_interval: Duration,

    /// Something that goes wrong, as KIND[=N][@SHARE]; may be given several times, of which a request meets the first that
    /// strikes it. SHARE is the part of the requests, 1 by default. Kinds: stall=TOKENS, status=CODE, cut=TOKENS,
    /// error-in-stream=TOKENS, error-after-200, slow-accept=MS (of connections, one after the other), trickle=MS (a byte),
    /// endless-line=BYTES, no-answer.
    #[arg(long, value_name = "FAULT")]
    pub(super) fault: Vec<Fault>,
    /// Seed of which requests a fault strikes; the same seed strikes the same numbers.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) fault_seed: u64,
    /// Write what truly became of each request to this file, one JSON object a line, with instants of CLOCK_MONOTONIC.
    #[arg(long, value_name = "FILE")]
    pub(super) log: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    text.parse()
        .ok()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|time| *time <= Duration::from_secs(86_400))
        .ok_or_else(|| format!("`{text}` is no number of seconds from 0 to 86400"))
}

fn speed(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|speed| (0.001..=10_000.0).contains(speed))
        .ok_or_else(|| "must be 0.001 to 10000".to_owned())
}
