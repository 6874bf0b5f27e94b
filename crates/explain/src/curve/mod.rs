//! Collective times at sizes: this box's or published ones.

mod points;
mod reading;

pub(crate) use points::{Curve, all_reduce_as_large};
pub(crate) use reading::Beyond;
