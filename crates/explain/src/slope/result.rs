//! What a slope test says.

use serde::{Deserialize, Serialize};
use stats::Interval;

use super::arms::Change;
use crate::range::Range;

/// Whether the step follows the link, from the arms of an ablation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Slope {
    /// The file of its arms; `None` where it came from none.
    pub origin: Option<String>,
    /// The engine as the ablation has it; `None` where it does not say.
    pub engine: Option<String>,
    /// The simulated machine behind it; `None` where all is measured.
    pub simulated: Option<String>,
    /// The model.
    pub model: String,
    /// Tensor parallel size.
    pub tp: u32,
    /// Sequences that decode in a step.
    pub batch: u32,
    /// All-reduces of a decode step by the plan, which is the slope that collectives alone give.
    pub planned: u32,
    /// What came of it.
    pub passes: SlopeVerdict,
    /// The line; `None` where no line can be drawn.
    pub fit: Option<SlopeFit>,
    /// Whether one GPU, which has no collectives, stayed as fast under the same variables.
    pub negative_control: NegativeControl,
    /// Whether the step follows a delay of known length; `None` without an arm that adds one.
    pub delay_control: Option<DelayControl>,
    /// Arms that change more than the link: not fitted, laid beside.
    pub beside: Vec<Beside>,
    /// Every arm.
    pub arms: Vec<ArmSummary>,
    /// Caveats, a sentence each.
    pub caveats: Vec<SlopeCaveat>,
    /// Launches of a simulated machine that are left out because this machine was too busy to play them, and of how many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<LateLaunches>,
}

/// Launches that were left out because the machine that played the simulated machine was late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateLaunches {
    /// How many.
    pub left_out: usize,
    /// Of how many.
    pub of: usize,
}

/// What the line says of the step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum SlopeVerdict {
    /// The step follows the link as planned.
    Follows,
    /// It follows by less.
    BelowPlan {
        /// Why.
        cause: BelowCause,
        /// The part of longer collectives that does not show in the step.
        hidden: Range,
    },
    /// It follows by more.
    AbovePlan {
        /// Whether one GPU did not move, so that it takes several.
        is_of_several: bool,
        /// Us of step for each us of a collective beyond the plan.
        extra: Range,
    },
    /// The arms do not say.
    Undecided {
        /// Why.
        why: Undecided,
    },
}

/// Why a step follows a link by less than planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BelowCause {
    /// The engine takes another path than was timed: a known delay shows in full.
    OtherPath,
    /// Other work hides a part, of a known delay, too.
    Overlap,
    /// One of the two; an arm with a delay tells which.
    OverlapOrOtherPath,
}

/// Why arms decide nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "fields are named by what they hold")]
pub enum Undecided {
    /// One GPU, which has no collectives, moved with the variables.
    OneGpuMoved { arm: String, ms: Range },
    /// The arms do not lie on one line.
    OffTheLine { arm: String, chi_square: f64 },
    /// The slope is known too roughly.
    Rough { half_width: f64, launches: u32 },
    /// The plan has no all-reduce.
    NothingPlanned,
    /// Too few arms with enough launches.
    FewArms { usable: usize, of: usize },
    /// All arms have the same collective time.
    SameTimes,
}

/// What to know of the arms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "fields are named by what they hold")]
pub enum SlopeCaveat {
    /// Links and delays give two slopes: the line is through the links.
    TwoSlopes,
    /// A line goes through any two points.
    TwoArms,
    /// Nearly all of the slope rests on one arm.
    OneArmBears { arm: String, share: f64 },
    /// Launches that this machine was late with were left out.
    LateLaunches { arm: String, launches: usize },
    /// Launches without a usable time were left out.
    UnusableLaunches { arm: String, launches: usize },
    /// An arm with too few launches was left out.
    FewLaunches { arm: String, launches: usize },
}

