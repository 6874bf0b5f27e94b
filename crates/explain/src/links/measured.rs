//! Times of the runs of two sides, and draws of their means.

use super::step::RunTime;
use crate::attribute::{of_bound, spread_of};
use crate::inputs::Inputs;
use crate::priors::Prior;
use crate::random::Random;

/// With fewer degrees of freedom than this, the spread between starts is the assumed one.
const LEAST_DEGREES: usize = 2;

/// Means of both sides' runs.
#[derive(Debug, Clone)]
pub(super) struct Measured {
    a: Vec<Run>,
    b: Vec<Run>,
    /// Relative standard deviation between runs, and its degrees of freedom; `None` where too few were repeated.
    between: Option<(f64, usize)>,
    unstated: Prior,
    start: Prior,
}

/// A run's mean, and its relative standard deviation where the file tells one.
#[derive(Debug, Clone, Copy)]
struct Run {
    mean: f64,
    spread: Option<f64>,
    /// The part of it that prompts which no gap shows may take at most.
    unseen: f64,
}

impl Measured {
    /// These times, with `start` for what a start may differ by where too few were repeated; `None` where a side has none, or a prior is
    /// missing.
    pub(super) fn new(inputs: &Inputs, start: &str, a: &[RunTime], b: &[RunTime]) -> Option<Self> {
        let runs = |times: &[RunTime]| -> Vec<Run> {
            times
                .iter()
                .filter(|time| time.of.mean.is_finite() && time.of.mean > 0.0)
                .map(|time| Run {
                    mean: time.of.mean,
                    spread: spread_of(&time.of),
                    unseen: time.unseen,
                })
                .collect()
        };
        let (a, b) = (runs(a), runs(b));
        if a.is_empty() || b.is_empty() {
            return None;
        }
        Some(Self {
            between: between(&a, &b),
            a,
            b,
            unstated: inputs.prior("unstated_spread")?,
            start: inputs.prior(start)?,
        })
    }

    /// One draw of both means, less what prompts that no gap shows take of them: the same part of what bounds them on both sides, whose
    /// load is the same.
    pub(super) fn draw(&self, random: &mut Random) -> (f64, f64) {
        let (a, b) = self.draw_whole(random);
        let [of_a, of_b] = [&self.a, &self.b].map(|runs| unseen(runs));
        // Draws of runs that have none stay as they were.
        if of_a.max(of_b) <= 0.0 {
            return (a, b);
        }
        let part = of_bound(random.uniform());
        (a * (1.0 - part * of_a), b * (1.0 - part * of_b))
    }

    /// With repeats it is Student's: the spread between runs holds all that differs from start to start.
    fn draw_whole(&self, random: &mut Random) -> (f64, f64) {
        let Some((deviation, degrees)) = self.between else {
            return (self.assumed(&self.a, random), self.assumed(&self.b, random));
        };
        let squares: f64 = (0..degrees).map(|_| random.normal().powi(2)).sum();
        #[expect(clippy::cast_precision_loss, reason = "a handful of runs")]
        let scale = deviation * (degrees as f64 / squares.max(1e-9)).sqrt();
        let mut side = |runs: &[Run]| {
            #[expect(clippy::cast_precision_loss, reason = "a handful of runs")]
            let error = scale / (runs.len() as f64).sqrt();
            mean(runs) * (1.0 + error * random.normal())
        };
        (side(&self.a), side(&self.b))
    }

    /// What these draws take as known.
    pub(super) fn priors(&self) -> Vec<Prior> {
        if self.between.is_some() {
            return Vec::new();
        }
        let unstated = self.a.iter().chain(&self.b).any(|run| run.spread.is_none());
        let mut priors = vec![self.start.clone()];
        priors.extend(unstated.then(|| self.unstated.clone()));
        priors
    }

    fn assumed(&self, runs: &[Run], random: &mut Random) -> f64 {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a handful of runs, and a number in 0..1"
        )]
        let index = (random.uniform() * runs.len() as f64) as usize;
        let run = runs[index.min(runs.len() - 1)];
        let unstated = self.unstated.at(random.uniform());
        let error = random.normal() * run.spread.unwrap_or(unstated);
        run.mean * (1.0 + error) * (1.0 + self.start.at(random.uniform()))
    }
}

#[expect(clippy::cast_precision_loss, reason = "a handful of runs")]
fn mean(runs: &[Run]) -> f64 {
    runs.iter().map(|run| run.mean).sum::<f64>() / runs.len() as f64
}

/// What unseen prompts may take of a side's times at most, as a part of them, on average over its runs.
#[expect(clippy::cast_precision_loss, reason = "a handful of runs")]
fn unseen(runs: &[Run]) -> f64 {
    runs.iter().map(|run| run.unseen).sum::<f64>() / runs.len() as f64
}

/// Relative standard deviation between runs of a side, both sides pooled.
fn between(a: &[Run], b: &[Run]) -> Option<(f64, usize)> {
    let degrees = a.len() + b.len() - 2;
    if degrees < LEAST_DEGREES {
        return None;
    }
    let squares = |runs: &[Run]| -> f64 {
        let mean = mean(runs);
        runs.iter().map(|run| (run.mean / mean - 1.0).powi(2)).sum()
    };
    #[expect(clippy::cast_precision_loss, reason = "a handful of runs")]
    let variance = (squares(a) + squares(b)) / degrees as f64;
    Some((variance.sqrt(), degrees))
}
