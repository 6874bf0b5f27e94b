//! Known answers: what `p2p-bw` measures on soft boxes, through the real driver interface, against a solver of these
//! tests' own that shares no code with the soft drivers; and what `topology` reads from the boxes' generated trees.
//!
//! The soft libraries must be in `target/soft` (`cargo xtask soft`). Faults are not played here.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod boxes;
mod dice;
mod errors;
mod expected;
mod lanes;
mod levels;
mod numa;
mod play;
mod program;
mod random;
mod routes;
mod shapes;
mod shipped;
mod shipped_vendors;
mod solver;
mod trees;
