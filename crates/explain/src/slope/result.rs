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
    /// Whether the step follows a delay of known length; `None` without an arm that adds one.
    pub delay_control: Option<DelayControl>,
    /// Every arm.
    pub arms: Vec<ArmSummary>,
}

/// What the line says of the step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum SlopeVerdict {
    /// The step follows the link as planned.
    Follows,
    /// It follows by less: other work hides a part, or where a known delay shows in full, the engine takes another path.
    BelowPlan {
        /// The part of longer collectives that does not show in the step.
        hidden: Range,
    },
    /// It follows by more.
    AbovePlan {
        /// Us of step for each us of a collective beyond the plan.
        extra: Range,
    },
    /// The arms do not say.
    Undecided {
        /// Why.
        why: Undecided,
    },
}

/// Why arms decide nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "fields are named by what they hold")]
pub enum Undecided {
    /// The arms do not lie on one line.
    OffTheLine { arm: String },
    /// The slope is known too roughly.
    Rough { half_width: f64, launches: u32 },
    /// The plan has no all-reduce.
    NothingPlanned,
    /// Too few arms with enough launches, or all with the same collective time.
    FewArms { usable: usize, of: usize },
}

/// The line of the step over collective time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlopeFit {
    /// Names of the arms that it goes through.
    pub arms: Vec<String>,
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
    /// What communication takes of that arm's step by the slope, ms: the part that changes with the link, a lower figure.
    pub communication_ms: Range,
}

/// Whether the step follows a delay of known length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DelayControl {
    /// Collectives in a step, by the arms with a delay against the box as it is.
    pub slope: Range,
    /// Whether the plan lies in its 95% interval.
    pub follows: bool,
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
    /// Launches without a usable time, or that this machine was too busy to play.
    #[serde(default)]
    pub left_out: u32,
    /// Mean collective time over launches, us.
    pub collective_us: Option<Range>,
    /// Mean step over launches, ms.
    pub step_ms: Option<Range>,
    /// Whether the line goes through it.
    pub fitted: bool,
}

impl Slope {
    /// The line as causal evidence; `None` where the test did not pass.
    #[must_use]
    pub fn evidence(&self) -> Option<&SlopeFit> {
        let fit = self.fit.as_ref();
        fit.filter(|_| self.passes == SlopeVerdict::Follows)
    }

    /// Whether it is, and whether it rests on a link.
    pub(crate) fn varied_link(&self) -> bool {
        let mut fitted = self.arms.iter().filter(|arm| arm.fitted);
        fitted.any(|arm| arm.change == Change::Link)
    }

    /// The step of the arm that communication is told of.
    pub(crate) fn step_of_fit(&self) -> Option<Range> {
        let at = &self.fit.as_ref()?.at;
        self.arms.iter().find(|arm| arm.name == *at)?.step_ms
    }
}
