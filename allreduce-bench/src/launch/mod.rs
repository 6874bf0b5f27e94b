//! Ranks that a launcher started: `mpirun`, `srun` or `torchrun` starts this program once a rank.
//!
//! The copy of rank 0 leads: it measures as it would alone, and the others do what it says over one TCP connection each. A
//! copy takes from its connection when to start and what to measure; which library is loaded, and with which variables, each
//! copy knows from its own command line and environment.

mod follower;
mod leader;
mod place;
mod seat;
mod wire;

pub(crate) use follower::follow;
pub(crate) use leader::{Leader, Link};
pub(crate) use place::{LaunchArgs, Place};
pub(crate) use wire::Report;
