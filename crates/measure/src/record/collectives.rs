//! The payload of `allreduce-bench`: the library, the plan whose sizes were asked for, and one point for each call, size and mode.

use serde::{Deserialize, Serialize};
use topology::Machine;

use super::devices::{BackendFacts, LinkDevice};
use super::links::PairPath;
use super::points::Verification;
use crate::caveat::Caveat;
use crate::quantity::Quantity;

/// What `allreduce-bench` found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Collectives {
    /// The machine as the kernel describes it.
    pub machine: Option<Machine>,
    /// The driver that answered.
    pub backend: Option<BackendFacts>,
    /// The library that did the collectives.
    pub library: Option<LibraryFacts>,
    /// One device for each rank, in rank order.
    pub devices: Vec<LinkDevice>,
    /// The path class of every pair of them.
    pub paths: Vec<PairPath>,
    /// The engine steps whose sizes were asked for; empty where sizes were given by hand.
    pub steps: Vec<PlannedStep>,
    /// One entry for each call, size and mode.
    pub points: Vec<CollectivePoint>,
    /// Reservations about the whole record.
    pub caveats: Vec<Caveat>,
}

/// One addition to [`Collectives`]: what a journal line carries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CollectivesEvent {
    /// Machine, driver, library, devices and their paths.
    Found {
        /// The machine.
        machine: Box<Machine>,
        /// The driver.
        backend: BackendFacts,
        /// The collective library.
        library: LibraryFacts,
        /// The devices, one a rank.
        devices: Vec<LinkDevice>,
        /// Their paths.
        paths: Vec<PairPath>,
        /// The steps whose sizes are measured.
        steps: Vec<PlannedStep>,
    },
    /// A measured or refused point.
    Point {
        /// The point.
        point: Box<CollectivePoint>,
    },
    /// A reservation about the whole record.
    Caveat {
        /// The reservation.
        caveat: Caveat,
    },
}

impl Collectives {
    /// Adds what an event says.
    pub fn apply(&mut self, event: CollectivesEvent) {
        match event {
            CollectivesEvent::Found {
                machine,
                backend,
                library,
                devices,
                paths,
                steps,
            } => {
                self.machine = Some(*machine);
                self.backend = Some(backend);
                self.library = Some(library);
                self.devices = devices;
                self.paths = paths;
                self.steps = steps;
            }
            CollectivesEvent::Point { point } => self.points.push(*point),
            CollectivesEvent::Caveat { caveat } => self.caveats.push(caveat),
        }
    }
}

/// A collective library as it describes itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LibraryFacts {
    /// `nccl`, `rccl`, `mccl`, or `host` for this project's own over shared host memory.
    pub name: String,
    /// Its version, such as `2.29.2`.
    pub version: Option<String>,
    /// The file that was loaded, where it is known.
    pub file: Option<String>,
    /// The transport that the library said it chose; `None` where it did not say.
    pub transport: Option<String>,
}

/// A collective operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CollectiveKind {
    /// Every rank ends with the sum over all ranks.
    AllReduce,
    /// Every rank ends with what each rank had, one after the other.
    AllGather,
}

impl std::fmt::Display for CollectiveKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::AllReduce => "all_reduce",
            Self::AllGather => "all_gather",
        })
    }
}

/// The type of the elements that are reduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ElementType {
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary16.
    F16,
    /// bfloat16.
    Bf16,
}

impl ElementType {
    /// Bytes of one element.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }
}

impl std::fmt::Display for ElementType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
        })
    }
}

/// How calls follow each other; times of different modes are different numbers and are never merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallMode {
    /// Barrier, one call, wait: wall clock of the host, launch included.
    HostSynced,
    /// Many calls queued one after another between two events: mean of a call.
    BackToBack,
    /// Many calls in one captured graph, replayed: mean of a call without launch cost.
    Graph,
}

impl std::fmt::Display for CallMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::HostSynced => "host_synced",
            Self::BackToBack => "back_to_back",
            Self::Graph => "graph",
        })
    }
}

