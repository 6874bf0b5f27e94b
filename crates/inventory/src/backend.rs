//! Backends by name: on the command line, and those that are built.

use clap::ValueEnum;
use measure::quantity::TimeSource;
use serde::{Deserialize, Serialize};

/// A backend that is built into the programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Built {
    /// NVIDIA.
    Cuda,
    /// Host memory.
    Host,
}

impl Built {
    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cuda => "cuda",
            Self::Host => "host",
        }
    }
}

/// A driver by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BackendArg {
    /// The first that answers.
    Auto,
    /// NVIDIA.
    Cuda,
    /// AMD.
    Hip,
    /// MetaX.
    Maca,
    /// This machine's memory, one worker a device.
    Host,
}

/// The clock behind a backend's events, in the record's terms.
#[must_use]
pub fn time_source(source: device::TimeSource) -> TimeSource {
    match source {
        device::TimeSource::DeviceEvent => TimeSource::DeviceEvent,
        device::TimeSource::HostMonotonic => TimeSource::HostMonotonic,
        device::TimeSource::VirtualClock => TimeSource::VirtualClock,
    }
}
