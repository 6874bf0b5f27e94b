//! Whether the step follows the link: arms of runs that change one thing each, and the slope of the step over collective time.

mod arms;
mod line;
mod result;
mod test;

pub use arms::{Ablation, Arm, Change, EMBEDDED, Launch};
pub use result::{ArmSummary, DelayControl, Slope, SlopeFit, SlopeVerdict, Undecided};
pub use test::{FEWEST as LEAST_LAUNCHES, slope};
