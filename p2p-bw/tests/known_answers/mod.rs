//! Known answers: what `tplens p2p` measures on simulated machines, through the real driver interface, against a solver of these
//! tests' own that shares no code with the simulated drivers; and what `topology` reads from the boxes' generated trees.
//!
//! The simulated libraries must be in `target/soft` (`cargo xtask soft`). Faults are not played here.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod boxes;
mod errors;
mod expected;
mod lanes;
mod levels;
mod numa;
mod play;
mod program;
mod random;
mod routes;
mod shipped;
mod shipped_vendors;
mod solver;
