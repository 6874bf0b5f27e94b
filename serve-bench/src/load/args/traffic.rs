//! When requests are sent: closed loop, all at once, at a rate, by a ramp; how many, and what they must keep.

use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};
use record::{Arrivals, Goals};

use super::refused::refused;

/// Requests where the command line does not say how many, as in vLLM's client.
const REQUESTS: u32 = 1000;

/// When requests are sent.
#[derive(Debug, Clone, ClapArgs)]
#[command(next_help_heading = "Load")]
pub(in crate::load) struct Traffic {
    /// Measured requests [default: 1000; with --duration as many as fit].
    #[arg(long, alias = "requests", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(in crate::load) num_prompts: Option<u32>,

    /// Send no request after this time; those in flight are waited for.
    #[arg(long, help_heading = "Stop", value_name = "SECONDS", value_parser = program::command_line::seconds)]
    pub(in crate::load) duration: Option<Duration>,

    /// Requests in flight at most.
    ///
    /// Without --request-rate each that ends is followed by the next (a closed loop); with it, what comes above the limit waits in the
    /// client, and that wait is reported as queue time. Without both, all are sent at once.
    #[arg(long, visible_alias = "concurrency", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16_384))]
    pub(in crate::load) max_concurrency: Option<u32>,

    /// Requests before the measured part [default: --max-concurrency, or 1].
    ///
    /// They are in no number.
    #[arg(long, alias = "warmups", value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    num_warmups: Option<u32>,

    /// Requests per second, or inf.
    ///
    /// Gaps are stretched so that the last request comes after exactly --num-prompts / rate, as vLLM's client does; not with --duration
    /// alone.
    #[arg(long, value_name = "RATE", default_value = "inf", value_parser = rate)]
    request_rate: f64,

    /// Shape of the gaps: 1 Poisson, inf constant.
    ///
    /// Below 1 it comes in bursts, above more evenly (gamma).
    #[arg(long, value_name = "SHAPE", default_value = "1", value_parser = rate)]
    burstiness: f64,

    /// Go from one rate to another over the run.
    #[arg(long, hide_short_help = true, value_enum, value_name = "STRATEGY", requires_all = ["ramp_up_start_rps", "ramp_up_end_rps"])]
    ramp_up_strategy: Option<Strategy>,

    /// Requests per second at the beginning of a ramp.
    #[arg(long, hide_short_help = true, value_name = "RATE", requires = "ramp_up_strategy", value_parser = rate)]
    ramp_up_start_rps: Option<f64>,

    /// Requests per second at the end of a ramp.
    #[arg(long, hide_short_help = true, value_name = "RATE", requires = "ramp_up_strategy", value_parser = rate)]
    ramp_up_end_rps: Option<f64>,

    /// Limits of a request in the goodput, ms, such as ttft:500 tpot:50.
    ///
    /// The names are ttft, tpot and e2el.
    #[arg(long, value_name = "NAME:MS", num_args = 1.., value_parser = goal)]
    goodput: Vec<(&'static str, f64)>,
}

/// How a rate grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Strategy {
    /// By equal steps.
    Linear,
    /// By equal factors.
    Exponential,
}

impl Traffic {
    /// Measured requests that were asked for; `None` where only a time limits them.
    pub(in crate::load) fn asked(&self) -> Option<u32> {
        let default = self.duration.is_none().then_some(REQUESTS);
        self.num_prompts.or(default)
    }

    /// Whether a rate or a ramp says when requests are sent.
    pub(in crate::load) fn is_paced(&self) -> bool {
        self.request_rate.is_finite() || self.ramp_up_strategy.is_some()
    }

    /// Requests before the measured part.
    pub(in crate::load) fn warmups(&self) -> u32 {
        self.num_warmups
            .unwrap_or(self.max_concurrency.unwrap_or(1))
    }

    /// When requests are sent.
    ///
    /// # Errors
    /// In words: flags that do not go together.
    pub(in crate::load) fn arrivals(&self) -> Result<Arrivals, String> {
        let (rate, asked) = (self.request_rate, self.asked());
        let ramp = self.ramp_up_start_rps.zip(self.ramp_up_end_rps);
        if let Some((strategy, (from, to))) = self.ramp_up_strategy.zip(ramp) {
            refused(&[
                (
                    rate.is_finite(),
                    "--request-rate does not go with --ramp-up-strategy, which sets the rate; leave it out",
                ),
                (
                    self.burstiness != 1.0,
                    "a ramp has Poisson gaps here; leave --burstiness out, or use --request-rate",
                ),
                (
                    !to.is_finite() || from > to,
                    "a ramp goes from --ramp-up-start-rps up to --ramp-up-end-rps, both finite",
                ),
                (
                    asked.is_none(),
                    "a ramp is over a number of requests; give --num-prompts, too",
                ),
            ])?;
            let exponential = strategy == Strategy::Exponential;
            return Ok(Arrivals::Ramp {
                from,
                to,
                exponential,
            });
        }
        Ok(match self.max_concurrency {
            Some(_) if rate.is_infinite() => Arrivals::ClosedLoop,
            None if rate.is_infinite() => {
                let endless = "all requests at once have no end by time; give --num-prompts, --max-concurrency or --request-rate";
                refused(&[(asked.is_none(), endless)])?;
                Arrivals::AllAtOnce
            }
            _ if self.burstiness.is_infinite() => Arrivals::Constant { rate },
            _ if self.burstiness == 1.0 => Arrivals::Poisson { rate },
            _ => Arrivals::Gamma {
                rate,
                burstiness: self.burstiness,
            },
        })
    }

    /// What a request must keep; `None` where nothing was said.
    pub(in crate::load) fn goals(&self) -> Option<Goals> {
        let of = |goal| {
            let said = self.goodput.iter().rev().find(|(name, _)| *name == goal);
            Some(said?.1)
        };
        (!self.goodput.is_empty()).then(|| Goals {
            ttft_ms: of("ttft"),
            tpot_ms: of("tpot"),
            e2el_ms: of("e2el"),
        })
    }
}

/// A number above zero, or `inf`.
fn rate(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|rate: &f64| *rate > 0.0)
        .ok_or_else(|| format!("`{text}` is not a number above 0, nor inf"))
}

fn goal(text: &str) -> Result<(&'static str, f64), String> {
    let read = || {
        let (said, ms) = text.split_once(':')?;
        let mut names = ["ttft", "tpot", "e2el"].into_iter();
        let ms: f64 = ms.parse().ok()?;
        Some((names.find(|name| *name == said)?, ms)).filter(|_| ms.is_finite() && ms >= 0.0)
    };
    read().ok_or_else(|| {
        format!("`{text}` is not a goal such as ttft:500, in ms; the names are ttft, tpot and e2el")
    })
}
