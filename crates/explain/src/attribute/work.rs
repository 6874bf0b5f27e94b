//! The attribution itself: gates, draws, and what they sum up to.

use record::CollectiveKind;

use super::draws::{Draw, range};
use super::prepare::{Prepared, of_fewer, prepare};
use super::result::{Attribution, Bar, Cause, Claim, HalfModel, Implied, StepFrom};
use super::sensitivity::shares;
use super::step::StepTime;
use super::waterfall::{Shown, grade};
use crate::checks::{LEAST_SHARE, findings, unused};
use crate::finding::{Finding, Refusal, capped, refusing};
use crate::inputs::Inputs;
use crate::range::{Grade, Range, count};
use stats::SplitMix;

/// Where fewer draws than this share fit what was measured, whatever the factors on the curve, nothing is claimed.
const FITTING: f64 = 0.05;

/// Where at least this share of the draws leaves nothing, nothing is claimed of communication: a claim is false that often at most.
const FALSE: f64 = 0.025;

/// Launches of one size that differ by more than this part are not of one state of the box.
const APART: f64 = 0.05;

/// Fewer draws than these have no quantiles.
const FEWEST: usize = 20;

/// Where the time of a decode step on [`Inputs::tp`] GPUs goes; the same inputs, seed and number of draws give the same result.
///
/// # Errors
/// A gate does not hold, or a run shows no time of a step.
pub fn attribute(inputs: &Inputs, seed: u64, draws: u32) -> Result<Attribution, Refusal> {
    let found = findings(inputs);
    let refused = |reasons| Refusal { reasons };
    let reasons = refusing(&found);
    if !reasons.is_empty() {
        return Err(refused(reasons));
    }
    let from = inputs.from();
    let sides = inputs.runs(from).chain(inputs.runs(inputs.tp));
    let is_by_latency = StepFrom::common(&sides.collect::<Vec<_>>()) == Some(StepFrom::Latency);
    if from > 1 && is_by_latency {
        return Err(refused(vec![Finding::NotStreamed]));
    }
    let no_step = || refused(vec![Finding::NoStepTime]);
    let fewer = of_fewer(inputs).map_err(|why| refused(vec![why]))?;
    let prepared = prepare(inputs, fewer).ok_or_else(no_step)?;
    let all = prepared.draws(seed, draws.max(1));
    let fits = |draw: &&Draw| prepared.fits(draw);
    let free: Vec<Draw> = all.iter().filter(fits).copied().collect();
    let has_room = |draw: &&Draw| draw.remainder() >= -prepared.tolerance;
    if share(free.iter().filter(has_room).count(), all.len()) < FITTING {
        return Err(refused(vec![Finding::EstimatesExceedStep]));
    }
    prepared
        .attribution(inputs, found, seed, &all, &free)
        .ok_or_else(no_step)
}

