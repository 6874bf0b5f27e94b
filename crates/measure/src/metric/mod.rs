//! The metrics of a serving benchmark, one file each: formula, unit, source and the function that works it out.

pub mod decode_gap;
mod definition;
pub mod e2el;
pub mod in_flight;
pub mod itl;
pub mod output_throughput;
pub mod request_throughput;
pub mod tpot;
pub mod ttft;

pub use definition::Metric;

#[cfg(test)]
mod tests;
