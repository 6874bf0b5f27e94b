//! Ranks that a launcher started: `mpirun`, `srun` and `torchrun` run a copy of this program for each. Copy 0 leads, the others
//! follow: each starts the process of its rank and passes on what is asked and answered. No MPI library is used; the copies
//! talk over one TCP connection each, to rank 0.

mod args;
mod follower;
mod leader;
mod link;
mod owner;
mod place;
mod seat;
mod wire;
mod words;

pub(crate) use args::LaunchArgs;
pub(crate) use follower::follow;
pub(crate) use leader::Leader;
pub(crate) use link::{Heard, Link};
pub(crate) use place::Place;
