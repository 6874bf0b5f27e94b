//! Documents of serving benchmarks: one run, and results of anybody's clients side by side.

pub(crate) mod findings;
mod numbers;
mod plots;
mod results;
mod run;
mod server;

pub use crate::cell::{maybe, range as within, significant};
pub use findings::item;
pub(crate) use numbers::{distributions, summary};
pub use results::{arrivals, results};
pub(crate) use run::run;

#[cfg(test)]
mod tests;
