//! The command line of `tplens serve run`, spelled like that of `vllm bench serve`: its command lines work here.

mod check;
mod data;
mod foreign;
mod refused;
mod results;
mod traffic;

use std::net::Ipv6Addr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};
use hyper::header::{HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::{Map, Number, Value};

pub(super) use self::data::{DataArgs, DatasetName};
pub(super) use self::refused::refused;
pub(crate) use self::refused::within;
pub(super) use self::results::{Format, Results};
pub(super) use self::traffic::Traffic;

/// What stands behind the flags in the help.
const MORE: &str = "\
A run is invalid, and exits with 3, where the load generator was the limit: its thread was on a CPU for more than 90% of the time; it \
waited for a CPU for more than 5%, and the kernel did not stamp the replies, or more than 1% of the chunks were read together with the \
one before, of which it keeps one stamp; it stood still for more than 0.1 s and 0.5% of the time; or requests at a set rate left late, \
the 99th percentile (of fewer than 200 the 90th, of fewer than 20 the latest) by more than 10 ms and by more than 5% of the median TTFT. \
The parts of the time on and without a CPU are judged from one second on.

No server can hold the client or fill its memory: a request takes --timeout at most; a question before the load takes 30 s at most, \
and its answer has 4 MiB; the head of a reply has 64 KiB and 100 lines, a line or event of a stream 16 MiB, a reply that is not \
streamed 16 MiB, an error's body 16 MiB of which 64 KiB are kept, any reply 1 GiB. What goes beyond is a failed request, not \
understood. A reply of more than four chunks for each token that was asked for is cut: reply too long.

A run ends early, exits with 3 and keeps what it measured when more came than a record holds that can be read back: 10,000,000 chunks, \
or a journal of 240 MiB.";

/// What to ask a server for, and where the result goes. Flags are spelled like those of `vllm bench serve`.
#[derive(Debug, Clone, ClapArgs)]
#[command(after_long_help = MORE)]
#[command(next_help_heading = "Target", allow_negative_numbers = true)]
pub(crate) struct Args {
    /// The server, such as http://127.0.0.1:8000 or an https:// address.
    ///
    /// An ending `/v1` may be there or not. Default: --host and --port.
    #[arg(long, value_name = "URL", alias = "url")]
    pub(super) base_url: Option<String>,

    /// The server's host, where there is no --base-url.
    #[arg(long, hide_short_help = true, default_value = "127.0.0.1")]
    pub(super) host: String,

    /// The server's port, where there is no --base-url.
    #[arg(long, hide_short_help = true, default_value_t = 8000)]
    pub(super) port: u16,

    /// Load the embedded engine on this simulated machine instead.
    ///
    /// A built-in name or a box file. Its numbers are arithmetic, never measurements of a GPU.
    #[arg(long, value_name = "BOX", conflicts_with = "base_url")]
    pub(super) sim: Option<String>,

    /// With --sim: the model that it serves, as `tplens serve engine` takes it.
    #[arg(
        long,
        hide_short_help = true,
        value_name = "MODEL",
        default_value = "llama-3.1-8b"
    )]
    pub(super) sim_model: String,

    /// Seconds to wait for the server to answer at first.
    #[arg(long, hide_short_help = true, value_name = "SECONDS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub(super) ready_check_timeout_sec: u32,

    /// Model name of the requests [default: the first that the server has].
    ///
    /// It is asked for at /v1/models.
    #[arg(long, value_name = "NAME")]
    pub(super) model: Option<String>,

    /// Model name that requests carry, where it is not that of --model.
    #[arg(long, hide_short_help = true, value_name = "NAME")]
    pub(super) served_model_name: Option<String>,

    /// Endpoint to ask: completions or chat.
    ///
    /// With its path /v1/completions or /v1/chat/completions. Default: completions, with --backend openai-chat chat.
    #[arg(long, value_enum, hide_possible_values = true, value_name = "PATH")]
    endpoint: Option<Endpoint>,

    /// The server's kind, which decides the endpoint where --endpoint does not.
    #[arg(long, hide_short_help = true, value_enum, value_name = "NAME")]
    pub(super) backend: Option<Backend>,

    /// Ask for the whole reply at once. Then there is no time to first token, per output token or between tokens.
    #[arg(long, hide_short_help = true)]
    pub(super) no_stream: bool,

    /// The server's tensor parallel size, for the record.
    ///
    /// With --sim the engine's.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(super) tp: Option<u32>,

    /// Environment variable that holds the API key.
    ///
    /// It is sent as a bearer token.
    #[arg(long, value_name = "NAME")]
    pub(super) api_key_env: Option<String>,

    /// File that holds the API key instead, one line; it must be a file of one's own with mode 600 or 400.
    #[arg(
        long,
        hide_short_help = true,
        value_name = "FILE",
        conflicts_with = "api_key_env"
    )]
    pub(super) api_key_file: Option<PathBuf>,

    /// PEM file of the certificates that are trusted at an https:// address, instead of the system's: a CA's, or the server's own.
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub(super) ca_file: Option<PathBuf>,

    /// Do not check the certificate of a server at an https:// address. The result says so.
    #[arg(long, hide_short_help = true)]
    pub(super) insecure: bool,

    /// Headers to send with every request, such as `X-Route: a` or `x-route=a`. Their values are not recorded.
    #[arg(long, hide_short_help = true, value_name = "NAME=VALUE", num_args = 1.., value_parser = header)]
    pub(super) header: Vec<(HeaderName, HeaderValue)>,

    #[command(flatten)]
    pub(super) traffic: Traffic,

    #[command(flatten)]
    pub(super) data: DataArgs,

    #[command(flatten)]
    pub(super) sampling: Sampling,

    /// Seconds that one request may take, connecting included.
    #[arg(long, help_heading = "Stop", value_name = "SECONDS", default_value = "600", value_parser = program::command_line::seconds)]
    pub(super) timeout: Duration,

    /// JSON object of further members of every request's body.
    ///
    /// They replace those that are there.
    #[arg(long, value_name = "JSON", value_parser = object)]
    pub(super) extra_body: Option<Map<String, Value>>,

    #[command(flatten)]
    pub(super) results: Results,

    #[command(flatten)]
    pub(super) foreign: foreign::Foreign,
}

