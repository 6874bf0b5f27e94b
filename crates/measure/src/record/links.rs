//! The payload of `p2p-bw`: devices, links, peer verdicts, and one point for each case, pair and size.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use topology::{Machine, PathType};

use super::devices::{BackendFacts, LinkDevice, LinkReading};
use crate::caveat::Caveat;
use crate::quantity::Quantity;

/// What `p2p-bw` found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Links {
    /// The machine as the kernel describes it.
    pub machine: Option<Machine>,
    /// The driver that answered.
    pub backend: Option<BackendFacts>,
    /// The devices that were asked for, in the order of the command line.
    pub devices: Vec<LinkDevice>,
    /// The path class of every pair of them.
    pub paths: Vec<PairPath>,
    /// Pairs whose probe began and has no verdict: what was under way when a run broke.
    pub pending: Vec<(usize, usize)>,
    /// Verdicts on peer access, one per ordered pair.
    pub probes: Vec<PeerProbe>,
    /// One entry for each case, endpoints and size.
    pub points: Vec<Point>,
    /// Reservations about the whole record.
    pub caveats: Vec<Caveat>,
}

/// One addition to [`Links`]: what a journal line carries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinksEvent {
    /// Machine, driver, devices and their paths.
    Found {
        /// The machine.
        machine: Box<Machine>,
        /// The driver.
        backend: BackendFacts,
        /// The devices.
        devices: Vec<LinkDevice>,
        /// Their paths.
        paths: Vec<PairPath>,
    },
    /// A peer probe is about to begin: if the host dies, this says on which pair.
    Intent {
        /// Device that accesses.
        from: usize,
        /// Device whose memory is accessed.
        to: usize,
    },
    /// A verdict on a pair.
    Probe {
        /// The verdict.
        probe: PeerProbe,
    },
    /// A measured or refused point.
    Point {
        /// The point.
        point: Box<Point>,
    },
    /// A device's link as it was read under load; replaces what was read before.
    Reading {
        /// Index into the devices.
        device: usize,
        /// The reading.
        reading: LinkReading,
    },
    /// A reservation about the whole record.
    Caveat {
        /// The reservation.
        caveat: Caveat,
    },
}

impl Links {
    /// Adds what an event says.
    pub fn apply(&mut self, event: LinksEvent) {
        match event {
            LinksEvent::Found {
                machine,
                backend,
                devices,
                paths,
            } => {
                self.machine = Some(*machine);
                self.backend = Some(backend);
                self.devices = devices;
                self.paths = paths;
            }
            LinksEvent::Intent { from, to } => self.pending.push((from, to)),
            LinksEvent::Probe { probe } => {
                self.pending.retain(|pair| *pair != (probe.from, probe.to));
                self.probes.push(probe);
            }
            LinksEvent::Point { point } => self.points.push(*point),
            LinksEvent::Reading { device, reading } => {
                if let Some(device) = self.devices.get_mut(device) {
                    device.loaded = Some(reading);
                }
            }
            LinksEvent::Caveat { caveat } => self.caveats.push(caveat),
        }
    }

    /// The path class between two devices.
    #[must_use]
    pub fn path(&self, a: usize, b: usize) -> PathType {
        let same = |pair: &&PairPath| (pair.a, pair.b) == (a, b) || (pair.a, pair.b) == (b, a);
        self.paths
            .iter()
            .find(same)
            .map_or(PathType::Unknown, |pair| pair.path)
    }
}

/// The path class of one unordered pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairPath {
    /// Index of one device.
    pub a: usize,
    /// Index of the other.
    pub b: usize,
    /// Class as `nvidia-smi topo -m` names it.
    pub path: PathType,
}

/// What a peer path turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeerVerdict {
    /// The devices reach each other's memory, and the data is right.
    Direct,
    /// Access is reported, but copies behave as if they went through host memory.
    Staged,
    /// The driver refuses access.
    Denied,
    /// A copy reported success and the owner found other data.
    WrongData,
    /// A step did not end within its deadline.
    Hang,
    /// The machine went down during an earlier probe of this pair; it was not tried again.
    HostLost,
    /// Not tried, for the reason given.
    NotTried,
    /// The probe itself failed, for the reason given.
    Failed,
}

