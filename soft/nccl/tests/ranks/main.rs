//! The library under several processes, one a rank, beside the soft libcuda: a test starts itself again once for each rank.
//! Expected sums and times are worked out from values that the test itself puts into buffers and box.
#![expect(unsafe_code, reason = "calls the CUDA driver API and NCCL")]

mod faults;
mod graphs;
mod joining;
mod processes;
mod rank;
mod sums;
mod times;
