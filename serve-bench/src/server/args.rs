//! The command line of `tplens serve engine`, spelled like `vllm serve` where both have a flag.

use std::path::PathBuf;

use clap::ValueEnum;
use disagg::LinkLaw;

use super::dialect::Dialect;
use crate::load::within;

/// Serve a simulated box over HTTP as vLLM would, or SGLang: `/v1/completions`, `/v1/chat/completions`, `/v1/models`,
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
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = |text: &str| within(text, 0.001, 10_000.0))]
    pub(super) speed: f64,

    /// Whose words are used in streams, replies and /metrics. SGLang's are after its source.
    #[arg(long, value_enum, value_name = "NAME", default_value_t = Dialect::Vllm)]
    pub(super) dialect: Dialect,
    /// Tokens in each chunk of a stream after the first, which has one.
    #[arg(long, visible_alias = "stream-interval", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) tokens_per_chunk: u32,
    /// Something that goes wrong with each request: stall=TOKENS and cut=TOKENS end a stream after so many, status=CODE refuses, slow=MS
    /// begins to answer so much later.
    #[arg(long, value_name = "KIND=N", value_parser = fault)]
    pub(super) fault: Option<Fault>,

    /// Serve one half of requests only, behind `tplens serve route`: prefill holds keys and values until a decode engine fetches
    /// them. The bootstrap server is at the engine's own port.
    #[arg(long, value_enum, value_name = "ROLE")]
    pub(super) role: Option<Role>,
    /// With --role decode: the link from prefill engines, as bandwidth, start and, where pieces take longer, time per piece. The
    /// default is fitted to Mooncake's published times on 8 ConnectX-7.
    #[arg(long, value_name = "GB/s,TIME[,TIME]", default_value = "171GB/s,1.8ms", value_parser = crate::split::kv_link)]
    pub(super) kv_link: LinkLaw,
}

/// Which half of requests an engine serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(super) enum Role {
    /// Prompts.
    Prefill,
    /// Replies.
    Decode,
}

/// Something that goes wrong on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// After so many tokens of a stream nothing more comes, and the connection stays open.
    Stall(u32),
    /// After so many tokens of a stream the connection is closed.
    Cut(u32),
    /// This status instead of a reply.
    Status(u16),
    /// The reply begins so many milliseconds later.
    Slow(u32),
}

fn fault(text: &str) -> Result<Fault, String> {
    let wrong = || "must be stall=TOKENS, cut=TOKENS, status=400 to 599, or slow=MS".to_owned();
    let (kind, number) = text.split_once('=').ok_or_else(wrong)?;
    let number: u32 = number.parse().map_err(|_| wrong())?;
    match (kind, number) {
        ("stall", tokens) => Ok(Fault::Stall(tokens)),
        ("cut", tokens) => Ok(Fault::Cut(tokens)),
        ("slow", ms) => Ok(Fault::Slow(ms)),
        ("status", 400..=599) => u16::try_from(number)
            .map(Fault::Status)
            .map_err(|_| wrong()),
        _ => Err(wrong()),
    }
}