/// One call at one size in one mode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CollectivePoint {
    /// The operation.
    pub kind: CollectiveKind,
    /// The type of the elements.
    pub element: ElementType,
    /// All-reduce: bytes of each rank's message. All-gather: bytes that each rank contributes.
    pub bytes_per_rank: u64,
    /// Number of ranks.
    pub ranks: u32,
    /// How calls followed each other.
    pub mode: CallMode,
    /// What came out.
    pub outcome: CollectiveOutcome,
    /// Reservations about it.
    pub caveats: Vec<Caveat>,
}

/// What came out of a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum CollectiveOutcome {
    /// It was measured.
    Measured {
        /// Time of one call in microseconds; a sample is the slowest rank's mean over the calls of one batch.
        time: Box<Quantity>,
        /// Whether the result was compared with the exact sum, outside the timed region.
        verification: Verification,
    },
    /// It does not apply here.
    NotApplicable {
        /// Why.
        reason: String,
    },
    /// It was not tried.
    Skipped {
        /// Why.
        reason: String,
    },
    /// It was tried and failed.
    Failed {
        /// Why, with the library's words.
        reason: String,
    },
    /// It did not end within its deadline; its processes were ended.
    Hang {
        /// What was under way.
        doing: String,
    },
}

impl CollectivePoint {
    /// Bytes that `algbw` counts: the message for an all-reduce, the gathered whole for an all-gather.
    #[must_use]
    pub fn algorithm_bytes(&self) -> u64 {
        match self.kind {
            CollectiveKind::AllReduce => self.bytes_per_rank,
            CollectiveKind::AllGather => self.bytes_per_rank.saturating_mul(u64::from(self.ranks)),
        }
    }

    /// Algorithm bandwidth in GB/s: bytes over time.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "messages are far below 2^53 bytes"
    )]
    pub fn algorithm_gb_per_s(&self, time_us: f64) -> f64 {
        self.algorithm_bytes() as f64 / (time_us * 1e3)
    }

    /// Bus bandwidth in GB/s as nccl-tests defines it: algbw times 2(n-1)/n for all-reduce, (n-1)/n for all-gather.
    #[must_use]
    pub fn bus_gb_per_s(&self, time_us: f64) -> f64 {
        self.algorithm_gb_per_s(time_us) * Self::bus_factor(self.kind, self.ranks)
    }

    /// Bus over algorithm bandwidth, from the operation and the number of ranks alone.
    #[must_use]
    pub fn bus_factor(kind: CollectiveKind, ranks: u32) -> f64 {
        let n = f64::from(ranks);
        match kind {
            CollectiveKind::AllReduce => 2.0 * (n - 1.0) / n,
            CollectiveKind::AllGather => (n - 1.0) / n,
        }
    }
}

/// One engine step and the collectives that it issues, as `tp-plan` worked them out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedStep {
    /// The model.
    pub model: String,
    /// The engine with its version and mode, in words.
    pub engine: String,
    /// Tensor parallel size.
    pub tp: u32,
    /// Sequences that decode in this step.
    pub batch: u32,
    /// The batch after padding to a captured graph's size.
    pub padded_batch: u32,
    /// Prompt tokens in the step's prefill chunk; `None` for a step of decoding only.
    pub prefill_tokens: Option<u32>,
    /// The collectives, in the order of the step.
    pub collectives: Vec<PlannedCollective>,
}

/// Collectives of one kind, size and path within a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedCollective {
    /// The operation.
    pub kind: CollectiveKind,
    /// What it is for, such as `attention output`.
    pub role: String,
    /// How often the step issues it.
    pub count: u32,
    /// As [`CollectivePoint::bytes_per_rank`].
    pub bytes_per_rank: u64,
    /// Who does it.
    pub path: CollectivePath,
    /// The rule that decided the path.
    pub rule: String,
}

/// Who does a collective inside an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CollectivePath {
    /// The vendor's library: NCCL, RCCL, MCCL.
    Library,
    /// The engine's own one-shot kernel over peer memory.
    Custom,
}

impl std::fmt::Display for CollectivePath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Library => "library",
            Self::Custom => "custom",
        })
    }
}
