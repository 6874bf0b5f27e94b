//! Documents of serving benchmarks: one run, and results of anybody's clients side by side.

mod cells;
pub(crate) mod findings;
mod plots;
mod results;
mod run;
mod server;

pub use cells::{maybe, ms, significant, within};
pub use findings::item;
pub use results::{arrivals, results};
pub(crate) use run::run;

#[cfg(test)]
mod tests;
