//! What is assumed where nothing was measured: ranges and published curves, from one file with a source each.

mod known;
mod prior;

pub use known::Priors;
pub use prior::{Basis, Override, Prior, PriorError, PublishedCurve, PublishedPath, Shape};
