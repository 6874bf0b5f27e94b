//! Results of other tools, read into the terms of this project.

pub mod collectives;
mod error;
mod fields;
pub mod links;
pub mod serve;

pub use collectives::CurvePoint;
pub use error::ImportError;
pub use serve::{ServeFormat, ServeRun, Spread};
