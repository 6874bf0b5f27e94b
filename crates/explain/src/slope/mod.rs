//! Whether the step follows the link: arms of runs that change one thing each, and the slope of the step over collective time.

mod arms;

pub use arms::{Ablation, Arm, Change, Launch};
