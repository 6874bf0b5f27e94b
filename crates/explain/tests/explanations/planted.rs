//! Steps made by arithmetic with a known cost of communication: what is planted is found, and what is not is not.

use crate::explanations::boxes::{GRAPH_ALL_GATHER, mean, point, rtxpro6000_mig, run};
use explain::{Attribution, Cause, Claim, Grade, Inputs, attribute};
use import::{ServeRun, Spread};
use record::CollectiveKind;
use stats::Interval;

pub(super) const SEEDS: u64 = 200;
const DRAWS: u32 = 1500;
/// Relative standard deviation of each measured step.
const NOISE: f64 = 0.003;
/// All-reduces of a step of Qwen2.5-72B: 1 + 2 * 80.
const ALL_REDUCES: f64 = 161.0;
const ALL_GATHER_US: f64 = 300.0;

/// A generator of its own, so that truth and draws share nothing: a counter through MurmurHash3's finaliser (Appleby, 2011).
pub(super) struct Truth(u64);

impl Truth {
    pub(super) fn of(seed: u64) -> Self {
        Self(seed << 32)
    }

    fn uniform(&mut self) -> f64 {
        self.0 += 1;
        let mut h = self.0;
        h = (h ^ (h >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        h = (h ^ (h >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        h ^= h >> 33;
        (h >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(super) fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// The sum of twelve uniform numbers less 6 has mean 0 and standard deviation sqrt(12 * 1/12) = 1.
    pub(super) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// A streamed run of 64 requests in four waves of 16, 256 tokens each: the first takes a step, 255 follow.
pub(super) fn streamed(tp: u32, step_ms: f64, error: f64) -> (u32, ServeRun) {
    let measured = step_ms * (1.0 + NOISE * error);
    let half = 1.96 * NOISE * measured;
    let latency = 256.0 * measured;
    let mut run = run(tp, 64, 4.0 * latency / 1e3);
    run.streamed = true;
    run.concurrency_asked = Some(16.0);
    run.input_tokens = Some(64 * 89);
    run.output_tokens = Some(64 * 256);
    run.output_tokens_asked = Some(256);
    run.fixed_output = Some(true);
    run.tpot_ms = Some(Spread {
        n: Some(64),
        mean_interval: Some(Interval {
            low: measured - half,
            high: measured + half,
            level: 0.95,
        }),
        ..mean(measured)
    });
    run.ttft_ms = Some(mean(measured));
    run.e2el_ms = Some(mean(latency));
    (tp, run)
}

/// What of 58 ms of GEMMs is left at half width: the model's 4 * 80 + 1 take so many us to start.
pub(super) fn halved(start_us: f64) -> f64 {
    let starts = 321.0 * start_us / 1e3;
    starts + (58.0 - starts) / 2.0
}

/// Two steps of which everything is known: the GEMMs of one GPU take 58 ms, of which the starts stay at half width, and
/// 80 layers * (18 us attention + 12 us elementwise) + 0.5 ms host = 2.9 ms are on every GPU.
/// `other_ms` has a cause that nobody knows of.
fn planted(seed: u64, all_reduce_us: f64, all_gather_us: f64, other_ms: f64) -> (Inputs, f64) {
    let mut truth = Truth::of(seed);
    let start_us = truth.within(5.0, 29.0);
    let communication = (ALL_REDUCES * all_reduce_us + all_gather_us) / 1e3;
    let one = 58.0 + 2.9;
    let several = halved(start_us) + 2.9 + communication + other_ms;
    let mut inputs = rtxpro6000_mig();
    inputs.serve = vec![
        streamed(1, one, truth.normal()),
        streamed(2, several, truth.normal()),
    ];
    (inputs, communication)
}

pub(super) fn with_curve(mut inputs: Inputs, all_reduce_us: f64, all_gather_us: f64) -> Inputs {
    inputs.curve = vec![
        point(CollectiveKind::AllReduce, 256 << 10, all_reduce_us),
        point(CollectiveKind::AllGather, GRAPH_ALL_GATHER, all_gather_us),
    ];
    inputs
}

pub(super) fn holds(range: explain::Range, truth: f64) -> bool {
    range.low <= truth && truth <= range.high
}

pub(super) fn count(of: impl Fn(u64) -> bool) -> u64 {
    (0..SEEDS).filter(|seed| of(*seed)).count() as u64
}

fn attributed(inputs: &Inputs, seed: u64) -> Attribution {
    attribute(inputs, seed, DRAWS).unwrap()
}

#[test]
fn a_cost_that_was_planted_lies_in_the_interval() {
    // 137 us at 256 KiB is 7 times what is published with peer access and 3.5 times what is published staged.
    let found = count(|seed| {
        let (inputs, communication) = planted(seed, 137.0, ALL_GATHER_US, 0.0);
        let inputs = with_curve(inputs, 137.0, ALL_GATHER_US);
        is_found(&attributed(&inputs, seed), communication)
    });
    assert!(found >= SEEDS * 87 / 100, "{found} of {SEEDS}");
}

#[test]
fn a_cost_that_differs_from_the_curve_lies_in_the_interval_where_other_causes_are_there_too() {
    // In the engine collectives take 0.9 to 1.3 times the curve, as the prior has it, and 0 to 5 ms have another cause.
    let found = count(|seed| found_off_the_curve(seed, 5.0));
    assert!(found >= SEEDS * 87 / 100, "{found} of {SEEDS}");
}

#[test]
fn a_cost_that_differs_from_the_curve_lies_in_the_interval_where_nothing_else_is_unexplained() {
    // Draws that sum to more than was measured are kept: without them the interval leant to the low side here.
    let found = count(|seed| found_off_the_curve(seed, 0.0));
    assert!(found >= SEEDS * 85 / 100, "{found} of {SEEDS}");
}

fn found_off_the_curve(seed: u64, most_other_ms: f64) -> bool {
    let mut truth = Truth::of(seed + 5000);
    let factor = truth.within(0.9, 1.3);
    let other = truth.within(0.0, most_other_ms);
    let (inputs, communication) = planted(seed, 137.0 * factor, ALL_GATHER_US * factor, other);
    let inputs = with_curve(inputs, 137.0, ALL_GATHER_US);
    is_found(&attributed(&inputs, seed), communication)
}

fn is_found(got: &Attribution, communication: f64) -> bool {
    got.bar(Cause::Communication)
        .is_some_and(|bar| bar.grade == Some(Grade::C) && holds(bar.ms, communication))
}

#[test]
fn without_a_curve_the_remainder_and_the_implied_time_hold_it() {
    let (mut remainder, mut implied) = (0, 0);
    for seed in 0..SEEDS {
        let (mut inputs, communication) = planted(seed, 137.0, 0.0, 0.0);
        // A GPU that nobody published anything of, with the range that the truth was drawn from.
        inputs.known.gpu = None;
        inputs
            .priors
            .set("gemm_start_us=5..29".parse().unwrap())
            .unwrap();
        let got = attributed(&inputs, seed);
        assert!(matches!(got.claim, Claim::AtMost), "{:?}", got.claim);
        assert_eq!(got.bar(Cause::Communication), None);
        remainder += u64::from(holds(got.remainder, communication));
        implied += u64::from(holds(got.implied.unwrap().us, 137.0));
    }
    assert!(remainder >= SEEDS * 87 / 100, "{remainder} of {SEEDS}");
    assert!(implied >= SEEDS * 87 / 100, "{implied} of {SEEDS}");
}

#[test]
fn a_curve_that_explains_too_little_leaves_the_rest_unexplained() {
    // Measured 40 us, planted 137: 161 * 97 us = 15.6 ms are left, less what 30% on top of the curve may take, 1.9 ms.
    let (inputs, _) = planted(3, 137.0, ALL_GATHER_US, 0.0);
    let got = attributed(&with_curve(inputs, 40.0, ALL_GATHER_US), 3);
    let bar = got.bar(Cause::Communication).unwrap();
    // At most 1.3 * (161 * 40 us + 300 us) = 8.8 ms.
    assert!(bar.ms.high < 8.8, "{:?}", bar.ms);
    let left = got.bar(Cause::Unexplained).unwrap().ms;
    assert!(left.low > 9.0 && left.high < 20.0, "{left:?}");
}

#[test]
fn an_engine_without_communication_yields_no_claim_whatever_the_curve_says() {
    for us in [5.0, 11.0, 40.0, 137.0] {
        let silent = count(|seed| {
            let (inputs, _) = planted(seed, 0.0, 0.0, 0.0);
            let got = attributed(&with_curve(inputs, us, 2.0 * us), seed);
            let none = matches!(got.claim, Claim::None);
            assert!(!none || (got.bar(Cause::Communication).is_none() && got.implied.is_none()));
            none
        });
        assert!(silent >= SEEDS * 95 / 100, "{silent} of {SEEDS} at {us} us");
    }
}

#[test]
fn the_same_inputs_and_seed_give_the_same_result() {
    let (inputs, _) = planted(1, 137.0, ALL_GATHER_US, 0.0);
    let inputs = with_curve(inputs, 137.0, ALL_GATHER_US);
    assert_eq!(attribute(&inputs, 5, 500), attribute(&inputs, 5, 500));
    assert_ne!(attribute(&inputs, 5, 500), attribute(&inputs, 6, 500));
}
