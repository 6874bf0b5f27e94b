//! What to try next, and when the answer is there. Pure: it knows the tries so far and nothing else, so a search that was
//! broken off goes on by being asked again.
//!
//! From a start the load is doubled while the objectives are met, or halved while they are not; then the gap between the
//! largest that is met and the smallest that is not is halved on a logarithmic scale. A try that decides nothing is repeated
//! while there are runs to spare; after that it counts as not shown to be met. A load that the client could not make sends the
//! search down, because it can only ask for less, and is never an answer.

#[cfg(test)]
mod tests;

use serde::Serialize;

/// How often a load is tried at most.
const TRIES: usize = 3;

/// Steps of the first phase.
const FACTOR: f64 = 2.0;

/// What a run says about its load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    /// All objectives are kept, and the load was sustained.
    Met,
    /// An objective is not kept.
    Missed,
    /// The interval of a statistic holds its limit.
    Undecided,
    /// Objectives are not missed, but the server did not keep up or let requests fail: a burst of this size, not a rate.
    NotSustained,
    /// The runs say nothing about the server: the load generator was the limit.
    NotKnown,
}

impl Verdict {
    /// Whether another run of the same load may say something else.
    fn is_open(self) -> bool {
        matches!(self, Self::Undecided | Self::NotKnown)
    }
}

/// Where to search, and how far.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Bounds {
    /// The first load.
    pub(super) start: f64,
    /// No load is smaller.
    pub(super) lowest: f64,
    /// No load is larger.
    pub(super) highest: f64,
    /// The largest load that is met is known to this part, such as 0.03.
    pub(super) resolution: f64,
    /// Runs at most, repeats too.
    pub(super) runs: usize,
    /// Whether loads are whole numbers.
    pub(super) whole: bool,
}

/// A run that was made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Trial {
    /// Its load.
    pub(super) at: f64,
    /// What it and the earlier ones of the same load say together.
    pub(super) verdict: Verdict,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Next {
    /// Make a run with this load.
    Run(f64),
    /// Stop.
    Done(Found),
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Found {
    /// How the search ended.
    pub(super) outcome: Outcome,
    /// The largest load that is met.
    pub(super) met: Option<f64>,
    /// The smallest load above it that is not shown to be met.
    pub(super) not_met: Option<f64>,
    /// What the runs of that say.
    pub(super) not_met_verdict: Option<Verdict>,
    /// The largest load that is met, where the load generator was the limit above it, or else nothing.
    pub(super) not_known_above: Option<f64>,
    /// The smallest load above it at which the load generator was the limit.
    pub(super) client_limit: Option<f64>,
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    /// The largest load is known to the resolution.
    Found,
    /// There are no runs left, and the gap is wider than the resolution.
    Wide,
    /// No load that was tried is met, down to the lowest.
    Never,
    /// Every load that was tried is met, up to the highest.
    Always,
    /// The load generator was the limit before the server was, so that the largest load is not known.
    ClientLimit,
}

impl Bounds {
    /// What to do after these tries, in their order.
    pub(super) fn next(&self, trials: &[Trial]) -> Next {
        let met = self.met(trials);
        let not_met = smallest_not_met(trials, met);
        let left = self.runs.saturating_sub(trials.len());
        let done = |outcome| Next::Done(found(trials, outcome, met));
        if let Some(last) = trials.last()
            && last.verdict.is_open()
            && tries(trials, last.at) < TRIES
            && left > self.needed(met, not_met.map(|trial| trial.at))
        {
            return Next::Run(last.at);
        }
        match (met, not_met) {
            (None, None) => Next::Run(self.start),
            (Some(met), None) if met >= self.highest || left == 0 => done(Outcome::Always),
            (Some(met), None) => Next::Run((met * FACTOR).min(self.highest)),
            (None, Some(first)) if first.at <= self.lowest || left == 0 => done(Outcome::Never),
            (None, Some(first)) => Next::Run(self.rounded(first.at / FACTOR).max(self.lowest)),
            (Some(met), Some(first)) => match self.between(met, first.at) {
                None => done(Outcome::Found),
                Some(_) if left == 0 => done(Outcome::Wide),
                Some(middle) => Next::Run(middle),
            },
        }
    }

    /// The largest load that is met, below every one that is not.
    fn met(&self, trials: &[Trial]) -> Option<f64> {
        let all = decided(trials);
        all.filter(|trial| trial.verdict == Verdict::Met)
            .map(|trial| trial.at)
            .max_by(f64::total_cmp)
    }

    /// Runs that the bisection still takes.
    fn needed(&self, met: Option<f64>, not_met: Option<f64>) -> usize {
        let (Some(mut met), Some(not_met)) = (met, not_met) else {
            // From a factor of two on.
            let steps = (FACTOR.ln() / self.resolution.ln_1p()).log2().ceil();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a handful of steps; below zero is none"
            )]
            return 1 + steps.max(0.0) as usize;
        };
        let mut steps = 0;
        while let Some(middle) = self.between(met, not_met) {
            met = middle;
            steps += 1;
        }
        steps
    }

    /// The load between two; `None` where they are close enough.
    fn between(&self, low: f64, high: f64) -> Option<f64> {
        let is_close = high / low <= 1.0 + self.resolution || (self.whole && high - low <= 1.0);
        if is_close {
            return None;
        }
        let middle = (low * high).sqrt();
        Some(if self.whole {
            middle.round().clamp(low + 1.0, high - 1.0)
        } else {
            self.rounded(middle)
        })
    }

    /// A load that people can read: a whole number, or four digits.
    fn rounded(&self, load: f64) -> f64 {
        if self.whole {
            return load.floor();
        }
        let power = 10f64.powi(3 - exponent(load));
        (load * power).round() / power
    }
}

