//! Records as CSV: one line per number, with everything a spreadsheet needs and nothing it would run.

mod cell;
mod collectives;
mod links;
mod numa;
mod record;
mod requests;
mod serve;

pub use record::{links, record};
pub use requests::requests;
