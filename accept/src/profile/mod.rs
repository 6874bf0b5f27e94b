//! Profiles: what a box must be like to be accepted.

mod load;
mod model;
mod valid;

pub(crate) use load::{Loaded, load, shipped};
pub(crate) use model::{Expected, LimitRow, LimitUnit, Match, Profile};
