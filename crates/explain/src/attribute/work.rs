//! The attribution itself: gates, draws, and what they sum up to.

use measure::record::CollectiveKind;

use super::anchor::off;
use super::cost::{Term, published_times};
use super::draws::Draw;
use super::half::{Rival, RivalKind};
use super::launches::{launches_differ, of_launches};
use super::left_out::unused;
use super::prepare::{Prepared, prepare};
use super::result::{Attribution, Bar, Cause, Claim, Grade, HalfModel, Implied, Refusal, StepFrom};
use super::sensitivity::Shares;
use super::waterfall::{Shown, grade};
use crate::gates::{Gate, LEAST_SHARE, failed, gates, reservations};
use crate::inputs::Inputs;
use crate::random::Random;
use crate::range::Range;

/// Where fewer draws than this share fit what was measured, whatever the factors on the curve, nothing is claimed.
const FITTING: f64 = 0.05;

/// Where at least this share of the draws does not fit what was measured, that is said as a reservation.
const HARDLY: f64 = 0.9;

/// Fewer draws than these have no quantiles.
const FEWEST: usize = 20;

/// Collectives that take more than so many times the whole step are in another unit than they are read in.
pub(crate) const WRONG_UNIT: f64 = 3.0;

/// What it is called.
pub(super) const LOOKS_WRONG: &str = "that looks like the wrong unit";

/// What is said of such times.
pub(crate) fn wrong_unit(source: &str, collectives_ms: f64, step_ms: f64) -> String {
    format!(
        "by {source} the collectives of a step take {collectives_ms:.1} ms, {:.0} times the whole step of {step_ms:.1} ms: {LOOKS_WRONG} (times are read as us, of one call); give them in us, or the times of these runs",
        collectives_ms / step_ms
    )
}

/// Where the time of a decode step on [`Inputs::tp`] GPUs goes; the same inputs, seed and number of draws give the same result.
///
/// # Errors
/// A gate does not hold, or a run shows no time of a step.
pub fn attribute(inputs: &Inputs, seed: u64, draws: u32) -> Result<Attribution, Refusal> {
    let gates = gates(inputs);
    let reasons: Vec<String> = failed(&gates)
        .map(|gate| format!("{}: {}", gate.name, gate.seen))
        .collect();
    if !reasons.is_empty() {
        return Err(Refusal { reasons });
    }
    let no_step = || Refusal {
        reasons: vec![Refusal::NO_STEP.to_owned()],
    };
    let prepared = prepare(inputs).ok_or_else(no_step)?;
    // What is read in another unit makes nonsense of all that comes after.
    if let Some(why) = prepared.wrong_unit() {
        return Err(Refusal { reasons: vec![why] });
    }
    let all = prepared.draws(seed, draws.max(1));
    let fits = |draw: &&Draw| prepared.fits(draw);
    let free: Vec<Draw> = all.iter().filter(fits).copied().collect();
    let has_room = |draw: &&Draw| draw.remainder() >= -prepared.tolerance;
    if share(free.iter().filter(has_room).count(), all.len()) < FITTING {
        let why = match prepared.workload.half {
            Some(_) => format!(
                "the half-width model's step is longer than that of TP{}, which it is a part of: it was not cut to 1/{}, or the runs differ in more than that",
                inputs.tp, inputs.tp
            ),
            None => "the causes without communication already sum to more than was measured: the model, the box or a range is not that of these runs, or they differ in more than the number of GPUs".to_owned(),
        };
        return Err(Refusal { reasons: vec![why] });
    }
    let unseen = prepared.workload.unseen.clone();
    let found = prepared
        .attribution(inputs, &gates, seed, &all, &free)
        .ok_or_else(no_step)?;
    let told = found.bar(Cause::Communication).map(|bar| bar.ms);
    let told = told.unwrap_or(found.remainder);
    match unseen.and_then(|unseen| unseen.refusal(&told)) {
        Some(why) => Err(Refusal { reasons: vec![why] }),
        None => Ok(found),
    }
}

