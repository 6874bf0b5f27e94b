//! Readers of what tools print about a box, so that a colleague's paste can be analysed.
//!
//! [`read`] finds out by itself which tools a text is of. Nothing is run and nothing is asked of the machine this runs on.

mod lists;
mod matrix;
mod model;
mod read;
mod text;

pub use model::{Captured, CapturedError, CapturedFinding, MigDevice, NamedGpu, PairTable};
pub use read::read;
