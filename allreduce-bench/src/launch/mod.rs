//! Ranks that a launcher started: `mpirun`, `srun` and `torchrun` run a copy of this program for each. Copy 0 leads, the others
//! follow: each starts the process of its rank and passes on what is asked and answered. No MPI library is used; what the copies
//! say to each other goes through files in a folder that all of them see.

mod args;
mod far;
mod folder;
mod follower;
mod leader;
mod link;
mod place;
mod post;
mod seat;
mod unknown;
mod words;

pub(crate) use args::LaunchArgs;
pub(crate) use follower::follow;
pub(crate) use leader::Leader;
pub(crate) use link::{Heard, Link};
pub(crate) use place::Place;
