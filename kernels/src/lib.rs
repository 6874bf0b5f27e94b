//! The GPU kernels of the link cases, and their launches with arguments that are checked here.
//!
//! Six kernels: a gate that spins on a host flag, a copy of 16-byte words by a grid that fills the chip, the fill and the
//! check of [`device::pattern::Pattern`], a pointer chase, and multiply-adds in registers whose sums are known. What is timed is loaded
//! at once, fill, check and burn when they are first used, as some vendors compile each while a program runs. Nothing is timed here. `unsafe` stands in `launch.rs` only.

mod chain;
mod code;
mod launch;
mod place;

pub use chain::{CHAIN_STRIDE, write_chain};
pub use launch::{BURN_MULTIPLY_ADDS, BURN_ROUNDS, Gate, Kernels};
pub use place::Place;
