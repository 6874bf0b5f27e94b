//! The command line of `tplens serve slo`, and what follows from it: settings, bounds and the step of each run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use program::command_line::seconds;
use program::seed_of_now;
use record::redacted_arguments;
use runner::run::Step;
use serde_json::Value;
use stats::Threshold;

use super::objective::Objective;
use super::search::Bounds;
use crate::json;
use crate::load::without_headers;
use crate::planner::{load, words};

/// The version of the settings.
const SCHEMA: u32 = 3;

/// The largest request rate, or concurrency, at which every objective is kept: doubling from --start, then halving the gap, each
/// run a `tplens serve run` with the flags after `--`. Goes on where it was broken off when started again with the same flags
/// and folder.
///
/// A run is decided by the 95% interval of each statistic: met where all of it is within the limit, missed where all of it is
/// beyond, else undecided, and repeated while there are runs to spare. A rate counts only where it is sustained: from the median
/// request's duration after the first arrival to the last arrival 95% of what is offered is completed, and the requests in flight do
/// not grow by more than 5% of the rate, nor clearly by more than 1%. Else it is a burst.
///
/// Exit code 0 where the answer is known to the resolution, or no load down to a thousandth of --start (1 in flight), or
/// every load up to a thousand times --start (16384 in flight), is met;
/// 3 where the runs ended before, or the load generator was the limit before the server.
#[derive(Debug, Clone, Args)]
pub(crate) struct SloArgs {
    /// What is to be kept, such as p99_ttft<=5s; mean, p50, p90, p95, p99 or max of ttft, tpot, itl or e2el, in ms, s or us. Several
    /// times for several.
    #[arg(long = "slo", value_name = "OBJECTIVE", required = true)]
    pub(super) objectives: Vec<Objective>,

    /// What to search the largest of.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Search::Rate)]
    pub(super) search: Search,

    /// The first load: requests per second [default: 1, or as many more as let the requests that a percentile needs arrive within
    /// --window], or requests in flight [default: 4].
    #[arg(long, value_name = "LOAD", value_parser = crate::sweep::rate)]
    start: Option<f64>,

    /// How well the largest load is to be known.
    #[arg(long, value_name = "PERCENT", default_value = "3%")]
    resolution: Threshold,

    /// Runs at most, repeats too.
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(super) runs: u32,

    /// Seconds of arrivals of each run at a rate; more where a percentile needs more requests. Ten times as long as a request
    /// takes is a good length.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    window: Duration,

    /// Seed of the first run's prompts and arrivals; each run takes the next, so that no prompt is in a server's cache. Default:
    /// another one each search.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Folder of the search. Default: a new one under tplens-results.
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,

    /// Write the answer and every verdict to this file as JSON, too; `-` for standard output instead of the table.
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,

    /// Flags of `tplens serve run` after `--`, such as --base-url URL --random-input-len 1024. The load, seed and results are
    /// set by the search.
    #[arg(last = true, value_name = "RUN FLAGS", value_parser = of_run)]
    pub(super) load: Vec<String>,
}

/// Flags of `tplens serve run` that every search sets, or that make another load than its own.
const ITS_OWN: &str = "--num-prompts --requests --seed --out --duration --ramp-up-strategy --no-stream --request-rate";

fn of_run(word: &str) -> Result<String, String> {
    let mut own = ITS_OWN.split(' ');
    match own.find(|own| word.split('=').next() == Some(own)) {
        Some(own) => Err(format!(
            "slo sets the load, its seed and its folder: leave {own} out"
        )),
        None => Ok(word.to_owned()),
    }
}

/// What is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Search {
    /// Requests per second.
    Rate,
    /// Requests in flight.
    Concurrency,
}

impl Search {
    /// Its name, the flag that sets it, and its unit in words.
    pub(super) fn words(self) -> [&'static str; 3] {
        match self {
            Self::Rate => ["rate", "--request-rate", "req/s"],
            Self::Concurrency => ["concurrency", "--max-concurrency", "in flight"],
        }
    }
}

/// Requests for each in flight, of a run at a concurrency.
const ROUNDS: f64 = 4.0;

/// What a request is assumed to take, s, until one did.
const REQUEST_S: f64 = 1.0;

impl SloArgs {
    /// What was searched, for its folder, where only the same search goes on; with the seed of the first run: of the command line, of
    /// the settings that are kept, or another one.
    pub(super) fn settings(&self, bounds: &Bounds, kept: &Path) -> (Value, u64) {
        let kept = json::read(kept, bounded::SETTINGS).and_then(|kept| kept["seed"].as_u64());
        let seed = self.seed.or(kept).unwrap_or_else(seed_of_now);
        let mut load = redacted_arguments(self.load.iter().cloned());
        without_headers(&mut load);
        let settings = serde_json::json!({
            "schema": SCHEMA,
            "search": self.search.words()[0],
            "slo": self.slo(),
            "bounds": bounds,
            "window_s": self.window.as_secs_f64(),
            "seed": seed,
            "load": load,
        });
        (settings, seed)
    }

    /// The objectives in words.
    pub(super) fn slo(&self) -> Vec<String> {
        self.objectives.iter().map(ToString::to_string).collect()
    }

    /// Where to search: from the rate at which the requests that the objectives need arrive within the window.
    ///
    /// # Errors
    /// In words: more in flight than a run takes.
    pub(super) fn bounds(&self) -> Result<Bounds, String> {
        let needed = f64::from(self.least_requests()) / self.window.as_secs_f64();
        let usual = ((needed * 1e3).floor() / 1e3).max(1.0);
        let whole = self.search == Search::Concurrency;
        let start = self.start.unwrap_or(if whole { 4.0 } else { usual });
        if whole && !(1.0..=16_384.0).contains(&start.round()) {
            return Err(format!("--start {start}: 1 to 16384 requests in flight"));
        }
        let (start, lowest, highest) = match whole {
            true => (start.round(), 1.0, 16_384.0),
            false => (start, start / 1e3, start * 1e3),
        };
        Ok(Bounds {
            start,
            lowest,
            highest,
            // Below it runs differ by less than they repeat.
            resolution: self.resolution.0.max(0.005),
            runs: self.runs as usize,
            whole,
        })
    }

    /// Requests that each run needs at least.
    fn least_requests(&self) -> u32 {
        let least = self.objectives.iter().map(Objective::least_requests);
        least.max().unwrap_or(1)
    }

    /// The run after so many, at this load, with prompts of its own.
    pub(super) fn step(&self, before: usize, at: f64, seed: u64) -> Step {
        let [_, flag, unit] = self.search.words();
        let asked = match self.search {
            Search::Rate => at * self.window.as_secs_f64(),
            Search::Concurrency => at * ROUNDS,
        };
        let requests = asked.ceil().max(f64::from(self.least_requests()));
        let mut arguments = self.load.clone();
        arguments.extend(words([
            (flag, at.to_string()),
            ("--num-prompts", requests.to_string()),
            ("--seed", seed.wrapping_add(before as u64).to_string()),
        ]));
        let name = format!("run-{:02}-{at}", before + 1);
        let about = format!("{at} {unit}, {requests} requests");
        // Before the first run ends.
        let unit_s = match self.search {
            Search::Rate => 1.0,
            Search::Concurrency => REQUEST_S,
        };
        load((name, about), arguments, None, requests / at * unit_s)
    }
}