/// The power of ten of the first digit.
fn exponent(load: f64) -> i32 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "rates are within 1e-6 and 1e9"
    )]
    let exponent = load.log10().floor() as i32;
    exponent
}

/// The last try of each load, which speaks for all of them.
fn decided(trials: &[Trial]) -> impl Iterator<Item = &Trial> {
    trials.iter().enumerate().filter_map(|(index, trial)| {
        let is_last = !trials[index + 1..].iter().any(|later| later.at == trial.at);
        is_last.then_some(trial)
    })
}

/// What is found where the search ends; a load that the client could not make bounds nothing.
fn found(trials: &[Trial], outcome: Outcome, met: Option<f64>) -> Found {
    let above = |of_client: bool| {
        decided(trials)
            .filter(|trial| met.is_none_or(|met| trial.at > met))
            .filter(|trial| trial.verdict != Verdict::Met)
            .filter(|trial| (trial.verdict == Verdict::NotKnown) == of_client)
            .min_by(|one, other| one.at.total_cmp(&other.at))
    };
    let not_met = above(false);
    let client_limit = above(true)
        .map(|trial| trial.at)
        .filter(|at| not_met.is_none_or(|not_met| *at < not_met.at));
    Found {
        outcome: client_limit.map_or(outcome, |_| Outcome::ClientLimit),
        met,
        not_met: not_met.map(|trial| trial.at),
        not_met_verdict: not_met.map(|trial| trial.verdict),
        not_known_above: client_limit.and(met),
        client_limit,
    }
}

fn smallest_not_met(trials: &[Trial], met: Option<f64>) -> Option<&Trial> {
    decided(trials)
        .filter(|trial| trial.verdict != Verdict::Met)
        .filter(|trial| met.is_none_or(|met| trial.at > met))
        .min_by(|one, other| one.at.total_cmp(&other.at))
}

fn tries(trials: &[Trial], at: f64) -> usize {
    trials.iter().filter(|trial| trial.at == at).count()
}
