//! Results of other tools, read into the terms of this project.

#![forbid(unsafe_code)]

pub mod collectives;
mod error;
pub mod links;
mod number;
mod row;
pub mod serve;
mod source;
pub mod trace;
pub mod transfers;

pub use collectives::CurvePoint;
pub use error::ImportError;
pub use serve::{ServeFormat, ServeRun, Spread};
pub use trace::Trace;
