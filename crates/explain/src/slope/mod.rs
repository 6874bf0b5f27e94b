//! Whether the step follows the link: arms of runs that change one thing each, and the slope of the step over collective time.

mod line;
mod result;
mod verdict;

pub use result::{
    Ablation, Arm, ArmSummary, Change, DelayControl, EMBEDDED, Launch, Slope, SlopeFit,
    SlopeVerdict, Undecided,
};
pub use verdict::{FEWEST as LEAST_LAUNCHES, slope};
