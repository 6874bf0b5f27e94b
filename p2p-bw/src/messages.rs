//! What parent and children of this program say to each other, a JSON line each.
//!
//! The parent loads no vendor library; each child does one thing and may die or hang alone.

use std::collections::BTreeMap;
use std::path::PathBuf;

use inventory::Built;
use record::caveat::Caveat;
use record::plan::Plan;
use record::{Endpoint, Failure, LinkReading, MonitorValues, Outcome, Placement, StepOutcome};
use serde::{Deserialize, Serialize};

use crate::cases::{Case, Stream};

/// What the measuring worker is asked. It opens the backend of the first request, and no other.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WorkerRequest {
    pub(crate) backend: Built,
    pub(crate) ask: Ask,
}

/// What a worker does.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Ask {
    /// Measure copies.
    Job(Box<Job>),
    /// Load a device until the time is over, or until it is asked to leave.
    Load(LoadRequest),
    /// Probe whether one device, by its ordinal, reaches the other's memory.
    Probe(usize, usize),
}

/// Memory is loaded in whole pieces of so many bytes.
pub(crate) const LOAD_PIECE: u64 = 1 << 20;

/// How a device is loaded.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LoadRequest {
    pub(crate) ordinal: usize,
    /// Bytes of its memory; half of what is free where it is absent.
    pub(crate) bytes: Option<u64>,
    pub(crate) seconds: f64,
}

/// One measurement.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Job {
    /// Key of the case.
    pub(crate) case: String,
    /// Ends as ordinals of the backend; for two-way cases the first direction's.
    pub(crate) from: Endpoint,
    pub(crate) to: Endpoint,
    /// The chosen devices in the order of the record, by whose positions shares are named.
    pub(crate) all: Vec<Member>,
    pub(crate) bytes: u64,
    pub(crate) plan: Plan,
    /// CPUs that the issuing thread belongs to; empty where unknown or of no meaning.
    pub(crate) cpus: Vec<usize>,
    /// Node on which the issuing thread is wanted, and proven to be; `None` where that does not matter.
    pub(crate) thread_node: Option<u32>,
}

impl Job {
    /// What the case moves, by the backend's ordinals.
    pub(crate) fn streams(&self, case: &Case) -> Vec<Stream> {
        let all: Vec<usize> = self.all.iter().map(|member| member.ordinal).collect();
        case.streams(self.from, self.to, &all)
    }
}

/// A chosen device.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Member {
    /// Its number in the backend.
    pub(crate) ordinal: usize,
    /// Node of the host memory for copies with it; `None` where unknown or of no meaning.
    pub(crate) node: Option<u32>,
}

/// What the measuring worker answers.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum WorkerReply {
    /// Still at it: what is being done, also restarts the deadline.
    Doing(String),
    /// As many timed samples ended; none says that copies run now.
    Timing(usize),
    /// A step of a probe begins, or came to this.
    Step(ProbeStep, Option<StepOutcome>),
    /// It ended: one finding of a job, of a load those of memory and arithmetic, of a probe none. Else why the backend could not be
    /// opened, or the probe broke off.
    Ended(Result<Vec<Finding>, String>),
}

/// What a job, or one of its parts, came to.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Finding {
    /// What was measured; a worker does not know the link.
    pub(crate) outcome: Outcome,
    /// Where the issuing thread was, where the job wanted it on a node.
    pub(crate) thread: Option<Placement>,
    pub(crate) caveats: Vec<Caveat>,
    /// What speaks against trying its devices again.
    pub(crate) blame: Blame,
}

/// What speaks against devices after a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Blame {
    Nothing,
    /// A hang, a crash or a loss.
    Failure,
    /// Its process cannot be ended, so that the devices are given up at once.
    Unkillable,
}

impl Finding {
    /// An outcome of which there is no more to say.
    pub(crate) fn without_numbers(outcome: Outcome) -> Self {
        Self {
            outcome,
            thread: None,
            caveats: Vec::new(),
            blame: Blame::Nothing,
        }
    }

    /// A failure, a crash or a loss where it `is_lost`.
    pub(crate) fn failed(reason: Failure, is_lost: bool) -> Self {
        let blame = match is_lost {
            true => Blame::Failure,
            false => Blame::Nothing,
        };
        Self {
            blame,
            ..Self::without_numbers(Outcome::Failed { reason })
        }
    }
}

/// A step of a probe, in their order.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr, strum::EnumIter,
)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum ProbeStep {
    Open,
    Access,
    SmallCopiesWithoutAccess,
    Enable,
    Write,
    Read,
    LoadKernels,
    SmallCopies,
    Graph,
    KernelWrite,
    KernelRead,
    KernelGraph,
    Disable,
}

impl ProbeStep {
    /// Its name in the record.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }

    /// Whether it is of kernels: loading or running some.
    pub(crate) fn is_of_kernels(self) -> bool {
        self.name().contains("kernel")
    }
}

/// What the process that reads devices is asked; first `Watch`, then the others as often as wanted.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum MonitorRequest {
    /// Devices by PCI address, in the parent's order, under this sysfs root.
    Watch {
        backend: Built,
        sysfs: PathBuf,
        devices: Vec<Option<String>>,
    },
    /// Read something of one that has answered before.
    Read { device: usize, what: What },
}

/// What is read of a device.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) enum What {
    /// Its link at both ends.
    Link,
    /// All values.
    Values,
}

/// What was read of one device; answers of different devices come in any order.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SamplerReply {
    pub(crate) device: usize,
    pub(crate) answer: Answer,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// One reading of its link.
    Link(LinkReading),
    /// Its values, and why some are missing, by key.
    Values(Box<MonitorValues>, BTreeMap<String, String>),
}
