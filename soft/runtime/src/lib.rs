//! A `libcuda.so.1`, a `libamdhip64.so.7`, a `libmcruntime.so` and their like over host memory: vendors' drivers and runtimes by
//! their own symbol names, answered by `softbox`.
//!
//! All have the shape of CUDA, so there is one implementation, a table of its functions, and one line for each
//! vendor with what differs. The library is installed under each of their names; under any it also has the others' symbols,
//! which say that there is no device. Here is what tplens calls and what other programs commonly do: no IPC handles, pools,
//! managed memory or strided copies. The model of time and the environment variables are documented in `softbox`.
//!
//! As the real ones do, runtimes initialise themselves at the first call, each thread has a current device, the first at
//! the start, and nothing closes a device: its context stays open until the process ends.
//!
//! A program can tell this library from a real one by the symbol `tplens_soft_box`, which answers the box's name. By the symbol
//! `tplens_soft_enqueue` the simulated libraries of collectives put their work into streams, and by the
//! names of `softbox::nodes` a program says on which nodes of the box its memory and threads are.

mod abi;
mod compiler;
mod contexts;
mod copies;
mod devices;
mod errors;
mod events;
mod exports;
mod foreign;
mod graphs;
mod memory;
mod modules;
mod names;
mod properties;
mod vendor;

softbox::nodes!();
