//! A `libcuda.so.1`, a `libamdhip64.so.7`, a `libmcruntime.so` and their like over host memory: vendors' drivers and runtimes by
//! their own symbol names, answered by `softbox`.
//!
//! All have the shape of CUDA, so each call is written once, under the names that the vendors' libraries have for it; what differs is
//! a row for each vendor. The library is installed under each of their names; under any it also has the others' symbols,
//! which say that there is no device. Here is what tplens calls and what other programs commonly do: no IPC handles, pools,
//! managed memory or strided copies. The model of time and the environment variables are documented in `softbox`.
//!
//! Signatures are those of cuda.h, whose addresses of memory are numbers as wide as a pointer, and of hip_runtime_api.h; MetaX's are
//! as HIP's by the uses that are published. As the real ones do, runtimes initialise themselves at the first call, each thread has a
//! current device, the first at the start, and nothing closes a device: its context stays open until the process ends.
//!
//! A program can tell this library from a real one by the symbol `tplens_soft_box`; it and what else no vendor has is in `own`.

mod abi;
mod compiler;
mod devices;
mod memory;
mod modules;
mod names;
mod own;
mod streams;
mod vendor;
