//! The parent: chooses backend and devices, runs the children, keeps what they find. It loads no vendor library.

mod ceiling;
pub(crate) mod fabric;
mod facts;
mod finding;
mod health;
mod intent;
mod jobs;
mod judge;
mod link;
mod measurer;
mod memory;
mod monitor;
mod nvlink;
mod outputs;
mod plan;
mod probes;
mod run;
mod session;
mod verdict;

pub(crate) use finding::Finding;
pub(crate) use health::{Health, Suspect};
pub(crate) use measurer::{JobEnd, Measurer};
pub(crate) use outputs::{exit_code, of_outcome};
pub(crate) use run::{Outcome, default_host_bytes, run};
