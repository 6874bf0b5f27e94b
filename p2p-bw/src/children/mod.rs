//! The child processes: inventory, probe, worker and monitor. Each is a hidden subcommand that the parent starts.
//!
//! A child dies with its parent, takes requests on standard input and answers on the message pipe.

mod bench;
mod inventory;
mod lanes;
mod monitor;
mod probe;
mod staging;
mod transfers;
mod worker;

use anyhow::{Context, Result};
use measure::quantity::TimeSource;
use serde::Serialize;
use serde::de::DeserializeOwned;
use supervisor::child::{self, Inbox, Outbox};

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
    (Child::Inventory, "__inventory"),
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
}

/// A child's ends of the pipes.
struct Line<T> {
    inbox: Inbox<T>,
    outbox: Outbox,
}

impl<T: DeserializeOwned> Line<T> {
    fn open() -> Result<Self> {
        Ok(Self {
            outbox: Outbox::claim()?,
            inbox: child::inbox()?,
        })
    }

    /// The next request; `None` when the parent is done with this child.
    fn next(&mut self) -> Result<Option<T>> {
        self.inbox.next().transpose().context("reading a request")
    }

    fn send(&mut self, reply: &impl Serialize) -> Result<()> {
        self.outbox.send(reply).context("answering the parent")
    }
}

/// Runs a child until its parent has no more to ask.
///
/// # Errors
/// The pipes broke, or a request was not understood; findings are answers, not errors.
pub(crate) fn run(child: Child) -> Result<()> {
    child::die_with_parent(child::expected_parent()?)?;
    match child {
        Child::Inventory => inventory::run(Line::open()?),
        Child::Probe => probe::run(Line::open()?),
        Child::Worker => worker::run(Line::open()?),
        Child::Monitor => monitor::run(Line::open()?),
    }
}

/// The clock behind a backend's events, in the record's terms.
fn time_source(source: device::TimeSource) -> TimeSource {
    match source {
        device::TimeSource::DeviceEvent => TimeSource::DeviceEvent,
        device::TimeSource::HostMonotonic => TimeSource::HostMonotonic,
        device::TimeSource::VirtualClock => TimeSource::VirtualClock,
    }
}
