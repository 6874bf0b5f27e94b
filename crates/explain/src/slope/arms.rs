//! Arms of an ablation as they are kept in `ablation.json`: what each one changed, and what its launches measured.

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
