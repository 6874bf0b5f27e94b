//! A `libcuda.so.1` over host memory: the CUDA driver API's own symbol names, answered by `softbox`.
//!
//! Every export checks its pointers, hands the call over and turns the answer into a `CUresult`. Signatures are those of
//! `cuda.h`; here is what tplens calls and what other programs commonly do. Of kernels it knows those that `softbox` knows, by
//! their names; code is not run. There are no memory pools, IPC handles or unified copies from host to host. The model of time
//! and the environment variables are documented in `softbox`.
//!
//! A program can tell this library from a real one by the symbol `tplens_soft_box`, which answers the box's name. By the symbol
//! `tplens_soft_enqueue` the soft libnccl puts its work into streams, and by the names of `softbox::nodes` a program says on
//! which nodes of the box its memory and threads are.

mod abi;
mod context;
mod copies;
mod devices;
mod events;
mod foreign;
mod graphs;
mod launches;
mod memory;
mod modules;
mod names;

softbox::nodes!();
