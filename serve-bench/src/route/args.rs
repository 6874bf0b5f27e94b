//! The command line of `tplens serve route`.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;

/// What stands behind the flags in the help.
const MORE: &str = "\
The body and the headers of a request go to the engines as they came but for the members and headers that the protocol names; a key of \
the client stays its own. Before the first byte of a reply another engine is asked where one refuses: a prefill engine that cannot be \
reached or says 502, 503 or 504, and a decode engine that cannot be reached or says 503, which gets the same keys and values. A prompt \
is never computed twice without a word. After the first byte an error is an event of the stream. Where no decode engine takes what a \
prefill engine holds, one is asked to take it for one token, which frees it; where the protocol has no such way, the journal and \
/metrics name the lease that ends it.

GET /health is 200 while one engine of each kind can be reached, GET /metrics counts, GET /v1/models and /version are a decode engine's \
answers. SIGTERM and SIGINT let requests end for --grace seconds; a second one of the same \
kind ends at once, and the journal lacks what was under way. A request has 32 MiB, all that are held together 1 GiB, a prefill \
engine's reply 16 MiB.";

/// Give prefill and decode engines one address: an OpenAI server before vLLM, SGLang or llm-d that are split.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = MORE)]
pub(crate) struct Args {
    /// Prefill engines, such as `http://10.0.0.1:8100`; `#PORT` behind it is that of its bootstrap server, otherwise 8998. Or the command
    /// of one, with `{port}` where its port belongs, which is started and ended; several times for several.
    #[arg(long, value_name = "URL[#PORT]|CMD", required = true)]
    pub(super) prefill: Vec<String>,
    /// Decode engines, or with llm-d their sidecars.
    #[arg(long, value_name = "URL|CMD", required = true)]
    pub(super) decode: Vec<String>,
    /// Protocol of the engines; auto asks the first prefill engine.
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = dialects())]
    pub(super) dialect: String,
    /// Which engine is asked; prefix sends prompts that begin alike to one prefill engine.
    #[arg(long, value_enum, value_name = "NAME", default_value_t = Policy::LeastLoaded)]
    pub(super) policy: Policy,
    /// Append a line of JSON for each request with its instants to this file.
    #[arg(long, value_name = "FILE")]
    pub(super) journal: Option<PathBuf>,
    /// Address to listen on.
    #[arg(long, default_value = "127.0.0.1")]
    pub(super) host: String,
    /// Port to listen on; 0 takes a free one. The first line on standard output tells it.
    #[arg(long, default_value_t = 8000)]
    pub(super) port: u16,
    /// Seconds that an engine may say nothing while a request waits for it.
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = program::command_line::seconds)]
    pub(super) timeout: Duration,
    /// Seconds that requests may take to end after SIGTERM or SIGINT.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = program::command_line::seconds)]
    pub(super) grace: Duration,
    /// Requests at once; more are refused with 503.
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(super) max_requests: u32,
    /// Environment variable with the engines' API key, sent where a client sends none.
    #[arg(long, value_name = "NAME")]
    pub(super) api_key_env: Option<String>,
    /// File that holds the API key instead, one line; it must be a file of one's own with mode 600 or 400.
    #[arg(long, value_name = "FILE", conflicts_with = "api_key_env")]
    pub(super) api_key_file: Option<PathBuf>,
    /// PEM file of the certificates that are trusted at https:// engines, instead of the system's.
    #[arg(long, value_name = "FILE")]
    pub(super) ca_file: Option<PathBuf>,
    /// Do not check the certificates of https:// engines.
    #[arg(long)]
    pub(super) insecure: bool,
}

/// Which engine is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Policy {
    /// One after the other.
    RoundRobin,
    /// The one with the fewest requests of this router.
    LeastLoaded,
    /// Prompts that begin alike at one prefill engine, unless it is busier than others; decode engines as least-loaded.
    Prefix,
}

fn dialects() -> Vec<&'static str> {
    let rows = disagg::DIALECTS.iter().map(|row| row.name);
    std::iter::once("auto").chain(rows).collect()
}
