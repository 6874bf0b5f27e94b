//! What is taken as known where nothing was measured: ranges and published curves, from one file with a source each.

mod error;
mod file;
mod known;
mod nearest;

pub use error::PriorError;
pub use known::{Basis, Override, Prior, Priors, Shape};

pub(crate) use known::{PublishedCurve, PublishedPath};
