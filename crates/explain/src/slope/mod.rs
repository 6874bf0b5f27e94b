//! Whether the step follows the link: arms of runs that change one thing each, and the slope of the step over collective time.

mod arms;
mod controls;
mod fitted;
mod launches;
mod line;
mod result;
mod student;
mod test;
mod verdict;

pub use arms::{Ablation, Arm, Change, EMBEDDED, Launch};
pub use launches::FEWEST as LEAST_LAUNCHES;
pub use result::{
    ArmSummary, BelowCause, Beside, DelayControl, LateLaunches, NegativeControl, Power, Residual,
    Slope, SlopeCaveat, SlopeEvidence, SlopeFit, SlopeVerdict, Undecided,
};
pub use test::slope;
