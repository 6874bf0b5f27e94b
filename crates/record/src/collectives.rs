//! The payload of `tplens allreduce`: the library, the plan whose sizes were asked for, and one point for each call, size and mode.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use topology::Machine;

use super::chosen::{EngineRunFacts, LauncherFacts, LibraryFacts, TransportFacts};
use super::devices::{BackendFacts, LinkDevice};
use super::links::PairPath;
use super::operations::{CallMode, CollectiveKind, ElementType};
use super::planned::PlannedStep;
use super::points::Verification;
use crate::caveat::Caveat;
use crate::failure::Failure;
use crate::quantity::Quantity;

/// What `tplens allreduce` found.
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
    /// What the library said that it chose, from a run of its own that was not timed.
    #[serde(default)]
    pub transports: Vec<TransportFacts>,
    /// The engine whose own all-reduce was timed, where one was.
    pub engine: Option<EngineRunFacts>,
    /// Who started the ranks, where it was not this program.
    pub launcher: Option<LauncherFacts>,
    /// Caveats about the whole record.
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
    /// What a logged run said.
    Transport {
        /// What it said.
        facts: Box<TransportFacts>,
    },
    /// The engine whose all-reduce is timed.
    Engine {
        /// What it said of itself.
        facts: EngineRunFacts,
    },
    /// Who started the ranks.
    Launcher {
        /// What its variables say.
        facts: LauncherFacts,
    },
    /// A caveat about the whole record.
    Caveat {
        /// The caveat.
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
            CollectivesEvent::Transport { facts } => self.transports.push(*facts),
            CollectivesEvent::Engine { facts } => self.engine = Some(facts),
            CollectivesEvent::Launcher { facts } => self.launcher = Some(facts),
            CollectivesEvent::Caveat { caveat } => self.caveats.push(caveat),
        }
    }
}

/// One call at one size in one mode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct CollectivePoint {
    /// The operation.
    pub kind: CollectiveKind,
    /// The type of the elements.
    pub element: ElementType,
    /// All-reduce, broadcast and sendrecv: bytes of each rank's message. All-gather: bytes that each rank contributes.
    /// Reduce-scatter: bytes that each rank receives.
    pub bytes_per_rank: u64,
    /// Number of ranks.
    pub ranks: u32,
    /// How calls followed each other.
    pub mode: CallMode,
    /// The engine's own code that did it, such as `vllm 0.13.0 CustomAllreduce`; `None` for the record's library.
    pub engine: Option<String>,
    /// What came out.
    pub outcome: CollectiveOutcome,
    /// Caveats about it.
    pub caveats: Vec<Caveat>,
}

impl Serialize for CollectivePoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for CollectivePoint {
    /// Refuses a point of one of the series that older versions told apart by keys which are gone: as a plain one it would be taken for
    /// another call.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let point = Value::deserialize(deserializer)?;
        let plain = json!({"arm": null, "launch": 0, "placement": "out_of_place", "cache": "hot"});
        for (key, plain) in plain.as_object().into_iter().flatten() {
            if let Some(other) = point.get(key).filter(|value| *value != plain) {
                return Err(D::Error::custom(format!(
                    "it has a point with {key} {other}, which this version does not tell apart; read it with the tplens that wrote it"
                )));
            }
        }
        Self::deserialize(point).map_err(D::Error::custom)
    }
}

/// What came out of a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum CollectiveOutcome {
    /// It was measured.
    Measured {
        /// Time of one call in microseconds; a sample is the slowest rank's mean over the calls of one batch. Interleaved it is that of
        /// calls and the work between them less that of the work alone, and a single one may be negative.
        time: Box<Quantity>,
        /// Whether the result was compared with the exact sum, outside the timed region.
        verification: Verification,
        /// Interleaved only: the time of the work between two calls, alone, in microseconds. It was subtracted.
        gap: Option<Box<Quantity>>,
    },
    /// It does not apply here.
    NotApplicable {
        /// Why.
        reason: Failure,
    },
    /// It was not tried.
    Skipped {
        /// Why.
        reason: Failure,
    },
    /// It was tried and failed.
    Failed {
        /// Why, with the library's words.
        reason: Failure,
    },
    /// It did not end within its deadline; its processes were ended.
    Hang {
        /// What was under way.
        doing: String,
    },
}

impl CollectivePoint {
    /// Bytes that `algbw` counts, which nccl-tests calls the size: the message, or the whole that the ranks' parts make.
    #[must_use]
    pub fn algorithm_bytes(&self) -> u64 {
        self.bytes_per_rank
            .saturating_mul(u64::from(self.kind.parts(self.ranks)))
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

    /// Bus bandwidth in GB/s as nccl-tests defines it: algbw times 2(n-1)/n for all-reduce, (n-1)/n for all-gather and
    /// reduce-scatter, 1 for the others.
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
            CollectiveKind::AllGather | CollectiveKind::ReduceScatter => (n - 1.0) / n,
            CollectiveKind::Broadcast | CollectiveKind::SendRecv => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_an_older_version_load_unless_they_are_of_one_of_several_series() {
        let point = CollectivePoint {
            kind: CollectiveKind::AllReduce,
            element: ElementType::Bf16,
            bytes_per_rank: 4096,
            ranks: 2,
            mode: CallMode::Graph,
            engine: None,
            outcome: CollectiveOutcome::Hang {
                doing: "joining".to_owned(),
            },
            caveats: Vec::new(),
        };
        let with = |key: &str, value: Value| {
            let mut json = json!(point);
            json["placement"] = "out_of_place".into();
            json["launch"] = 0.into();
            json[key] = value;
            serde_json::from_value::<CollectivePoint>(json)
        };
        assert_eq!(with("arm", Value::Null).unwrap(), point);
        for (key, value) in [
            ("arm", json!("no-numa")),
            ("launch", json!(1)),
            ("placement", json!("in_place")),
            ("cache", json!("rotate")),
        ] {
            let error = with(key, value).unwrap_err().to_string();
            assert!(error.contains(key), "{error}");
        }
    }
}
