//! The parent: chooses backend and devices, runs the children, keeps what they find. It loads no vendor library.

mod ceiling;
mod fabric;
mod facts;
mod health;
mod intent;
mod jobs;
mod judge;
mod link;
mod measurer;
mod memory;
mod monitor;
mod outputs;
mod plan;
mod probes;
mod run;
mod session;
mod verdict;

pub(crate) use run::{Outcome, run};
