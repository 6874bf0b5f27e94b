//! Before the load: with `--sim` the engine is started, the server is asked what it is, and the requests are made.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use program::{Stop, outputs};
use record::{Arrivals, ResultFolder, ServeFinding, ServeLoad};
use runner::Interrupt;
use runner::server::{Server, ServerError};

use super::MAX_MODEL_BYTES;
use super::args::{Args, refused};
use super::budget;
use super::data::Data;
use super::dispatch::{Pace, schedule};
use super::request::{Bodies, bodies};
use super::slot::Destination;
use super::target::{self, Answers};
use crate::address::Address;
use crate::listener::signalled;
use crate::planner;
use crate::study::engines::embedded;

/// How long the engine may take to answer.
const READY: Duration = Duration::from_secs(60);

/// How long between two questions to a server that does not answer yet.
const AGAIN: Duration = Duration::from_millis(500);

/// Requests of a run that only a time ends, at most.
const MOST_BY_TIME: u32 = 10_000_000;

/// What a run is going to do.
pub(super) struct Plan {
    /// As it is recorded.
    pub(super) load: ServeLoad,
    /// When requests are sent.
    pub(super) pace: Pace,
    /// The requests.
    pub(super) bodies: Bodies,
    /// What a reader must know of them.
    pub(super) findings: Vec<ServeFinding>,
}

/// The latest instant at which a request may leave.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);

/// Makes the requests and their instants.
///
/// # Errors
/// In words: flags that do not go together, data that cannot be read, or requests that do not fit into memory.
pub(super) fn plan(args: &Args, model: &str, seed: u64) -> Result<Plan, String> {
    let traffic = &args.traffic;
    let arrivals = traffic.arrivals()?;
    let data = Data::of(&args.data, args.endpoint(), seed)?;
    let (arrivals, instants) = match data.instants() {
        Some(instants) => traced(instants, traffic.num_prompts, traffic.duration),
        None => {
            let instants = schedule(&arrivals, traffic.asked(), traffic.duration, seed);
            (arrivals, instants)
        }
    };
    refused(&[
        (
            instants.is_empty() && arrivals.is_open_loop(),
            "no request is due within --duration at this rate; raise one of them",
        ),
        (
            instants.last().is_some_and(|last| *last > LONGEST),
            "the last request would leave after more than 30 days, or never; raise --request-rate, --ramp-up-start-rps or \
             --burstiness, or ask for fewer --num-prompts",
        ),
    ])?;
    let requests = match arrivals {
        Arrivals::ClosedLoop => traffic.asked().unwrap_or(MOST_BY_TIME),
        _ => u32::try_from(instants.len()).unwrap_or(u32::MAX),
    };
    let is_exact = arrivals.is_open_loop() || traffic.asked().is_some();
    let bodies = bodies(args, &data, model, requests, is_exact)?;
    if is_exact {
        budget::check(requests, bodies.tokens, !args.no_stream)?;
    }
    let url = args.url().to_ascii_lowercase();
    let is_unchecked = args.insecure && url.starts_with("https:");
    let repeated = data
        .entries()
        .filter(|prompts| *prompts < requests as usize && is_exact)
        .map(|prompts| ServeFinding::PromptsRepeat { prompts, requests });
    let findings = [
        (args.data.tokenizer.is_some()).then_some(ServeFinding::TokenizerUnused),
        is_unchecked.then_some(ServeFinding::CertificateUnchecked),
        repeated,
    ];
    let findings = findings.into_iter().flatten().collect();
    let pace = Pace {
        is_paced: arrivals.rate().is_some(),
        instants: arrivals.is_open_loop().then_some(instants),
        requests,
        limit: traffic.max_concurrency,
        duration: traffic.duration,
    };
    let load = ServeLoad {
        arrivals,
        concurrency: traffic.max_concurrency,
        requests,
        duration_s: traffic.duration.map(|duration| duration.as_secs_f64()),
        warmups: traffic.warmups(),
        input_tokens: data.input_tokens,
        output_tokens: data.output_tokens,
        ignore_eos: args.data.ignores_eos(),
        seed,
        data: Some(data.words.to_owned()),
        range_ratio: args.data.random_range_ratio,
        prefix_tokens: args.data.random_prefix_len,
        goals: traffic.goals(),
    };
    Ok(Plan {
        load,
        pace,
        bodies,
        findings,
    })
}

/// The instants of a trace within the number and time that were asked for, and their rate.
fn traced(
    mut instants: Vec<Duration>,
    requests: Option<u32>,
    duration: Option<Duration>,
) -> (Arrivals, Vec<Duration>) {
    instants.truncate(requests.map_or(usize::MAX, |requests| requests as usize));
    instants.retain(|instant| duration.is_none_or(|duration| *instant < duration));
    let last = instants.last().map_or(0.0, Duration::as_secs_f64);
    let rate = instants.len() as f64 / last.max(1e-3);
    (Arrivals::Trace { rate }, instants)
}

/// Asks the server what it is, again and again for as long as it may take to be ready (`patience`); a signal ends the wait.
pub(super) fn ask(
    base: &Address,
    to: &Destination,
    patience: Duration,
    interrupt: &Interrupt,
) -> Result<Result<Answers, String>, Stop> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("starting the network runtime")?;
    let begun = Instant::now();
    runtime.block_on(async {
        let answers = async {
            loop {
                let answers = target::ask(base, to).await;
                if answers.is_ok() || begun.elapsed() >= patience {
                    return answers;
                }
                tokio::time::sleep(AGAIN).await;
            }
        };
        tokio::select! {
            answers = answers => Ok(answers),
            signal = signalled(interrupt) => Err(Stop::Interrupted(signal)),
        }
    })
}

/// The model that requests carry.
pub(super) fn model(args: &Args, answers: &Answers) -> Result<String, String> {
    let first = || answers.models.first().map(String::as_str);
    let name = args.named_model().or_else(first).ok_or_else(|| {
        format!(
            "the server names no model at /v1/models ({}); give --model",
            answers.no_models
        )
    })?;
    match name.len() {
        ..=MAX_MODEL_BYTES => Ok(name.to_owned()),
        bytes => Err(format!(
            "the model's id has {bytes} bytes, {MAX_MODEL_BYTES} at most; serve it under a shorter name"
        )),
    }
}

/// Starts the embedded engine as a child, on a port that is free, for as long as the run lasts. What it prints goes into the result
/// folder.
///
/// # Errors
/// It does not start, such as for a box or model that is not known.
pub(super) fn simulated(
    args: &Args,
    sim: &str,
    folder: &Path,
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
) -> Result<Server, Stop> {
    if ResultFolder::is_taken(folder) {
        return Err(Stop::Usage(format!(
            "{} holds a result already; choose another folder with --out",
            folder.display()
        )));
    }
    outputs::make_folder("--out", folder)?;
    let (tp, model) = (args.tp.unwrap_or(1), &args.sim_model);
    let words = embedded(sim, model, &tp.to_string())?;
    let spec = planner::server("engine", words, vec![], folder.join("engine.log"), READY);
    say(&format!(
        "starting the embedded engine on the simulated machine {sim} with {model} on {tp} device(s): what follows is simulated"
    ));
    let server = spec
        .port()
        .and_then(|port| Server::start(&spec, port, interrupt));
    server.map_err(|error| match error {
        ServerError::Interrupted(signal) => Stop::Interrupted(signal),
        error => Stop::Usage(format!("--sim {sim}: {error}")),
    })
}
