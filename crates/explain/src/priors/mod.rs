//! What is taken as known where nothing was measured: ranges and published curves, from one file with a source each.

mod error;
mod file;
mod known;
mod nearest;
mod prior;

pub use error::PriorError;
pub use known::Priors;
pub use prior::{Basis, Override, Prior, Shape};

pub(crate) use known::{PublishedCurve, PublishedPath};
