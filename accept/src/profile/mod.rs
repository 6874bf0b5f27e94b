//! Profiles: what a box must be like to be accepted.

mod error;
mod load;
mod model;
mod part;
mod shipped;
mod valid;
mod words;

pub(crate) use load::{Loaded, load, shipped};
pub(crate) use model::{Expected, LimitRow, LimitUnit, Match, Profile};
pub(crate) use words::{checked, list};
