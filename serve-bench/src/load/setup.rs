//! Before the load: the server is asked what it is, and the requests are made.

use std::time::{Duration, Instant};

use anyhow::Context;
use program::Stop;
use record::{Arrivals, ServeFinding, ServeLoad};
use runner::Interrupt;

use super::MAX_MODEL_BYTES;
use super::args::{Args, refused};
use super::budget;
use super::data::Data;
use super::dispatch::{Pace, schedule};
use super::request::{Bodies, bodies};
use super::slot::Destination;
use super::target::{self, Answers, BaseUrl};

/// How often a signal is looked for while the server is asked.
const LOOK: Duration = Duration::from_millis(20);

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
        Some(instants) => traced(instants, traffic.num_prompts(), traffic.duration),
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
    let is_unchecked = args.insecure && args.url().starts_with("https");
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
    let pace = match arrivals {
        Arrivals::ClosedLoop => Pace::Closed {
            places: traffic.max_concurrency.unwrap_or(1),
            requests,
            duration: traffic.duration,
        },
        _ => Pace::Open {
            instants,
            limit: traffic.max_concurrency,
            is_paced: arrivals.rate().is_some(),
        },
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
#[expect(clippy::cast_precision_loss, reason = "a count of requests")]
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
    base: &BaseUrl,
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
        let signal = async {
            loop {
                match interrupt.signal() {
                    Some(signal) => return signal,
                    None => tokio::time::sleep(LOOK).await,
                }
            }
        };
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
            signal = signal => Err(Stop::Interrupted(signal)),
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
