//! The metrics of a serving benchmark, one file each: formula, unit, source and the function that works it out.

mod chunks;
pub mod decode_gap;
mod definition;
pub mod e2el;
pub mod e2el_intended;
pub mod goodput;
pub mod in_flight;
pub mod itl;
pub mod itl_per_token;
pub mod lengths;
pub mod little;
pub mod output_throughput;
pub mod peak_in_flight;
pub mod peak_output;
pub mod queue_time;
pub mod request_throughput;
pub mod step_class;
pub mod total_throughput;
pub mod tpot;
pub mod ttfc;
pub mod ttft;

pub use definition::Metric;

pub use chunks::tokens_of_chunks;

#[cfg(test)]
mod tests;