impl Prepared<'_> {
    pub(super) fn draws(&self, seed: u64, draws: u32) -> Vec<Draw> {
        let mut random = Random::new(seed);
        (0..draws)
            .map(|_| self.workload.draw(self.deck.draw(&mut random)))
            .collect()
    }

    /// Whether there are steps at all, since an assumed prefill may take longer than the whole latency, and whether that on one
    /// GPU has room for its weights.
    pub(super) fn fits(&self, draw: &Draw) -> bool {
        let room = draw.gemm_of_one >= self.workload.least_gemm_ms - self.tolerance;
        // A rate that is only assumed cannot take so much out that less is left than the other causes need.
        let by_rate = self.workload.prompts.are_by_rate();
        let leaves = !by_rate || draw.remainder() >= -self.tolerance;
        draw.one > 0.0 && draw.several > 0.0 && room && leaves && !self.is_too_narrow(draw)
    }

    /// Whether the half-width model takes less than its share of one GPU's step, so that communication would be more than all that
    /// is lost.
    fn is_too_narrow(&self, draw: &Draw) -> bool {
        let least = (draw.ideal - self.tolerance).min(LEAST_SHARE * draw.ideal);
        draw.half.is_some_and(|half| half < least)
    }

    /// Why the times of curve or trace cannot be in the unit that they are read in: they alone are far more than the whole step. `None`
    /// where they are not.
    fn wrong_unit(&self) -> Option<String> {
        let step = self.workload.several.rough_ms();
        let terms = self.workload.terms.as_deref()?;
        let source = terms.first().map(|term| term.cost.source.as_str())?;
        let is_wrong = self.workload.by_own && self.workload.face_ms() > WRONG_UNIT * step;
        is_wrong.then(|| wrong_unit(source, self.workload.face_ms(), step))
    }

    /// Whether what is unexplained is not below zero.
    pub(super) fn leaves_room(&self, draw: &Draw) -> bool {
        draw.unexplained() >= -self.tolerance
    }

    /// `all` are the draws, `free` those that fit.
    fn attribution(
        mut self,
        inputs: &Inputs,
        gates: &[Gate],
        seed: u64,
        all: &[Draw],
        free: &[Draw],
    ) -> Option<Attribution> {
        let fitting: Vec<Draw> = free
            .iter()
            .filter(|draw| self.leaves_room(draw))
            .copied()
            .collect();
        let impossible = 1.0 - share(fitting.len(), all.len());
        // The share that fits at all depends on how wide the factors on the curve are, so it is the lowest that is judged.
        let lowest = |draw: &&Draw| {
            let least = self.workload.communication(&self.deck.lowest(&draw.hand));
            draw.remainder() - least >= -self.tolerance
        };
        let could_fit = share(free.iter().filter(lowest).count(), all.len());
        let remainder = range(free, Draw::remainder)?;
        let curve_fits = could_fit >= FITTING && fitting.len() >= FEWEST;
        let has_half = self.workload.half.is_some();
        let misfit = self.misfit(free, remainder, curve_fits);
        let claim = self.claim(&remainder, misfit.as_ref());
        // To drop the draws that sum to more than was measured, and weigh all others alike, would keep the small causes where
        // nothing is left in truth. Factors that are wide because nothing was measured are bounded so all the same.
        let is_wide = self.workload.terms.as_deref().map(grade) == Some(Grade::D);
        let drops = is_wide && claim == Claim::Estimated && !has_half;
        let shown = if drops { &fitting[..] } else { free };
        let no_room = 1.0 - share(free.len(), all.len());
        let impossible = match (has_half, drops) {
            (true, _) => no_room,
            (false, true) => impossible,
            // What is dropped on the step of one GPU says nothing of what is unexplained in the others.
            (false, false) => 1.0 - share(fitting.len(), free.len()),
        };
        let waterfall = Shown::new(&self.workload, &self.deck, shown, &claim, drops);
        let of_communication = waterfall.communication_of_draw();
        let shares = Shares::new(free, of_communication.map(|of| (shown, of)));
        let half = waterfall.half();
        if let Some(half) = half.as_ref().filter(|half| half.agrees == Some(false)) {
            self.caveats.extend(half.in_words());
        }
        self.caveats
            .extend(off(inputs, &self.workload, &self.deck, all));
        self.caveats.extend(unused(inputs));
        if impossible >= HARDLY {
            self.caveats.push(format!(
                "{:.0}% of the draws sum to more than was measured: the curve and the ranges hardly fit these runs",
                impossible * 100.0
            ));
        }
        self.caveats.extend(reservations(gates));
        let ranks = f64::from(self.workload.tp);
        let implied = match claim {
            Claim::None { .. } => None,
            _ => self.implied(inputs, free),
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
        // What was measured does not hang on what fits it; only a latency's draws may hold no step at all.
        let workload = &self.workload;
        let (of_one, of_several) = (&workload.one, &workload.several);
        let repeated = of_one.repeats() > 1 || of_several.repeats() > 1;
        let undropped = match (repeated, self.step_from) {
            (false, _) => shown,
            (true, StepFrom::Latency) => free,
            (true, StepFrom::DecodeGap | StepFrom::Tpot) => all,
        };
        let step_of_one = of_launches(of_one, undropped, |draw| draw.one, |_| 0.0)?;
        let prefill = |draw: &Draw| workload.prompts.ms(&draw.hand);
        let step_of_several = of_launches(of_several, undropped, |draw| draw.several, prefill)?;
        let times = |draw: &Draw| draw.one / draw.several;
        let speed_up = match repeated {
            false => range(free, times)?,
            true => range(undropped, times)?.with_middle(step_of_one.mid / step_of_several.mid),
        };
        let differ = [
            launches_differ(1, of_one),
            launches_differ(workload.tp, of_several),
        ];
        self.caveats.splice(0..0, differ.into_iter().flatten());
        let mut found = Attribution {
            tp: self.workload.tp,
            batch: self.workload.batch,
            padded_batch: self.step.padded_batch,
            step_from: self.step_from,
            step_of_one,
            step_of_several,
            bars: waterfall.bars()?.into_iter().map(part_of_whole).collect(),
            communication: waterfall.communication().map(part_of_whole),
            half,
            remainder,
            remainder_share_of_excess: range(free, |draw| {
                draw.remainder() / (draw.several - draw.ideal)
            })?,
            implied,
            throughput_gain: throughput(inputs, self.workload.tp) / throughput(inputs, 1),
            speed_up,
            free_links: range(free, |draw| draw.one / (draw.several - draw.remainder()))?,
            free_links_by_arms: None,
            possible: range(free, |draw| {
                draw.one / (draw.ideal + draw.unsharded + draw.host)
            }),
            halved_gemms: range(free, |draw| draw.one / (draw.several - draw.gemm_loss))?,
            replicas: range(free, |draw| ranks * draw.several / draw.one)?,
            impossible,
            no_room,
            tolerance_ms: Some(self.tolerance),
            collectives: self
                .workload
                .terms
                .iter()
                .flatten()
                .map(|term| term.cost.clone())
                .collect(),
            prompts_ms: self.workload.unseen.as_ref().and_then(|of| of.most_ms),
            priors: self.deck.priors(),
            shares: shares.measurements(),
            prior_shares: shares.priors(&self.deck),
            claim,
            misfit,
            caveats: self.caveats,
            seed,
            draws: u32::try_from(all.len()).unwrap_or(u32::MAX),
            lowered: Vec::new(),
            held_back: self.workload.held_back.why.clone(),
            is_by_median: self.workload.held_back.is_by_median,
        };
        if let Some(ms) = found.half.as_ref().and_then(HalfModel::overrun) {
            let by = match found.is_traced() {
                true => RivalKind::Trace,
                false => RivalKind::Curve,
            };
            found.contradict_half(Rival { by, ms });
        }
        Some(found.capped(gates))
    }

    /// One all-reduce of the size that takes most of the time, if the whole remainder were communication.
    fn implied(&self, inputs: &Inputs, free: &[Draw]) -> Option<Implied> {
        // Without a curve all sizes are taken to last as long as each other, and the all-gather nothing.
        let weight = |bytes: u64, count: u32| -> f64 {
            let same = |term: &&Term| {
                term.cost.kind == CollectiveKind::AllReduce && term.cost.bytes_per_rank == bytes
            };
            let term = self.workload.terms.iter().flatten().find(same);
            f64::from(count) * term.map_or(1.0, |term| term.cost.us)
        };
        let mut sizes: Vec<(u64, u32)> = Vec::new();
        for planned in &self.step.collectives {
            if planned.kind != CollectiveKind::AllReduce {
                continue;
            }
            match sizes
                .iter_mut()
                .find(|(bytes, _)| *bytes == planned.bytes_per_rank)
            {
                Some((_, count)) => *count += planned.count,
                None => sizes.push((planned.bytes_per_rank, planned.count)),
            }
        }
        let whole: f64 = sizes
            .iter()
            .map(|(bytes, count)| weight(*bytes, *count))
            .sum();
        let (bytes, count) = sizes
            .into_iter()
            .max_by(|a, b| weight(a.0, a.1).total_cmp(&weight(b.0, b.1)))?;
        let part = weight(bytes, count) / whole;
        let us = range(free, |draw| {
            (draw.remainder() - draw.all_gather) * 1e3 * part / f64::from(count)
        })?;
        Some(Implied {
            bytes_per_rank: bytes,
            count,
            us,
            published: published_times(inputs, bytes),
        })
    }
}

/// Mean requests per second of the runs of a size.
#[expect(clippy::cast_precision_loss, reason = "a handful of runs")]
fn throughput(inputs: &Inputs, tp: u32) -> f64 {
    let rates = inputs.runs(tp).map(|run| run.requests_per_s);
    rates.sum::<f64>() / inputs.runs(tp).count().max(1) as f64
}

#[expect(clippy::cast_precision_loss, reason = "draws are thousands")]
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

pub(super) fn range(draws: &[Draw], of: impl Fn(&Draw) -> f64) -> Option<Range> {
    let values: Vec<f64> = draws.iter().map(of).collect();
    Range::of(&values)
}
