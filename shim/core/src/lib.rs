//! A shim that stands before a library of collectives, forwards every call to it, and puts a delay of known length into the stream
//! before each all-reduce: what a server loses to each all-reduce is then seen as a slope, without another link.
//!
//! Engines look functions up on the handle of a library that they loaded, so interposing a symbol does not reach them: the shim is
//! that library, with its name. Two libraries are made of this: `shim/nccl` and `shim/rccl`. It is reported by variables,
//! which are read once:
//!
//! - `TPLENS_DELAY_US`: microseconds that each all-reduce adds to its stream; nothing or 0 adds nothing.
//! - `TPLENS_DELAY_LIBRARY`: the file of the real library; else the next one by name that is no shim.
//! - `TPLENS_DELAY_LOG`: a file that gets lines of JSON on what was done (`log`).
//!
//! `VLLM_NCCL_SO_PATH` and `SGLANG_NCCL_SO_PATH` hand a shim to an engine's own calls, which its all-reduces are;
//! `LD_PRELOAD` also to PyTorch's. `LD_LIBRARY_PATH` does not reach PyTorch, whose wheels find their library by an RPATH before it.
//!
//! The delay is a kernel that spins by the GPU's clock, launched in the calling thread's context on the call's stream before the
//! call, so a graph that is captured holds it and every replay runs it. Where no GPU driver is in the process the calling thread
//! spins. A delay that cannot be put there fails the call with `ncclInternalError`: an experiment without its delay would be a
//! false number. What a kernel does inside a GPU (custom all-reduce of an engine) is not a call and is not delayed.
#![expect(
    unsafe_code,
    reason = "forwards C functions and calls those of GPU drivers"
)]

mod driver;
mod exports;
mod forward;
mod loader;
mod log;
mod names;
mod real;
mod spin;

pub use exports::slow;
pub use forward::{Answer, Entry};
pub use real::{Library, NCCL, RCCL};