/// The line of the step over collective time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlopeFit {
    /// Names of the arms that it goes through.
    pub arms: Vec<String>,
    /// Launches behind it.
    pub launches: u32,
    /// Collectives in a step: microseconds of step for each microsecond of a collective, 5/50/95%.
    pub slope: Range,
    /// Its 95% interval, which the test uses.
    pub slope_95: Interval,
    /// The step without collectives, ms.
    pub intercept_ms: Range,
    /// The arm whose communication is reported.
    pub at: String,
    /// Collective time of that arm, us.
    pub collective_us: Range,
    /// What communication takes of that arm's step by the slope, ms: the part that changes with the link, a lower figure. What no
    /// arm changes is [`Slope::constant`].
    pub communication_ms: Range,
    /// What the line leaves.
    pub residual: Residual,
    /// The arm with the greatest share in the slope, and that share, 0 to 1; of two arms each has half of it.
    pub leverage: (String, f64),
    /// What this design can tell.
    pub power: Power,
}

/// What a line leaves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Residual {
    /// Mean squared distance in standard errors; about 1 where arms lie on a line. `None` for two arms, which always do.
    pub reduced_chi_square: Option<f64>,
    /// The arm farthest from the line, by its standard error.
    pub worst: String,
}

/// What a design can tell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Power {
    /// Half of the 95% interval that such launches give, over the planned slope.
    pub half_width: f64,
    /// Launches an arm that make it 10%.
    pub launches_for_tenth: u32,
}

/// Whether one GPU stayed as fast.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum NegativeControl {
    /// No two arms of one GPU were run.
    NotRun,
    /// It did.
    Still {
        /// Arms of one GPU that were compared.
        arms: u32,
        /// The largest difference, ms.
        most_ms: f64,
    },
    /// It did not: the variables change more than the link.
    Moved {
        /// The arm.
        arm: String,
        /// By how much, ms.
        ms: Range,
    },
    /// Its launches differ too much to tell.
    Unclear {
        /// The arm.
        arm: String,
        /// By how much, ms.
        ms: Range,
    },
}

/// Whether the step follows a delay of known length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DelayControl {
    /// Collectives in a step, by the arms with a delay against the box as it is.
    pub slope: Range,
    /// Its 95% interval.
    pub slope_95: Interval,
    /// Whether the plan lies in it.
    pub follows: bool,
}

/// An arm that changes more than the link, against the box as it is. Milliseconds of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// The arm.
    pub arm: String,
    /// What the step changed by.
    pub step_ms: Range,
    /// What the planned collectives changed by.
    pub collectives_ms: Option<Range>,
    /// What one GPU changed by; `None` without such arms.
    pub one_gpu_ms: Option<Range>,
    /// Difference in differences: the step's change less one GPU's.
    pub difference_ms: Option<Range>,
}

/// An arm in short.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmSummary {
    /// Its name.
    pub name: String,
    /// What it changed.
    pub change: Change,
    /// Usable launches.
    pub launches: u32,
    /// Mean collective time over launches, us.
    pub collective_us: Option<Range>,
    /// Mean step over launches, ms.
    pub step_ms: Option<Range>,
    /// Whether the line goes through it.
    pub fitted: bool,
}

/// What a passed slope test is worth to an attribution: causal evidence, grade B.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlopeEvidence {
    /// The simulated machine behind it.
    pub simulated: Option<String>,
    /// The model.
    pub model: String,
    /// Tensor parallel size.
    pub tp: u32,
    /// Sequences that decode in a step.
    pub batch: u32,
    /// All-reduces of a step by the plan.
    pub planned: u32,
    /// Collectives in a step as the arms have it.
    pub slope: Range,
    /// What communication that changes with the link takes of the step of the box as it is, ms: a lower figure.
    pub communication_ms: Range,
    /// The step without collectives, ms.
    pub intercept_ms: Range,
}

impl Slope {
    /// What the test is worth as evidence; `None` where it did not pass.
    #[must_use]
    pub fn evidence(&self) -> Option<SlopeEvidence> {
        let fit = self.fit.as_ref()?;
        if self.passes != SlopeVerdict::Follows {
            return None;
        }
        Some(SlopeEvidence {
            simulated: self.simulated.clone(),
            model: self.model.clone(),
            tp: self.tp,
            batch: self.batch,
            planned: self.planned,
            slope: fit.slope,
            communication_ms: fit.communication_ms,
            intercept_ms: fit.intercept_ms,
        })
    }

    /// The step of the arm that communication is told of.
    pub(crate) fn step_of_fit(&self) -> Option<Range> {
        let at = &self.fit.as_ref()?.at;
        self.arms.iter().find(|arm| arm.name == *at)?.step_ms
    }
}