impl Prepared<'_> {
    pub(super) fn draws(&self, seed: u64, draws: u32) -> Vec<Draw> {
        let mut random = SplitMix::new(seed);
        (0..draws)
            .map(|_| self.workload.draw(self.deck.draw(&mut random)))
            .collect()
    }

    /// Whether there are steps at all, since an assumed prefill may take longer than the whole latency, and whether that on one
    /// GPU has room for its weights.
    pub(super) fn fits(&self, draw: &Draw) -> bool {
        let room = draw.gemm_of_one
            >= self.workload.least_gemm_ms / f64::from(self.workload.from) - self.tolerance;
        draw.one > 0.0 && draw.several > 0.0 && room && !self.is_too_narrow(draw)
    }

    /// Whether the half-width model takes less than its share of one GPU's step, so that communication would be more than all that
    /// is lost.
    fn is_too_narrow(&self, draw: &Draw) -> bool {
        let least = (draw.ideal - self.tolerance).min(LEAST_SHARE * draw.ideal);
        draw.half.is_some_and(|half| half < least)
    }

    /// Whether what is unexplained is not below zero.
    pub(super) fn leaves_room(&self, draw: &Draw) -> bool {
        draw.unexplained() >= -self.tolerance
    }

    /// `all` are the draws, `free` those that fit.
    fn attribution(
        mut self,
        inputs: &Inputs,
        found: Vec<Finding>,
        seed: u64,
        all: &[Draw],
        free: &[Draw],
    ) -> Option<Attribution> {
        let fitting: Vec<Draw> = free
            .iter()
            .filter(|draw| self.leaves_room(draw))
            .copied()
            .collect();
        // The share that fits at all depends on how wide the factors on the curve are, so it is the lowest that is judged.
        let lowest = |draw: &&Draw| {
            let least = self
                .workload
                .communication(&self.deck.between(&draw.hand, |prior| prior.low));
            draw.remainder() - least >= -self.tolerance
        };
        let could_fit = share(free.iter().filter(lowest).count(), all.len());
        let remainder = range(free, Draw::remainder)?;
        let curve_fits = could_fit >= FITTING && fitting.len() >= FEWEST;
        let has_half = self.workload.half.is_some();
        let misfit = self.misfit(free, remainder, curve_fits);
        let claim = self.claim(free, misfit.is_some());
        // To drop the draws that sum to more than was measured, and weigh all others alike, would keep the small causes where
        // nothing is left in truth. Factors that are wide because nothing was measured are bounded so all the same.
        let is_wide = self.workload.terms.as_deref().map(grade) == Some(Grade::D);
        let drops = is_wide && claim == Claim::Estimated && !has_half;
        let shown = if drops { &fitting[..] } else { free };
        let waterfall = Shown::new(&self.workload, &self.deck, shown, &claim, drops);
        let of_communication = waterfall.communication_of_draw();
        let half = waterfall.half.clone();
        self.caveats.extend(unused(inputs));
        self.caveats.extend(misfit);
        let mut most = capped(&found);
        self.caveats.extend(found);
        let ranks = f64::from(self.workload.tp) / f64::from(self.workload.from);
        let implied = match claim {
            Claim::None => None,
            _ => self.implied(free),
        };
        // Draws that were dropped are in what is left, and not in the bars: no part of it exceeds it.
        let part_of_whole = |mut bar: Bar| {
            let is_part = matches!(
                bar.cause,
                Cause::AllReduce | Cause::AllGather | Cause::Communication
            );
            if drops && is_part {
                bar.ms.high = bar.ms.high.min(remainder.high).max(bar.ms.mid);
            }
            bar
        };
        // Which draws of several launches fit the causes would weigh the launches.
        let (of_one, of_several) = (&self.workload.one, &self.workload.several);
        let repeated = of_one.repeats() > 1 || of_several.repeats() > 1;
        let measured = if repeated { free } else { shown };
        let differ = [
            launches_differ(self.workload.from, of_one),
            launches_differ(self.workload.tp, of_several),
        ];
        self.caveats.splice(0..0, differ.into_iter().flatten());
        if let Some(other_ms) = half.as_ref().and_then(HalfModel::overrun) {
            let left_ms = half.as_ref().map_or(0.0, |half| half.difference.mid);
            self.caveats
                .push(Finding::ShardDisagrees { left_ms, other_ms });
            most = Some(Grade::D);
        }
        let terms = self.workload.terms.iter().flatten();
        let found = Attribution {
            from: self.workload.from,
            sent_of_few: match self.workload.from {
                1 => None,
                _ => Some(range(free, |draw| draw.sent_of_few)?),
            },
            tp: self.workload.tp,
            batch: self.workload.model.batch,
            padded_batch: self.step.padded_batch,
            step_from: self.step_from,
            step_of_one: range(measured, |draw| draw.one)?,
            step_of_several: range(measured, |draw| draw.several)?,
            bars: waterfall.bars()?.into_iter().map(part_of_whole).collect(),
            communication: waterfall.communication().map(part_of_whole),
            half,
            remainder,
            implied,
            throughput_gain: throughput(inputs, self.workload.tp)
                / throughput(inputs, self.workload.from),
            speed_up: range(free, |draw| draw.one / draw.several)?,
            free_links: range(free, |draw| draw.one / (draw.several - draw.remainder()))?,
            free_links_by_arms: None,
            possible: range(free, |draw| {
                draw.one / (draw.ideal + draw.unsharded + draw.host)
            }),
            halved_gemms: range(free, |draw| draw.one / (draw.several - draw.gemm_loss))?,
            replicas: range(free, |draw| ranks * draw.several / draw.one)?,
            collectives: terms.map(|term| term.cost.clone()).collect(),
            prompts_ms: self.workload.unseen.and_then(|of| of.most_ms),
            priors: self.deck.priors(),
            shares: shares(free, of_communication.map(|of| (shown, of))),
            claim,
            caveats: self.caveats,
            seed,
            draws: u32::try_from(all.len()).unwrap_or(u32::MAX),
        };
        Some(found.capped(most))
    }

    /// Where the collectives of a curve or trace do not fit into the step.
    fn misfit(&self, free: &[Draw], left: Range, curve_fits: bool) -> Option<Finding> {
        self.workload.terms.as_deref()?;
        let unexplained = range(free, Draw::unexplained)?;
        let fits = match self.workload.by_own {
            true => curve_fits && unexplained.high >= 0.0,
            // What may be nothing at all is no evidence against somebody else's curve.
            false => curve_fits || left.low <= self.tolerance,
        };
        // A shard run says what is left by itself, and that the two contradict each other.
        if fits || self.workload.half.is_some() {
            return None;
        }
        let by_curve = range(free, |draw| draw.communication.unwrap_or(0.0))?;
        Some(Finding::CurveTooSlow {
            by_curve_ms: by_curve.mid,
            left_ms: left.mid,
        })
    }

    fn claim(&self, free: &[Draw], is_misfit: bool) -> Claim {
        // What a tracer saw in the steps themselves is there, however little is left beside it.
        let terms = self.workload.terms.as_deref().unwrap_or_default();
        let was_seen = !terms.is_empty() && grade(terms) == Grade::A;
        let without = free
            .iter()
            .filter(|draw| draw.remainder() <= self.tolerance);
        let is_nothing = share(without.count(), free.len()) >= FALSE && !was_seen;
        match is_misfit || is_nothing {
            true => Claim::None,
            false if self.workload.half.is_some() || self.workload.terms.is_some() => {
                Claim::Estimated
            }
            false => Claim::AtMost,
        }
    }

    /// One all-reduce, if the whole remainder were communication and all of them lasted as long.
    fn implied(&self, free: &[Draw]) -> Option<Implied> {
        let planned = self.step.collectives.iter();
        let reduces = planned.filter(|of| of.kind == CollectiveKind::AllReduce);
        let most = reduces.clone().max_by_key(|of| of.count)?;
        let count = reduces.map(|of| of.count).sum();
        Some(Implied {
            bytes_per_rank: most.bytes_per_rank,
            count,
            us: range(free, |draw| {
                (draw.remainder() - draw.all_gather) * 1e3 / f64::from(count)
            })?,
        })
    }
}

/// Mean requests per second of the runs of a size.
fn throughput(inputs: &Inputs, tp: u32) -> f64 {
    let rates = inputs.runs(tp).map(|run| run.requests_per_s);
    rates.sum::<f64>() / count(inputs.runs(tp).count().max(1) as u64)
}

fn share(part: usize, whole: usize) -> f64 {
    count(part as u64) / count(whole as u64)
}

/// Where launches of a size are further apart than runs of one state of a server.
fn launches_differ(tp: u32, step: &StepTime) -> Option<Finding> {
    let (least_ms, most_ms) = step.least_and_most_ms();
    let launches = step.repeats();
    (most_ms > least_ms * (1.0 + APART)).then_some(Finding::LaunchesDiffer {
        tp,
        least_ms,
        most_ms,
        launches,
    })
}
