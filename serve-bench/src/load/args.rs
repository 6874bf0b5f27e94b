//! The command line of `serve-bench run`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};
use hyper::header::{HeaderName, HeaderValue};
use program::outputs::Outputs;
use serde_json::{Map, Value};

/// What to ask a server for, and where the result goes.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Args {
    /// The server, such as http://127.0.0.1:8000; an ending `/v1` may be there or not. Only plain http.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: String,

    /// Model name that requests carry. Default: the first that the server names at /v1/models.
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,

    /// Which endpoint to ask.
    #[arg(long, value_enum, default_value_t = Endpoint::Completions)]
    pub(crate) endpoint: Endpoint,

    /// Ask for the whole reply at once. Then there is no time to first token, per output token or between tokens.
    #[arg(long)]
    pub(crate) no_stream: bool,

    /// Requests in flight at once; each that ends is followed by the next (a closed loop).
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=16_384), allow_negative_numbers = true)]
    pub(crate) concurrency: u32,

    /// Measured requests. Default: four times --concurrency.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000), allow_negative_numbers = true)]
    pub(crate) requests: Option<u32>,

    /// Prompt tokens of each request. The server's own count is what is recorded.
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=4_000_000), allow_negative_numbers = true)]
    pub(crate) input_tokens: u32,

    /// Output tokens of each request.
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=4_000_000), allow_negative_numbers = true)]
    pub(crate) output_tokens: u32,

    /// Requests before the measured part. Default: --concurrency.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000), allow_negative_numbers = true)]
    pub(crate) warmups: Option<u32>,

    /// Prompts of random words (about one token each), or of random token ids (exact; completions only).
    #[arg(long, value_enum, default_value_t = PromptArg::Words)]
    pub(crate) prompt: PromptArg,

    /// With --prompt token-ids: ids are drawn below this number.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(2..), allow_negative_numbers = true)]
    pub(crate) vocab: u32,

    /// Seed of the prompts. Default: another one each run, so that no prompt is in a server's cache already.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,

    /// Seconds that one request may take.
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = program::command_line::seconds, allow_negative_numbers = true)]
    pub(crate) timeout: Duration,

    /// Tensor parallel size of the server, for the record.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), allow_negative_numbers = true)]
    pub(crate) tp: Option<u32>,

    /// Name of the environment variable that holds the API key, sent as a bearer token.
    #[arg(long, value_name = "NAME")]
    pub(crate) api_key_env: Option<String>,

    /// A header to send with every request, such as `X-Route: a`; may be given several times. Its value is not recorded.
    #[arg(long, value_name = "NAME: VALUE", value_parser = header)]
    pub(crate) header: Vec<(HeaderName, HeaderValue)>,

    /// JSON object whose members are put into every request's body, over those that are there.
    #[arg(long, value_name = "JSON", value_parser = object)]
    pub(crate) extra_body: Option<Map<String, Value>>,

    /// Let the model end its replies; without this the server is told to go on to --output-tokens.
    #[arg(long)]
    pub(crate) no_ignore_eos: bool,

    #[command(flatten)]
    pub(crate) outputs: Outputs,

    /// Write the result to this file with the keys of `vllm bench serve --save-result`, too.
    #[arg(long, value_name = "FILE")]
    pub(crate) vllm_json: Option<PathBuf>,

    /// With --vllm-json: every request's figures, too, as `--save-detailed` does.
    #[arg(long, requires = "vllm_json")]
    pub(crate) detailed: bool,
}

/// An endpoint by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Endpoint {
    /// /v1/completions.
    Completions,
    /// /v1/chat/completions.
    Chat,
}

impl Endpoint {
    /// Its path below the base URL.
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Completions => "/v1/completions",
            Self::Chat => "/v1/chat/completions",
        }
    }
}

/// What prompts are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PromptArg {
    /// Words.
    Words,
    /// Token ids.
    TokenIds,
}

impl Args {
    /// Measured requests.
    pub(super) fn measured(&self) -> u32 {
        self.requests.unwrap_or(self.concurrency.saturating_mul(4))
    }

    /// Requests before them.
    pub(super) fn warmups(&self) -> u32 {
        self.warmups.unwrap_or(self.concurrency)
    }
}

fn header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    // The value may be a secret, so a refusal does not repeat it.
    let (name, value) = text
        .split_once(':')
        .ok_or("a header is a name, a colon and a value")?;
    let name = HeaderName::try_from(name.trim())
        .map_err(|_| format!("`{}` is not a header's name", name.trim()))?;
    let mut value = HeaderValue::try_from(value.trim())
        .map_err(|_| format!("the value of {name} is not one"))?;
    value.set_sensitive(true);
    Ok((name, value))
}

fn object(text: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(text).map_err(|error| format!("not a JSON object: {error}"))
}
