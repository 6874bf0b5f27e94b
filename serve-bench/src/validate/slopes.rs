//! Ablations of a truth: arms whose collectives differ, run by the engine, with what a slope test must find planted.

use ::engine::{EngineError, StepLoad, StepTime};
use ::explain::{Ablation, Arm, Change, Launch, Priors, Range, Slope, SlopeVerdict, slope};
use serde::Serialize;

use super::chance::Chance;
use super::tally::Share;
use super::truth::{Truth, Wire};

/// Arms of an ablation, launches of an arm, decode steps of a launch.
const ARMS: u32 = 5;
const LAUNCHES: u32 = 5;
const STEPS: u32 = 200;

/// Launches differ by so much: the step and the collective time (coefficients of variation).
const STEP_CV: f64 = 0.01;
const COLLECTIVE_CV: f64 = 0.05;

const DRAWS: u32 = 1000;

/// A design that tells the slope to this tells 15% from nothing: two of its half-widths.
const SHARP: f64 = 0.075;

/// What is planted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Planted {
    /// The planned count.
    Count,
    /// 15% of collective time is hidden.
    Overlap,
    /// The host takes a quarter of collective time more: 40 ms for each ms of an all-reduce at 161 of them.
    Confounder,
}

impl Planted {
    pub(super) const ALL: [Self; 3] = [Self::Count, Self::Overlap, Self::Confounder];

    /// The true slope over the planned one.
    fn ratio(self) -> f64 {
        match self {
            Self::Count => 1.0,
            Self::Overlap => 0.85,
            Self::Confounder => 1.25,
        }
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Count => "planned count",
            Self::Overlap => "15% overlap",
            Self::Confounder => "host confounder, a quarter more",
        }
    }
}

/// Slope tests of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct SlopeRow {
    /// What is planted.
    pub(super) planted: Planted,
    /// Tests whose 90% interval holds the planted slope.
    pub(super) held: Share,
    /// Tests that said what is planted, of those whose design can tell 15%.
    pub(super) named: Share,
    /// Tests that called it as planned.
    pub(super) follows: usize,
    /// Tests that were undecided.
    pub(super) undecided: usize,
    /// Median slope over the planned count.
    pub(super) ratio: f64,
    /// Median half-width of the 95% interval over the planned count.
    pub(super) half_width: f64,
}

/// A slope test of a seed; `None` where the model cannot be cut so.
pub(super) fn test(seed: u64, priors: &Priors, planted: Planted) -> Option<Slope> {
    let truth = Truth::draw(seed, priors, None)?;
    let ablation = ablation(&truth, seed, planted).ok()?;
    Some(slope(&ablation, seed, DRAWS))
}

fn ablation(truth: &Truth, seed: u64, planted: Planted) -> Result<Ablation, EngineError> {
    let mut chance = Chance::new(seed ^ 0x510e_0000);
    let planned = truth.all_reduces();
    let mut arms = Vec::new();
    for index in 0..ARMS {
        let mut of = truth.clone();
        of.library = Wire::draw(&mut chance);
        let time = of.step_time(of.tp)?;
        let mut launches = Vec::new();
        for order in 0..LAUNCHES {
            launches.push(launch(
                &of,
                &time,
                order,
                f64::from(planned),
                planted,
                &mut chance,
            )?);
        }
        arms.push(Arm {
            name: format!("link-{index}"),
            change: if index == 0 {
                Change::Baseline
            } else {
                Change::Link
            },
            how: String::new(),
            control_of: None,
            launches,
        });
    }
    Ok(Ablation {
        schema: 1,
        simulated: None,
        model: truth.model.name.clone(),
        tp: truth.tp,
        batch: truth.load.batch,
        engine: None,
        planned,
        step_from: None,
        arms,
    })
}

/// Decode steps of one start, each with its own context and noise.
fn launch(
    truth: &Truth,
    time: &StepTime,
    order: u32,
    planned: f64,
    planted: Planted,
    chance: &mut Chance,
) -> Result<Launch, EngineError> {
    let batch = truth.load.batch;
    let parts = |step: u32| {
        time.parts(StepLoad {
            sequences: batch,
            tokens: batch,
            context_tokens: u64::from(batch) * u64::from(truth.load.prompt_tokens + step),
        })
    };
    // A step grows by its context, so that the mean of the first and the last is that of all.
    let (first, last) = (parts(0)?, parts(STEPS)?);
    let collectives_us = first.all_reduce_us + first.all_gather_us;
    let mean_us = (first.total_us() + last.total_us()) / 2.0;
    let whole_us = mean_us + (planted.ratio() - 1.0) * collectives_us;
    let ms = whole_us / 1e3 * (1.0 + STEP_CV * chance.normal());
    let us = collectives_us / planned * (1.0 + COLLECTIVE_CV * chance.normal());
    let around = |value: f64, cv: f64| {
        // What a launch knows of itself: a fifth of what launches differ by; 1.645 deviations hold 90%.
        let half = 1.645 * 0.2 * cv * value;
        Range {
            low: value - half,
            mid: value,
            high: value + half,
        }
    };
    Ok(Launch {
        order,
        collective_us: Some(around(us.max(1e-3), COLLECTIVE_CV)),
        step_ms: around(ms, STEP_CV),
        steps: u64::from(STEPS),
        folder: None,
        late_ms: None,
        limited: None,
    })
}

impl SlopeRow {
    pub(super) fn new(planted: Planted, tests: &[Slope]) -> Self {
        let fits = || tests.iter().filter_map(|of| Some((of, of.fit.as_ref()?)));
        let held = fits().filter(|(of, fit)| {
            let is = f64::from(of.planned) * planted.ratio();
            fit.slope.low <= is && is <= fit.slope.high
        });
        let sharp = || fits().filter(|(_, fit)| fit.power.half_width <= SHARP);
        let named = sharp().filter(|(of, _)| match (&of.passes, planted) {
            (SlopeVerdict::Follows, Planted::Count) => true,
            (SlopeVerdict::BelowPlan { why }, Planted::Overlap) => why.contains("overlap"),
            (SlopeVerdict::AbovePlan { why }, Planted::Confounder) => why.contains("host"),
            _ => false,
        });
        let count =
            |is: fn(&SlopeVerdict) -> bool| tests.iter().filter(|of| is(&of.passes)).count();
        let middle = |values: Vec<f64>| measure::stats::median(&values).unwrap_or(0.0);
        Self {
            planted,
            held: Share::new(held.count(), fits().count()),
            named: Share::new(named.count(), sharp().count()),
            follows: count(|of| *of == SlopeVerdict::Follows),
            undecided: count(|of| matches!(of, SlopeVerdict::Undecided { .. })),
            ratio: middle(
                fits()
                    .map(|(of, fit)| fit.slope.mid / f64::from(of.planned))
                    .collect(),
            ),
            half_width: middle(fits().map(|(_, fit)| fit.power.half_width).collect()),
        }
    }
}
