//! A plan from the flags of a command line: one server that runs, and a matrix of loads on it.

use serde::Serialize;

use super::args::SweepArgs;
use super::plan::{SCHEMA, numbers};

/// Requests for each in flight.
const ROUNDS: u32 = 4;

/// Seconds of arrivals at a rate.
const WINDOW_S: f64 = 30.0;

/// Requests of a cell at least.
const LEAST: u32 = 16;

/// In flight, where neither these nor rates are named.
const IN_FLIGHT: &str = "1,2,4,8,16,32";

/// The configuration's label in a plan that was made of flags.
pub(super) const LABEL: &str = "server";

#[derive(Serialize)]
struct Plan {
    schema: u32,
    name: &'static str,
    server: Server,
    load: Load,
    matrix: Vec<Matrix>,
}

#[derive(Serialize)]
struct Server {
    base_url: String,
}

#[derive(Serialize)]
struct Load {
    flags: Vec<String>,
}

#[derive(Serialize)]
struct Matrix {
    configs: [&'static str; 1],
    models: [&'static str; 1],
    tp: [u32; 1],
    inputs: Vec<u32>,
    outputs: Vec<u32>,
    num_prompts: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    concurrency: Option<u32>,
    rates: Vec<f64>,
}

/// The plan's text, as a file of it would be.
///
/// # Errors
/// In words: what a plan cannot hold.
pub(super) fn plan(args: &SweepArgs) -> Result<String, String> {
    let (inputs, outputs) = (numbers(&args.input_len)?, numbers(&args.output_len)?);
    let concurrency = match &args.concurrency {
        Some(list) => numbers(list)?,
        None if args.request_rate.is_empty() => numbers(IN_FLIGHT)?,
        None => Vec::new(),
    };
    let matrix = |concurrency: Option<u32>, rate: Option<f64>, requests: u32| Matrix {
        configs: [LABEL],
        models: [LABEL],
        tp: [0],
        inputs: inputs.clone(),
        outputs: outputs.clone(),
        num_prompts: args.num_prompts.unwrap_or(requests.max(LEAST)),
        concurrency,
        rates: rate.into_iter().collect(),
    };
    let closed = concurrency
        .into_iter()
        .map(|n| matrix(Some(n), None, n.saturating_mul(ROUNDS)));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rate is at most a million"
    )]
    let open = args
        .request_rate
        .iter()
        .map(|rate| matrix(None, Some(*rate), (rate * WINDOW_S).ceil() as u32));
    let plan = Plan {
        schema: SCHEMA,
        name: "in{input}_out{output}_c{concurrency}_r{rate}",
        server: Server {
            base_url: args.base_url.clone().unwrap_or_default(),
        },
        load: Load {
            flags: args.load.clone(),
        },
        matrix: closed.chain(open).collect(),
    };
    toml::to_string(&plan).map_err(|error| error.to_string())
}
