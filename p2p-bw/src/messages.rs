//! What parent and children of this program say to each other, a JSON line each.
//!
//! The parent loads no vendor library; each child does one thing and may die or hang alone.

use std::path::PathBuf;

use inventory::Built;
use measure::caveat::Caveat;
use measure::plan::{Plan, StopReason};
use measure::quantity::{Quantity, Timing};
use measure::record::{Endpoint, Placement, StepOutcome, Verification};
use serde::{Deserialize, Serialize};
use topology::PcieLink;

/// What the measuring worker is asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub(crate) enum WorkerRequest {
    /// Open a backend; first and once.
    Open { backend: Built },
    /// Measure.
    Job { job: Box<Job> },
}

/// One measurement.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) id: usize,
    /// Key of the case.
    pub(crate) case: String,
    /// Ends as ordinals of the backend; for two-way cases the first direction's.
    pub(crate) from: Endpoint,
    pub(crate) to: Endpoint,
    pub(crate) bytes: u64,
    pub(crate) plan: Plan,
    pub(crate) verify: bool,
    /// Where the issuing thread and the host memory belong.
    pub(crate) place: Place,
}

/// Where the issuing thread and the host memory of a job belong.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Place {
    /// Node of the host memory; `None` where unknown or of no meaning.
    pub(crate) node: Option<u32>,
    /// CPUs of that node; empty where unknown.
    pub(crate) cpus: Vec<usize>,
}

/// What the measuring worker answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(crate) enum WorkerReply {
    /// The backend is open.
    Ready,
    /// Still at it: what is being done, also restarts the deadline.
    Doing { job: usize, doing: String },
    /// A timed sample ended; the first says that copies run now.
    Timing { job: usize, samples: usize },
    /// The job ended.
    Done { job: usize, outcome: JobOutcome },
    /// The backend could not be opened.
    Unusable { reason: String },
}

/// How a job ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(crate) enum JobOutcome {
    Measured {
        /// Samples by name, in GB/s.
        series: Vec<(String, Vec<f64>)>,
        timing: Timing,
        stopped: StopReason,
        verification: Verification,
        placement: Option<Placement>,
        caveats: Vec<Caveat>,
    },
    Skipped {
        reason: String,
    },
    Failed {
        reason: String,
        /// The device is of no more use to this process.
        lost: bool,
    },
}

/// Asks for the probe of one ordered pair.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ProbeRequest {
    pub(crate) backend: Built,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// What a probe says as it goes.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(crate) enum ProbeReply {
    /// A step begins.
    Begin { step: String },
    /// A step ended.
    Step { step: String, outcome: StepOutcome },
    /// All steps that make sense were done.
    End { small: Option<SmallCopies> },
    /// The probe itself could not go on.
    Failed { reason: String },
}

/// Time of small copies with peer access on and off, in microseconds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SmallCopies {
    pub(crate) with: Quantity,
    pub(crate) without: Quantity,
}

/// What the monitor is asked; first `Watch`, then `Read` as often as wanted.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub(crate) enum MonitorRequest {
    /// Devices by PCI address, in the parent's order, under this sysfs root.
    Watch {
        backend: Built,
        sysfs: PathBuf,
        devices: Vec<Option<String>>,
    },
    /// Read the links of these now.
    Read { ticket: u64, devices: Vec<usize> },
}

/// One reading of the links.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct MonitorReply {
    pub(crate) ticket: u64,
    pub(crate) readings: Vec<(usize, MonitorReading)>,
}

/// The link of one device now.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct MonitorReading {
    pub(crate) device: Result<Option<PcieLink>, String>,
    pub(crate) slot: Result<PcieLink, String>,
    /// The link at the slot alone, without those above it.
    pub(crate) card: Option<PcieLink>,
    pub(crate) slot_maximum: Option<PcieLink>,
}
