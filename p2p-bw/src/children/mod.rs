//! The child processes, each a hidden subcommand: inventory, library, worker and sampler.
//!
//! A child dies with its parent, takes requests on standard input and answers on the message pipe.

mod bench;
mod chain;
mod job;
mod lanes;
mod load;
mod placed;
mod probe;
mod relay;
mod series;
mod worker;

use anyhow::Result;
use inventory::Built;
use program::Stop;
use runner::Worker;
use runner::child::{Line, start_with};

/// Streams of a device that may run at once: as many as NVIDIA's driver takes for the limit.
const QUEUES: &str = "32";

/// The arguments that start the children of this program.
pub(crate) const WORKER: &str = "__worker";
pub(crate) const SAMPLER: &str = "__sampler";

/// Starts a child; it may run as many streams at once as groups of devices need, unless the user set a limit.
pub(crate) fn start(child: &str) -> Result<Worker, Stop> {
    let limits = Built::ALL
        .iter()
        .filter_map(|built| built.queues_variable());
    let unset = limits.filter(|name| std::env::var_os(name).is_none());
    Ok(start_with(child, child, unset.map(|name| (name, QUEUES)))?)
}

/// Runs the child that an argument stands for, until its parent has no more to ask; `None` where it stands for none.
///
/// # Errors
/// The pipes broke, or a request was not understood; findings are answers, not errors.
pub(crate) fn run(argument: &str) -> Option<Result<()>> {
    Some(match argument {
        inventory::CHILD => inventory::child::run(),
        inventory::library::CHILD => inventory::library::run(),
        WORKER => Line::open().and_then(worker::run),
        SAMPLER => crate::monitor::sampler::run(),
        _ => return None,
    })
}