/// How the model is to choose tokens; sent where given.
#[derive(Debug, Clone, ClapArgs, Serialize)]
pub(super) struct Sampling {
    /// Sampling temperature. 0 is sent by default, so that the server does the same work each time; vLLM's client sent none
    /// from 0.20 on and 0 before.
    #[arg(long, hide_short_help = true, value_name = "X", default_value = "0", value_parser = number)]
    temperature: Number,
    /// Top-p sampling.
    #[arg(long, hide_short_help = true, value_name = "X", value_parser = number)]
    top_p: Option<Number>,
    /// Top-k sampling.
    #[arg(long, hide_short_help = true, value_name = "N")]
    top_k: Option<i64>,
    /// Min-p sampling.
    #[arg(long, hide_short_help = true, value_name = "X", value_parser = number)]
    min_p: Option<Number>,
    /// Frequency penalty.
    #[arg(long, hide_short_help = true, value_name = "X", value_parser = number)]
    frequency_penalty: Option<Number>,
    /// Presence penalty.
    #[arg(long, hide_short_help = true, value_name = "X", value_parser = number)]
    presence_penalty: Option<Number>,
    /// Repetition penalty.
    #[arg(long, hide_short_help = true, value_name = "X", value_parser = number)]
    repetition_penalty: Option<Number>,
}

/// A number that JSON can hold. 0 is written as a whole one: some servers take no `0.0`.
fn number(text: &str) -> Result<Number, String> {
    match text.parse() {
        Ok(0.0) => Ok(Number::from(0)),
        Ok(number) => Number::from_f64(number)
            .ok_or_else(|| "no request can hold it; give a finite number".to_owned()),
        Err(_) => Err(format!("`{text}` is no number")),
    }
}

/// An endpoint by its path below the base URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, strum::IntoStaticStr)]
pub(super) enum Endpoint {
    /// /v1/completions.
    #[value(name = "/v1/completions", alias = "completions")]
    #[strum(serialize = "/v1/completions")]
    Completions,
    /// /v1/chat/completions.
    #[value(name = "/v1/chat/completions", alias = "chat")]
    #[strum(serialize = "/v1/chat/completions")]
    Chat,
}

/// What vLLM's client calls the kind of a server; all have the OpenAI interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(super) enum Backend {
    /// Completions.
    Vllm,
    /// Completions.
    Openai,
    /// Chat completions.
    OpenaiChat,
}

impl Args {
    /// The endpoint that is asked.
    pub(super) fn endpoint(&self) -> Endpoint {
        self.endpoint.unwrap_or(match self.backend {
            Some(Backend::OpenaiChat) => Endpoint::Chat,
            _ => Endpoint::Completions,
        })
    }

    /// The address that was named, or vLLM's default.
    pub(super) fn url(&self) -> String {
        let port = self.port;
        // An IPv6 address stands in brackets.
        let own = || match self.host.parse::<Ipv6Addr>() {
            Ok(host) => format!("http://[{host}]:{port}"),
            Err(_) => format!("http://{}:{port}", self.host),
        };
        self.base_url.clone().unwrap_or_else(own)
    }

    /// The name that requests carry, where the command line says one.
    pub(super) fn named_model(&self) -> Option<&str> {
        let extra = self.extra_body.as_ref().and_then(|body| body.get("model"));
        let named = self.served_model_name.as_ref().or(self.model.as_ref());
        extra.and_then(Value::as_str).or(named.map(String::as_str))
    }
}

fn header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    // The value may be a secret, so a refusal does not repeat it.
    let (name, value) = text
        .split_once([':', '='])
        .ok_or("a header is a name, a colon and a value, or name=value")?;
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
