//! Arms of an ablation as they are kept in `ablation.json`: what each one changed, and what its launches measured; and what a slope test
//! says of them.

use serde::{Deserialize, Serialize};

use crate::attribute::StepFrom;
use crate::range::Range;

/// What stands before the description of the engine that the embedded engine of a simulated machine acts as.
pub const EMBEDDED: &str = "embedded engine, as ";

/// Arms of one model on one box at one batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ablation {
    /// Version of the form, 1.
    pub schema: u32,
    /// The simulated machine behind it; `None` where all is measured.
    pub simulated: Option<String>,
    /// The model.
    pub model: String,
    /// Tensor parallel size.
    pub tp: u32,
    /// Sequences that decode in a step.
    pub batch: u32,
    /// The engine with its version, in words; `None` where it is not known.
    pub engine: Option<String>,
    /// All-reduces of a decode step by the plan: the slope that links alone would give.
    pub planned: u32,
    /// What the step of every launch was taken from: one metric for all. `None` in files from before it was kept.
    pub step_from: Option<StepFrom>,
    /// The arms, in the order of their first launch.
    pub arms: Vec<Arm>,
}

/// Launches that were started alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// Its name, such as `p2p-off`.
    pub name: String,
    /// What it changed against the first arm.
    pub change: Change,
    /// Variables, arguments and GPUs that make it, in words.
    pub how: String,
    /// What its launches measured.
    pub launches: Vec<Launch>,
}

/// What an arm changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Nothing: the box as it is.
    Baseline,
    /// The path of collectives and nothing else.
    Link,
    /// A delay in each all-reduce, whose length is known: the step must follow.
    Delay,
    /// Something else, in a file of an earlier version: no point of the line.
    #[serde(other)]
    Other,
}

/// One start of the server, with the collectives timed under the same variables.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// Its place in the order of all launches, from 0.
    pub order: u32,
    /// Time of all collectives of a decode step over the number of its all-reduces, us.
    pub collective_us: Option<Range>,
    /// The mean decode step, ms.
    pub step_ms: Range,
    /// Decode steps, or gaps between tokens, behind it.
    pub steps: u64,
    /// Folder of its results, relative to the file.
    pub folder: Option<String>,
    /// Of a simulated machine: by how much a mean step was played longer than it is because this machine was late, ms. `None` for a real
    /// server, and where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_ms: Option<f64>,
    /// Of a simulated machine: why the load generator was the limit; a launch of a real server is none then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited: Option<String>,
}

/// A simulated machine's step that was played longer than it is by more than this part says nothing of the box.
const LATE: f64 = 0.05;

impl Launch {
    /// Whether this machine was too busy to play it: its step is more the machine's than the simulated machine's.
    #[must_use]
    pub fn is_late(&self) -> bool {
        let is_long = |late: f64| late > LATE * self.step_ms.mid;
        self.limited.is_some() || self.late_ms.is_some_and(is_long)
    }
}

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
    AbovePlan,
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
    Rough { half_width: f64 },
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
