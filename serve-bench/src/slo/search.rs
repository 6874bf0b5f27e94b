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
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    /// The largest load is known to the resolution.
    Found,
    /// There are no runs left, and the gap is wider than the resolution.
    Wide,
    /// No load is met, down to the lowest.
    Never,
    /// Every load is met, up to the highest.
    Always,
    /// The load generator was the limit before the server was, so that the largest load is not known.
    ClientLimit,
}

impl Bounds {
    /// What to do after these tries, in their order.
    pub(super) fn next(&self, trials: &[Trial]) -> Next {
        // The last try of a load speaks for all of them.
        let is_last = |(at, trial): &(usize, &Trial)| {
            trials[at + 1..].iter().all(|later| later.at != trial.at)
        };
        let decided = || {
            trials
                .iter()
                .enumerate()
                .filter(is_last)
                .map(|(_, trial)| trial)
        };
        let met = decided().filter(|trial| trial.verdict == Verdict::Met);
        let met = met.map(|trial| trial.at).max_by(f64::total_cmp);
        let above = decided()
            .filter(|trial| trial.verdict != Verdict::Met && met.is_none_or(|met| trial.at > met));
        let above = above.min_by(|one, other| one.at.total_cmp(&other.at));
        let left = self.runs.saturating_sub(trials.len());
        if let Some(last) = trials.last()
            && last.verdict.is_open()
            && trials.iter().filter(|trial| trial.at == last.at).count() < TRIES
            && left > self.needed(met, above.map(|trial| trial.at))
        {
            return Next::Run(last.at);
        }
        let next = match (met, above.map(|trial| trial.at)) {
            (None, None) => Ok(self.start),
            (Some(met), None) if met >= self.highest => Err(Outcome::Always),
            (Some(met), None) => Ok((met * FACTOR).min(self.highest)),
            (None, Some(first)) if first <= self.lowest => Err(Outcome::Never),
            (None, Some(first)) => Ok(self.rounded(first / FACTOR).max(self.lowest)),
            (Some(met), Some(first)) => self.between(met, first).ok_or(Outcome::Found),
        };
        let outcome = match next {
            Ok(load) if left > 0 => return Next::Run(load),
            Ok(_) => Outcome::Wide,
            Err(outcome) => outcome,
        };
        let verdict = above.map(|trial| trial.verdict);
        Next::Done(Found {
            outcome: match verdict {
                Some(Verdict::NotKnown) => Outcome::ClientLimit,
                _ => outcome,
            },
            met,
            not_met: above.map(|trial| trial.at),
            not_met_verdict: verdict,
        })
    }

    /// Runs that the bisection still takes; from a factor of two on, where it has not begun.
    fn needed(&self, met: Option<f64>, not_met: Option<f64>) -> usize {
        let (mut low, high, mut steps) = match (met, not_met) {
            (Some(met), Some(not_met)) => (met, not_met, 0),
            _ => (self.start, self.start * FACTOR, 1),
        };
        while let Some(middle) = self.between(low, high) {
            low = middle;
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
        let power = 10f64.powf(3.0 - load.log10().floor());
        (load * power).round() / power
    }
}
