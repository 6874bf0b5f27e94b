//! The metrics of a serving benchmark: a table of their definitions, and the functions that work them out.

pub mod decode_gap;
mod request;
mod run;
pub mod step_class;
mod table;

pub use request::*;
pub use run::*;
pub use table::*;

#[cfg(test)]
mod tests;
