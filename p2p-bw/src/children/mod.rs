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

/// A child that this program starts for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Child {
    Worker,
    Sampler,
}

impl Child {
    /// The argument that starts it.
    fn argument(self) -> &'static str {
        match self {
            Self::Worker => "__worker",
            Self::Sampler => "__sampler",
        }
    }

    /// Starts it; one that runs streams may run as many at once as groups of devices need, unless the user set a limit.
    pub(crate) fn start(self) -> Result<Worker, Stop> {
        let vendors = Built::ALL.iter().filter(|_| self == Self::Worker);
        let limits = vendors
            .filter_map(|built| built.queues_variable())
            .filter(|name| std::env::var_os(name).is_none())
            .map(|name| (name, QUEUES));
        Ok(start_with(self.argument(), self.argument(), limits)?)
    }
}

/// Runs the child that an argument stands for, until its parent has no more to ask; `None` where it stands for none.
///
/// # Errors
/// The pipes broke, or a request was not understood; findings are answers, not errors.
pub(crate) fn run(argument: &str) -> Option<Result<()>> {
    Some(match argument {
        inventory::CHILD => inventory::child::run(),
        inventory::library::CHILD => inventory::library::run(),
        _ if argument == Child::Worker.argument() => Line::open().and_then(worker::run),
        _ if argument == Child::Sampler.argument() => crate::monitor::sampler::run(),
        _ => return None,
    })
}
