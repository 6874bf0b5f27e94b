//! What is assumed where nothing was measured: ranges and published curves, from one file with a source each.

mod error;
mod file;
mod known;
mod prior;

pub use error::PriorError;
pub use known::Priors;
pub use prior::{Basis, Override, Prior, PublishedCurve, PublishedPath, Shape};
