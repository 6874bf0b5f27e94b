//! The child processes: inventory, library, worker and sampler. Each is a hidden subcommand that the parent starts.
//!
//! A child dies with its parent, takes requests on standard input and answers on the message pipe.

mod bench;
mod hold;
mod lanes;
mod load;
mod probe;
mod series;
mod staging;
mod tell;
mod transfers;
mod worker;

use anyhow::Result;
use inventory::Built;
use program::Stop;
use runner::Worker;
use runner::child::{Line, start_with};

/// A hidden subcommand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Child {
    Inventory,
    Worker,
    Sampler,
    Library,
}

/// Each child with the first argument that starts it.
const CHILDREN: [(Child, &str); 4] = [
    (Child::Inventory, inventory::CHILD),
    (Child::Worker, "__worker"),
    (Child::Sampler, "__sampler"),
    (Child::Library, inventory::library::CHILD),
];

impl Child {
    /// The child that an argument starts.
    pub(crate) fn of(argument: &str) -> Option<Self> {
        CHILDREN
            .iter()
            .find(|(_, name)| *name == argument)
            .map(|(child, _)| *child)
    }

    /// The argument that starts it.
    pub(crate) fn argument(self) -> &'static str {
        CHILDREN
            .iter()
            .find(|(child, _)| *child == self)
            .map_or("", |(_, name)| name)
    }

    /// Starts it; one that runs streams may run as many at once as groups of devices need.
    pub(crate) fn start(self) -> Result<Worker, Stop> {
        let runs_streams = self == Self::Worker;
        let is_set = |name: &str| std::env::var_os(name).is_some();
        let queues = runs_streams.then(|| queues(is_set)).into_iter().flatten();
        Ok(start_with(self.argument(), self.argument(), queues)?)
    }
}

/// Streams of a device that may run at once: as many as NVIDIA's driver takes for the limit.
const QUEUES: &str = "32";

/// The vendors' variables that limit the streams that run at once, with our limit; what the user set stays.
fn queues(is_set: impl Fn(&str) -> bool) -> impl Iterator<Item = (&'static str, &'static str)> {
    let variables = Built::ALL
        .iter()
        .filter_map(|built| built.queues_variable());
    variables
        .filter(move |name| !is_set(name))
        .map(|name| (name, QUEUES))
}

/// Runs a child until its parent has no more to ask.
///
/// # Errors
/// The pipes broke, or a request was not understood; findings are answers, not errors.
pub(crate) fn run(child: Child) -> Result<()> {
    match child {
        Child::Inventory => inventory::child::run(),
        Child::Worker => worker::run(Line::open()?),
        Child::Sampler => crate::monitor::sampler::run(),
        Child::Library => inventory::library::run(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_streams_may_run_at_once_unless_the_user_set_a_limit() {
        let with = |set: &'static str| queues(move |name| name == set).collect::<Vec<_>>();
        let both = [
            ("CUDA_DEVICE_MAX_CONNECTIONS", "32"),
            ("GPU_MAX_HW_QUEUES", "32"),
        ];
        assert_eq!(with(""), both);
        assert_eq!(with("GPU_MAX_HW_QUEUES"), both[..1]);
    }
}
