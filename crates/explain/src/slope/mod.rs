//! Whether the step follows the link: arms of runs that change one thing each, and the slope of the step over collective time.

mod arms;
mod constant;
mod controls;
mod fitted;
mod impossible;
mod launches;
mod line;
mod result;
mod sample;
mod student;
mod test;
mod text;
mod verdict;

pub use arms::{Ablation, Arm, Change, EMBEDDED, Launch};
pub(crate) use constant::SAME_LOAD;
pub use constant::{ConstantPart, HalfCheck};
pub use impossible::AblationError;
pub use launches::FEWEST as LEAST_LAUNCHES;
pub use result::{
    ArmSummary, Beside, DelayControl, LateLaunches, NegativeControl, Power, Residual, Slope,
    SlopeEvidence, SlopeFit, SlopeVerdict,
};
pub use test::slope;
pub(crate) use text::slope_body;
pub use text::{slope_answer, slope_controls, slope_text};
