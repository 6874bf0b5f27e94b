//! The time of a decode step as serving results give it: from the stream, or from the latency less what prefill may have taken.

use import::{ServeFormat, ServeRun, Spread};

use super::deck::{Hand, Knob};
use super::result::StepFrom;
use crate::range::count;
use crate::run_shape::{MAY_BE_MIXED, MixedIn, RunShape};

/// Prompts that no gap shows take nothing of a time per token in this part of the draws, and in as many less one in twenty anything up
/// to their bound: with requests of one length that go in waves they take next to nothing, and where each starts alone all of it.
const IN_WAVES: f64 = 0.5;
const ALONE: f64 = 0.05;

/// Fewer values than this show no spread.
const LEAST: u64 = 6;

/// The decode step at one tensor parallel size.
#[derive(Debug, Clone)]
pub(crate) struct StepTime {
    runs: Vec<Timed>,
    side: Side,
}

/// Whose step it is: its knobs, the GPUs that its prefill ran on, and the ranks that the model's width is shared out to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Side {
    /// Of its error, of its start, and of which of its repeats.
    knobs: [Knob; 3],
    gpus: u32,
    width: u32,
}

impl Side {
    const fn of(knobs: [Knob; 3], gpus: u32, width: u32) -> Self {
        Self { knobs, gpus, width }
    }

    /// So many GPUs that the others are compared with.
    pub(crate) const fn few(gpus: u32) -> Self {
        let knobs = [Knob::ErrorOfOne, Knob::StartOfOne, Knob::RepeatOfOne];
        Self::of(knobs, gpus, 1)
    }

    pub(crate) const fn several(gpus: u32) -> Self {
        let (error, start) = (Knob::ErrorOfSeveral, Knob::StartOfSeveral);
        Self::of([error, start, Knob::RepeatOfSeveral], gpus, 1)
    }

    /// The model at the width of one of so many ranks, on one GPU.
    pub(crate) const fn half(width: u32) -> Self {
        let knobs = [Knob::ErrorOfHalf, Knob::StartOfHalf, Knob::RepeatOfHalf];
        Self::of(knobs, 1, width)
    }

    /// By how much a start of the server is off in a hand.
    fn started(self, hand: &Hand) -> f64 {
        1.0 + hand.get(self.knobs[1])
    }
}

impl StepFrom {
    /// The best that every run has; `None` where a run has none.
    pub(crate) fn common(runs: &[&ServeRun]) -> Option<Self> {
        let all = |metric: Self| runs.iter().all(|run| metric.has(run));
        [Self::DecodeGap, Self::Tpot, Self::Latency]
            .into_iter()
            .find(|metric| all(*metric))
    }

