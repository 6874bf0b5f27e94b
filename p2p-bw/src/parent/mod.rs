//! The parent: chooses backend and devices, runs the children, keeps what they find. It loads no vendor library.

mod ceiling;
pub(crate) mod fabric;
mod intent;
mod link;
mod measurer;
mod monitor;
mod plan;
mod points;
mod probes;
mod run;
mod session;
mod verdict;

pub(crate) use measurer::Measurer;
pub(crate) use plan::{Place, Planned, plan};
pub(crate) use points::{Points, announce, exit_code, measure, of_outcome};
pub(crate) use run::{check_memory, default_host_bytes, run};
pub(crate) use session::RunArgs;
