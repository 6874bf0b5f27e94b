//! Whether the step follows the link: arms of runs that change one thing each, and the slope of the step over collective time.

mod arms;
mod controls;
mod launches;
mod line;
mod result;
mod student;
mod test;
mod text;

pub use arms::{Ablation, Arm, Change, Launch};
pub use result::{
    ArmSummary, Beside, DelayControl, NegativeControl, Power, Residual, Slope, SlopeEvidence,
    SlopeFit, SlopeVerdict,
};
pub use test::slope;
pub use text::slope_text;
