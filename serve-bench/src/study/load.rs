//! The closed loop of requests of equal length that studies, ablations and shard runs put on a server, and how long it takes.

use std::time::Duration;

use clap::Args;
use program::command_line::seconds;
use record::redacted_arguments;
use runner::run::{Needs, Step, URL};
use serde_json::Value;

use crate::planner;

/// What a decode step is assumed to take, s, and the part of its time to get ready that a server needs: only the time that is printed
/// before the first load rests on it.
const STEP_S: f64 = 0.03;
const START: f64 = 1.0 / 30.0;

/// A closed loop of requests of equal length, on a server that is started for it.
#[derive(Debug, Clone, Args)]
pub(crate) struct LoadArgs {
    /// Requests in flight at once, which is the batch that decodes.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=16_384))]
    pub(crate) concurrency: u32,

    /// Measured requests. Default: four for each in flight.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) requests: Option<u32>,

    /// Prompt tokens of each request.
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=4_000_000))]
    pub(crate) input_tokens: u32,

    /// Output tokens of each request.
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(2..=4_000_000))]
    pub(crate) output_tokens: u32,

    /// Seconds until a started server must answer.
    #[arg(long, value_name = "SECONDS", default_value = "1800", value_parser = seconds)]
    pub(crate) ready_timeout: Duration,

    /// Seed of the prompts: the same prompts for every server, each being started afresh.
    #[arg(skip = 1_u32)]
    pub(crate) seed: u32,
}

impl LoadArgs {
    /// Measured requests.
    pub(crate) fn requests(&self) -> u32 {
        self.requests.unwrap_or(self.concurrency.saturating_mul(4))
    }

    /// What decides a run with this load on a server of these words, beside what is its own.
    pub(crate) fn settings(&self, mut own: Value, server: &[String]) -> Value {
        own["schema"] = 1.into();
        own["concurrency"] = self.concurrency.into();
        own["requests"] = self.requests().into();
        own["input_tokens"] = self.input_tokens.into();
        own["output_tokens"] = self.output_tokens.into();
        // Kept without the values of flags that name a secret.
        own["server"] = redacted_arguments(server.iter().cloned()).into();
        own
    }

    /// The arguments of `serve run` that put it on a server of a model with so many token ids.
    fn words(&self, vocab: u32, tp: u32) -> Vec<String> {
        // The special tokens of most vocabularies stand at the end; an image token without an image is refused.
        let ids = vocab - vocab / 10;
        planner::words([
            ("--base-url", URL.to_owned()),
            ("--tp", tp.to_string()),
            ("--concurrency", self.concurrency.to_string()),
            ("--requests", self.requests().to_string()),
            ("--input-tokens", self.input_tokens.to_string()),
            ("--output-tokens", self.output_tokens.to_string()),
            ("--dataset-name", "random-ids".to_owned()),
            ("--vocab", ids.to_string()),
            ("--seed", self.seed.to_string()),
        ])
    }

    /// The step that puts this load on the server that it `needs`.
    pub(crate) fn step(
        &self,
        named: (String, String),
        (vocab, tp): (u32, u32),
        needs: Needs,
    ) -> Step {
        planner::load(named, self.words(vocab, tp), Some(needs), self.seconds())
    }

    /// Seconds of a server's start and the load on it, about; the warm-up has one more request for each in flight.
    fn seconds(&self) -> f64 {
        let waves = f64::from(self.requests().div_ceil(self.concurrency) + 1);
        let start = self.ready_timeout.as_secs_f64() * START;
        start + waves * f64::from(self.output_tokens) * STEP_S
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_takes_its_waves_and_the_warm_up() {
        let load = LoadArgs {
            concurrency: 16,
            requests: None,
            input_tokens: 128,
            output_tokens: 128,
            ready_timeout: Duration::from_secs(1800),
            seed: 1,
        };
        // 64 requests of 16 in flight are four waves and one of warm-up of 128 steps of 30 ms: 19.2 s, and 60 s for the start.
        assert!((load.seconds() - 79.2).abs() < 1e-9);
    }
}