    fn has(self, run: &ServeRun) -> bool {
        let shape = RunShape::new(run);
        match self {
            Self::DecodeGap => shape.decode_gap().is_some(),
            Self::Tpot => run.streamed && run.tpot_ms.is_some(),
            Self::Latency => {
                run.e2el_ms.is_some() && shape.output().is_some_and(|output| output >= 2.0)
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Timed {
    /// Mean of the metric, ms.
    mean_ms: f64,
    /// The part of it that steps with prompts may make up at most, 0 to 1.
    mixed_in: f64,
    /// The part that they make up beyond that for certain, as the median gap shows, 0 to 1.
    left_out: f64,
    /// The part of it that prompts may take at most which no gap between tokens shows, 0 to 1.
    unseen: f64,
    /// Relative standard deviation of the mean; `None` where the file gives no spread.
    spread: Option<f64>,
    /// What stands between a latency and a step; `None` where the stream shows the step itself.
    latency: Option<Latency>,
}

impl Timed {
    /// Output tokens that the mean is of.
    fn tokens(&self) -> f64 {
        self.latency.map_or(1.0, |latency| latency.output)
    }

    /// What falls to each token, without what is certainly of prompts, ms.
    fn rough_ms(&self) -> f64 {
        self.mean_ms / self.tokens() * (1.0 - self.left_out)
    }
}

#[derive(Debug, Clone, Copy)]
struct Latency {
    output: f64,
    /// Prompt tokens of all requests of a wave; 0 where the file does not say.
    wave_tokens: f64,
    /// Floating-point operations that one prompt token costs.
    flops_per_token: f64,
    /// Whether no prompt repeats another, so that no cache holds it.
    unique: bool,
}

impl StepTime {
    /// The step of these runs; `None` where a run shows none.
    pub(crate) fn new<'a>(
        runs: impl Iterator<Item = &'a ServeRun>,
        metric: StepFrom,
        side: Side,
        batch: u32,
        active_parameters: f64,
    ) -> Option<Self> {
        let active = active_parameters / f64::from(side.width);
        let runs: Option<Vec<Timed>> = runs.map(|run| timed(run, metric, batch, active)).collect();
        let runs = runs.filter(|runs| !runs.is_empty())?;
        Some(Self { runs, side })
    }

    /// The same with whatever prompts may be in it, as it was measured: for who takes them out himself. What median gaps leave out
    /// stays out.
    pub(crate) fn with_its_prompts(mut self) -> Self {
        for run in &mut self.runs {
            run.unseen = 0.0;
        }
        self
    }

    /// Milliseconds of a step. `prefill_comm_ms` is what collectives take in the prefill of one wave.
    pub(crate) fn draw(&self, hand: &Hand, prefill_comm_ms: f64) -> f64 {
        self.mean_of_runs(hand, |run| self.of_run(run, hand, prefill_comm_ms))
    }

    /// The mean over its runs, off by a part of the error that what they differ by leaves in it.
    fn mean_of_runs(&self, hand: &Hand, of: impl Fn(&Timed) -> f64) -> f64 {
        if let [only] = self.runs.as_slice() {
            return of(only);
        }
        let n = count(self.runs.len() as u64);
        let each: Vec<f64> = self.runs.iter().map(of).collect();
        let mean = each.iter().sum::<f64>() / n;
        let squares: f64 = each.iter().map(|one| (one - mean).powi(2)).sum();
        let error = (squares / (n - 1.0) / n).sqrt();
        // A number that is uniform in 0..1 has a variance of 1/12.
        mean + error * (hand.get(self.side.knobs[2]) - 0.5) * 12f64.sqrt()
    }

    fn of_run(&self, run: &Timed, hand: &Hand, prefill_comm_ms: f64) -> f64 {
        let mean = self.mean(hand, run);
        let step = match run.latency {
            None => {
                let drawn = hand.get(Knob::MixedIn);
                let prompts = run.left_out + drawn * run.mixed_in + of_bound(drawn) * run.unseen;
                mean * (1.0 - prompts)
            }
            Some(latency) => {
                let cached = hand.get(Knob::PrefixCache);
                let fresh = if latency.unique { 1.0 } else { 1.0 - cached };
                let flops = latency.wave_tokens * fresh * latency.flops_per_token;
                let rate = f64::from(self.side.gpus) * hand.get(Knob::PrefillRate) * 1e12;
                let prefill = flops / rate * 1e3 + fresh * prefill_comm_ms;
                // The first token takes a whole step, however short the prompts.
                let shared = mean / latency.output;
                shared.min((mean - prefill) / (latency.output - 1.0))
            }
        };
        step * self.side.started(hand)
    }

    /// The metric as a client saw it, ms: of a time per token with the prompts of others that are in it.
    pub(crate) fn seen(&self, hand: &Hand) -> f64 {
        self.mean_of_runs(hand, |run| self.mean(hand, run)) * self.side.started(hand)
    }

    fn mean(&self, hand: &Hand, run: &Timed) -> f64 {
        let spread = run.spread.unwrap_or_else(|| hand.get(Knob::UnstatedSpread));
        run.mean_ms * (1.0 + hand.get(self.side.knobs[0]) * spread)
    }

    /// Prompt tokens of a wave, where the step is taken from latencies.
    pub(crate) fn wave_tokens(&self) -> Option<f64> {
        let tokens = self.runs.iter().filter_map(|run| run.latency);
        tokens.map(|latency| latency.wave_tokens).reduce(f64::max)
    }

    /// What the median gap leaves out of a time per token for certain, ms, and that time, of the run where it is most; `None` where
    /// nothing is.
    pub(crate) fn left_out(&self) -> Option<(f64, f64)> {
        self.most(|run| run.left_out)
    }

    /// What prompts that no gap shows may take of a time per token at most, ms, and that time, of the run where it is most; `None`
    /// where there are none, or where none is streamed.
    pub(super) fn unseen_prompts(&self) -> Option<(f64, f64)> {
        self.most(|run| run.unseen)
    }

    fn most(&self, part: fn(&Timed) -> f64) -> Option<(f64, f64)> {
        let runs = self.runs.iter().filter(|run| part(run) > 0.0);
        let of = runs.map(|run| (part(run) * run.mean_ms, run.mean_ms));
        of.max_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// The mean of its runs without what is certainly of prompts, ms; of latencies what falls to each output token.
    pub(super) fn rough_ms(&self) -> f64 {
        self.runs.iter().map(Timed::rough_ms).sum::<f64>() / count(self.runs.len() as u64)
    }

    /// The least and the most of its runs, ms, as [`Self::rough_ms`] counts them.
    pub(super) fn least_and_most_ms(&self) -> (f64, f64) {
        let each = self.runs.iter().map(Timed::rough_ms);
        each.fold((f64::INFINITY, 0.0), |(least, most), ms| {
            (ms.min(least), ms.max(most))
        })
    }

    pub(crate) fn has_unstated_spread(&self) -> bool {
        self.runs.iter().any(|run| run.spread.is_none())
    }

    pub(crate) fn repeats(&self) -> usize {
        self.runs.len()
    }

    /// Standard deviation of a step's measurement, ms, with a start-to-start offset that is uniform within `offset`.
    pub(super) fn deviation_ms(&self, unstated: f64, offset: f64) -> f64 {
        let of = |run: &Timed| {
            let spread = run.spread.unwrap_or(unstated);
            run.mean_ms / run.tokens() * (spread * spread + offset * offset / 3.0).sqrt()
        };
        self.runs.iter().map(of).fold(0.0, f64::max)
    }
}

fn timed(run: &ServeRun, metric: StepFrom, batch: u32, active_parameters: f64) -> Option<Timed> {
    let shape = RunShape::new(run);
    let streamed = |of: Spread, mixed_in: f64, unseen: f64| Timed {
        mean_ms: of.mean,
        mixed_in,
        left_out: shape.left_out(),
        unseen,
        spread: relative_spread(&of),
        latency: None,
    };
    match metric {
        StepFrom::DecodeGap => Some(Timed {
            left_out: 0.0,
            ..streamed(shape.decode_gap()?, 0.0, 0.0)
        }),
        StepFrom::Tpot => {
            let tpot = run.tpot_ms?;
            Some(match shape.mixed_in() {
                Some(MixedIn::ByGaps(slowed)) => streamed(tpot, slowed.min(MAY_BE_MIXED), 0.0),
                Some(MixedIn::AtMost(most)) => streamed(tpot, 0.0, most),
                // That nothing bounds it is said.
                None => streamed(tpot, 0.0, 0.0),
            })
        }
        StepFrom::Latency => {
            let latency = run.e2el_ms?;
            Some(Timed {
                mean_ms: latency.mean,
                mixed_in: 0.0,
                left_out: 0.0,
                unseen: 0.0,
                spread: relative_spread(&latency),
                latency: Some(Latency {
                    output: shape.output().filter(|output| *output >= 2.0)?,
                    wave_tokens: shape.input().unwrap_or(0.0) * f64::from(batch),
                    // A multiplication and an addition for each weight.
                    flops_per_token: 2.0 * active_parameters,
                    unique: run.format == ServeFormat::Tplens,
                }),
            })
        }
    }
}

/// The part of their bound that unseen prompts take, of a number that is uniform in 0..1: the middle of the step stays where it was
/// measured, and the lower end of its 90% interval is all of the bound below.
pub(crate) fn of_bound(uniform: f64) -> f64 {
    ((uniform - IN_WAVES) / (1.0 - IN_WAVES - ALONE)).clamp(0.0, 1.0)
}

/// Relative standard deviation of a mean. Without an interval a quarter of the range is taken, whatever the number of
/// requests: those of one wave are slow and fast together.
pub(super) fn relative_spread(of: &Spread) -> Option<f64> {
    if of.n.is_some_and(|n| n < LEAST) {
        return None;
    }
    let width = match (of.mean_interval, of.min, of.max) {
        (Some(interval), _, _) => (interval.high - interval.low) / (2.0 * 1.96),
        (None, Some(min), Some(max)) => (max - min) / 4.0,
        _ => return None,
    };
    (of.mean > 0.0 && width >= 0.0).then(|| width / of.mean)
}

/// A part of the time above the ideal from which on communication is a rough estimate.
const DOUBTFUL: f64 = 0.1;

/// So many requests in flight are one alone.
const LONE: f64 = 1.05;

/// What prompts may take of the step on several GPUs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Unseen {
    /// At most, ms; `None` where nothing bounds it.
    pub(super) most_ms: Option<f64>,
    /// Whether it may be a tenth of the time above the ideal or more.
    pub(super) is_doubtful: bool,
}

impl Unseen {
    /// `None` where gaps between tokens show the prompts, or none can be in the step.
    pub(super) fn new(
        times: f64,
        one: &StepTime,
        several: &StepTime,
        runs: &[&ServeRun],
    ) -> Option<Self> {
        let hides =
            |run: &&ServeRun| !matches!(RunShape::new(run).mixed_in(), Some(MixedIn::ByGaps(_)));
        if !runs.iter().any(hides) {
            return None;
        }
        if runs.iter().any(|run| is_unbounded(run)) {
            return Some(Self {
                most_ms: None,
                is_doubtful: true,
            });
        }
        let (most_ms, _) = several.unseen_prompts()?;
        let excess = several.rough_ms() - one.rough_ms() / times;
        let is_doubtful = excess <= 0.0 || most_ms > DOUBTFUL * excess;
        Some(Self {
            most_ms: Some(most_ms),
            is_doubtful,
        })
    }
}

fn is_unbounded(run: &ServeRun) -> bool {
    let shape = RunShape::new(run);
    let flight = run.in_flight_wanted().or_else(|| shape.in_flight());
    shape.mixed_in().is_none() && flight.is_none_or(|flight| flight > LONE)
}
