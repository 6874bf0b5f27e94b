//! A `libnccl.so.2` over shared host memory: NCCL's own symbol names, answered for the ranks of a described box.
//!
//! Sums are really formed and bytes really gathered, across processes. A call takes the time of the box's `[[collective]]`
//! table (library `nccl`) times the box's noise, the same factor on every rank, on the virtual clock of the soft libcuda that
//! the process has loaded; called one by one it takes no less than the table's `launch_us`. What the box has no table for is
//! refused. Faults of the box whose names begin with `collective_` are played here.
//!
//! Signatures are those of `nccl.h` 2.29; only what tplens calls is here. Each process has one rank of a communicator. Sums are
//! of float16, float32 and bfloat16, added in binary32 in rank order and rounded once. A group changes nothing: what is in it
//! is issued at once. A rank that never comes is waited for without end, as by NCCL; aborting ends the wait.
//! A rank takes part in a call when its process waits for the stream, polls it or frees memory, see `softbox`.
//!
//! A program can tell this library from a real one by the symbol `tplens_soft_box`, which answers the box's name.

mod abi;
mod calls;
mod communicator;
mod driver;
mod element;
mod membership;
mod operation;
mod segment;