impl std::fmt::Display for PeerVerdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Direct => "direct",
            Self::Staged => "staged",
            Self::Denied => "denied",
            Self::WrongData => "wrong-data",
            Self::Hang => "hang",
            Self::HostLost => "host_lost",
            Self::NotTried => "not tried",
            Self::Failed => "failed",
        })
    }
}

/// The probe of one ordered pair: `from` accesses memory of `to`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PeerProbe {
    /// Index of the accessing device.
    pub from: usize,
    /// Index of the device whose memory is accessed.
    pub to: usize,
    /// The verdict.
    pub verdict: PeerVerdict,
    /// In words, what it rests on.
    pub rests_on: String,
    /// The steps in order.
    pub steps: Vec<PeerStep>,
}

/// One step of a probe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PeerStep {
    /// Its name: `access`, `enable`, `write`, `read`, `small_copies`.
    pub name: String,
    /// What came out.
    pub outcome: StepOutcome,
}

/// What a step of a probe gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum StepOutcome {
    /// It passed; the text says what was seen.
    Passed {
        /// What.
        seen: String,
    },
    /// It failed or was refused.
    Refused {
        /// Why.
        reason: String,
    },
    /// Data was wrong.
    WrongData {
        /// First wrong byte and what was there.
        seen: String,
    },
    /// A time per copy.
    Timed {
        /// The time in microseconds.
        quantity: Box<Quantity>,
    },
}

/// An end of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Endpoint {
    /// Host memory.
    Host,
    /// Index of a device.
    Device(usize),
}

/// One case on one pair of ends at one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The case's key, such as `h2d_pinned_ce`.
    pub case: String,
    /// Where the data comes from; for a bidirectional case the first direction's source.
    pub from: Endpoint,
    /// Where it goes.
    pub to: Endpoint,
    /// Bytes of one copy.
    pub bytes: u64,
    /// What came out.
    pub outcome: Outcome,
    /// Reservations about it.
    pub caveats: Vec<Caveat>,
}

/// What came out of a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Outcome {
    /// It was measured.
    Measured {
        /// The numbers: `bandwidth`, or `forward`, `back` and `total`.
        quantities: Vec<NamedQuantity>,
        /// Whether the data was checked.
        verification: Verification,
        /// The link it went over.
        link: LinkUse,
        /// Where the host memory was, for cases that use some.
        placement: Option<Placement>,
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
        /// Why, with the driver's words.
        reason: String,
    },
    /// It did not end within its deadline; its process was ended.
    Hang {
        /// What was under way.
        doing: String,
    },
}

/// A quantity with its role in a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedQuantity {
    /// `bandwidth`, `forward`, `back` or `total`.
    pub name: String,
    /// The number.
    pub quantity: Quantity,
}

/// Whether delivered data was compared with what was sent, outside the timed region.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Verification {
    /// Every byte was compared and equal.
    Passed,
    /// The bytes differ: the number stands for nothing.
    WrongData {
        /// First difference.
        seen: String,
    },
    /// Switched off on the command line.
    NotAsked,
}

/// The link a point went over and what it can carry.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkUse {
    /// Path class between the ends, for device pairs.
    pub path: Option<PathType>,
    /// Payload ceiling in GB/s, one direction.
    pub ceiling_gb_per_s: Option<f64>,
    /// Value over ceiling, by the quantity's name.
    pub fraction: BTreeMap<String, f64>,
    /// What the ceiling is, or why there is none.
    pub basis: String,
}

/// Where host memory was wanted and where it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// Node that was asked for; `None` where none was.
    pub wanted: Option<u32>,
    /// Node that holds every page asked about; `None` where not proven.
    pub proven: Option<u32>,
    /// How it was proven, or why not.
    pub basis: String,
}
