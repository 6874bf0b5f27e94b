//! When requests are sent: closed loop, all at once, at a rate, by a ramp; how many, and what they must keep.

use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};
use record::{Arrivals, Goals};

/// Requests where the command line does not say how many, as in vLLM's client.
const REQUESTS: u32 = 1000;

/// When requests are sent.
#[derive(Debug, Clone, ClapArgs)]
#[command(next_help_heading = "Load")]
pub(in crate::load) struct Traffic {
    /// Measured requests [default: 1000; with --duration as many as fit].
    #[arg(long, alias = "requests", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000), allow_negative_numbers = true)]
    num_prompts: Option<u32>,

    /// Send no request after this time; those in flight are waited for.
    #[arg(long, help_heading = "Stop", value_name = "SECONDS", value_parser = program::command_line::seconds)]
    pub(in crate::load) duration: Option<Duration>,

    /// Requests in flight at most.
    ///
    /// Without --request-rate each that ends is followed by the next (a closed loop); with it, what comes above the limit waits in the
    /// client, and that wait is reported as queue time. Without both, all are sent at once.
    #[arg(long, visible_alias = "concurrency", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16_384), allow_negative_numbers = true)]
    pub(in crate::load) max_concurrency: Option<u32>,

    /// Requests before the measured part [default: --max-concurrency, or 1].
    ///
    /// They are in no number.
    #[arg(long, alias = "warmups", value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000), allow_negative_numbers = true)]
    num_warmups: Option<u32>,

    /// Requests per second, or inf.
    ///
    /// Gaps are stretched so that the last request comes after exactly --num-prompts / rate, as vLLM's client does; not with --duration
    /// alone.
    #[arg(long, value_name = "RATE", default_value = "inf", value_parser = rate, allow_negative_numbers = true)]
    request_rate: f64,

    /// Shape of the gaps: 1 Poisson, inf constant.
    ///
    /// Below 1 it comes in bursts, above more evenly (gamma).
    #[arg(long, value_name = "SHAPE", default_value = "1", value_parser = rate, allow_negative_numbers = true)]
    burstiness: f64,

    /// Go from one rate to another over the run.
    #[arg(long, hide_short_help = true, value_enum, value_name = "STRATEGY")]
    ramp_up_strategy: Option<Strategy>,

    /// Requests per second at the beginning of a ramp.
    #[arg(long, hide_short_help = true, value_name = "RATE", requires = "ramp_up_strategy", value_parser = rate, allow_negative_numbers = true)]
    ramp_up_start_rps: Option<f64>,

    /// Requests per second at the end of a ramp.
    #[arg(long, hide_short_help = true, value_name = "RATE", requires = "ramp_up_strategy", value_parser = rate, allow_negative_numbers = true)]
    ramp_up_end_rps: Option<f64>,

    /// Limits of a request in the goodput, ms, such as ttft:500 tpot:50.
    ///
    /// The names are ttft, tpot and e2el.
    #[arg(long, value_name = "NAME:MS", num_args = 1.., value_parser = goal)]
    goodput: Vec<(Goal, f64)>,
}

/// How a rate grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Strategy {
    /// By equal steps.
    Linear,
    /// By equal factors.
    Exponential,
}

/// What a goal is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goal {
    Ttft,
    Tpot,
    E2el,
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

    /// Measured requests where the command line says how many.
    pub(in crate::load) fn num_prompts(&self) -> Option<u32> {
        self.num_prompts
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
        let rate = self.request_rate;
        if let Some(strategy) = self.ramp_up_strategy {
            let (Some(from), Some(to)) = (self.ramp_up_start_rps, self.ramp_up_end_rps) else {
                return Err(
                    "--ramp-up-strategy needs --ramp-up-start-rps and --ramp-up-end-rps".to_owned(),
                );
            };
            if rate.is_finite() {
                return Err(
                    "--request-rate does not go with --ramp-up-strategy, which sets the rate; leave it out"
                        .to_owned(),
                );
            }
            if self.burstiness != 1.0 {
                return Err(
                    "a ramp has Poisson gaps here; leave --burstiness out, or use --request-rate"
                        .to_owned(),
                );
            }
            if !from.is_finite() || !to.is_finite() || from > to {
                return Err(
                    "a ramp goes from --ramp-up-start-rps up to --ramp-up-end-rps, both finite"
                        .to_owned(),
                );
            }
            if self.asked().is_none() {
                return Err(
                    "a ramp is over a number of requests; give --num-prompts, too".to_owned(),
                );
            }
            let exponential = strategy == Strategy::Exponential;
            return Ok(Arrivals::Ramp {
                from,
                to,
                exponential,
            });
        }
        Ok(match (rate.is_finite(), self.max_concurrency) {
            (false, Some(_)) => Arrivals::ClosedLoop,
            (false, None) if self.asked().is_none() => {
                return Err(
                    "all requests at once have no end by time; give --num-prompts, --max-concurrency or --request-rate"
                        .to_owned(),
                );
            }
            (false, None) => Arrivals::AllAtOnce,
            (true, _) if self.burstiness.is_infinite() => Arrivals::Constant { rate },
            (true, _) if self.burstiness == 1.0 => Arrivals::Poisson { rate },
            (true, _) => Arrivals::Gamma {
                rate,
                burstiness: self.burstiness,
            },
        })
    }

    /// What a request must keep; `None` where nothing was said.
    pub(in crate::load) fn goals(&self) -> Option<Goals> {
        let of = |goal| {
            let said = self.goodput.iter().rev().find(|(name, _)| *name == goal);
            said.map(|(_, ms)| *ms)
        };
        (!self.goodput.is_empty()).then(|| Goals {
            ttft_ms: of(Goal::Ttft),
            tpot_ms: of(Goal::Tpot),
            e2el_ms: of(Goal::E2el),
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

fn goal(text: &str) -> Result<(Goal, f64), String> {
    let wrong = || {
        format!("`{text}` is not a goal such as ttft:500, in ms; the names are ttft, tpot and e2el")
    };
    let (name, ms) = text.split_once(':').ok_or_else(wrong)?;
    let goal = match name {
        "ttft" => Goal::Ttft,
        "tpot" => Goal::Tpot,
        "e2el" => Goal::E2el,
        _ => return Err(wrong()),
    };
    let ms: f64 = ms.parse().map_err(|_| wrong())?;
    (ms.is_finite() && ms >= 0.0)
        .then_some((goal, ms))
        .ok_or_else(wrong)
}
