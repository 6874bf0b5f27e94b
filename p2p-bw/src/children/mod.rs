//! The child processes: inventory, probe, worker and monitor. Each is a hidden subcommand that the parent starts.
//!
//! A child dies with its parent, takes requests on standard input and answers on the message pipe.

mod bench;
mod lanes;
mod monitor;
mod probe;
mod staging;
mod transfers;
mod worker;

use anyhow::Result;
use program::Stop;
use program::child::{Line, start};
use supervisor::Worker;

/// A hidden subcommand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Child {
    Inventory,
    Probe,
    Worker,
    Monitor,
}

/// Each child with the first argument that starts it.
const CHILDREN: [(Child, &str); 4] = [
    (Child::Inventory, inventory::CHILD),
    (Child::Probe, "__probe"),
    (Child::Worker, "__worker"),
    (Child::Monitor, "__monitor"),
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

    /// Starts it.
    pub(crate) fn start(self) -> Result<Worker, Stop> {
        start(self.argument(), self.argument())
    }
}

/// Runs a child until its parent has no more to ask.
///
/// # Errors
/// The pipes broke, or a request was not understood; findings are answers, not errors.
pub(crate) fn run(child: Child) -> Result<()> {
    match child {
        Child::Inventory => inventory::child::run(),
        Child::Probe => probe::run(Line::open()?),
        Child::Worker => worker::run(Line::open()?),
        Child::Monitor => monitor::run(Line::open()?),
    }
}
