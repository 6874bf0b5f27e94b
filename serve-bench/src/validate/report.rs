//! All cases of one call, as they are printed and written.

use ::explain::{PriorError, Priors};
use serde::Serialize;

use super::assumption::Assumption;
use super::bounds::{Bound, bounds};
use super::judge::{Case, judge};
use super::slopes::{Planted, SlopeRow, test};
use super::tally::{Section, Share};

/// Version of the form.
const SCHEMA: u32 = 1;

/// One slope test takes as long as several cases, and its coverage is known well enough by fewer.
const SLOPE_PART: u32 = 2;

/// What came of all cases.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Report {
    /// Version of the form, 1.
    pub(super) schema: u32,
    /// Always: every figure is of an engine in virtual time.
    pub(super) simulated: &'static str,
    /// Seed of the first case.
    pub(super) seed: u64,
    /// Cases asked for.
    pub(super) asked: u32,
    /// Cases in which all that the explanation assumes holds.
    pub(super) kept: Section,
    /// The same truths with collectives that take no time: how often some are claimed.
    pub(super) false_claims: Share,
    /// Cases with an assumption broken.
    pub(super) broken: Vec<Section>,
    /// Slope tests.
    pub(super) slopes: Vec<SlopeRow>,
    /// What must hold.
    pub(super) bounds: Vec<Bound>,
}

impl Report {
    /// Runs everything.
    ///
    /// # Errors
    /// The priors of the explanation do not read, which its tests exclude.
    pub(super) fn new(seed: u64, cases: u32, broken: &[Assumption]) -> Result<Self, PriorError> {
        let priors = Priors::builtin()?;
        let section = |broken| {
            let cases = each(seed, cases, |seed| judge(seed, &priors, broken, true));
            Section::new(broken, &cases)
        };
        let silent = each(seed, cases, |seed| judge(seed, &priors, None, false));
        let judged = silent.iter().filter(|case| !matches!(case, Case::Unfit));
        let claims = silent
            .iter()
            .filter(|case| matches!(case, Case::Judged { claimed: true, .. }));
        let slopes = Planted::ALL.map(|planted| {
            let tests = each(seed, cases.div_ceil(SLOPE_PART), |seed| {
                test(seed, &priors, planted)
            });
            let tests: Vec<_> = tests.into_iter().flatten().collect();
            SlopeRow::new(planted, &tests)
        });
        let mut report = Self {
            schema: SCHEMA,
            simulated: "engine in virtual time",
            seed,
            asked: cases,
            kept: section(None),
            false_claims: Share::new(claims.count(), judged.count()),
            broken: broken.iter().map(|broken| section(Some(*broken))).collect(),
            slopes: slopes.to_vec(),
            bounds: Vec::new(),
        };
        report.bounds = bounds(&report);
        Ok(report)
    }

    /// Whether all bounds hold.
    pub(super) fn holds(&self) -> bool {
        self.bounds.iter().all(|bound| bound.holds)
    }
}

/// The same of each seed, on all processors; the order is that of the seeds.
fn each<T: Send>(seed: u64, cases: u32, of: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let seeds: Vec<u64> = (0..u64::from(cases)).map(|index| seed + index).collect();
    let part = seeds.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let started: Vec<_> = seeds
            .chunks(part)
            .map(|seeds| scope.spawn(|| seeds.iter().map(|seed| of(*seed)).collect::<Vec<T>>()))
            .collect();
        started
            .into_iter()
            .flat_map(|thread| match thread.join() {
                Ok(cases) => cases,
                Err(panic) => std::panic::resume_unwind(panic),
            })
            .collect()
    })
}
