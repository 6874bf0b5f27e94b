//! The libraries under several processes, one a rank, beside the simulated drivers: a test starts itself again once for each rank.
//! Expected sums and times are worked out from values that the test itself puts into buffers and box.
#![expect(unsafe_code, reason = "calls drivers and libraries of collectives")]

mod choices;
mod driver;
mod faults;
mod graphs;
mod joining;
mod libraries;
mod logs;
mod operations;
mod processes;
mod rank;
mod times;
mod values;
