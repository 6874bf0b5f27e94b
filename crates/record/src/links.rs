//! The payload of `tplens p2p`: devices, links, peer verdicts, and one point for each case, pair and size.

use serde::{Deserialize, Serialize};
use topology::{FabricState, Machine, PathType};

use super::devices::{BackendFacts, LinkDevice, LinkReading};
use super::peers::PeerProbe;
use super::points::Point;
use crate::caveat::Caveat;

/// What `tplens p2p` found.
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
    /// Caveats about the whole record.
    pub caveats: Vec<Caveat>,
    /// The NVLinks of the devices that have some, when the run began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nvlinks: Vec<NvlinkReading>,
}

/// The NVLinks of a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvlinkReading {
    /// The device's label.
    pub device: String,
    /// Links that are up.
    pub active: usize,
    /// Links that there are.
    pub links: usize,
    /// Failed checks, packets that were sent again and recoveries since the driver was loaded; `None` where it counts none of these.
    pub errors: Option<u64>,
    /// How the fabric of NVSwitches stands, where the library reports one.
    pub fabric: Option<FabricState>,
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
    /// A caveat about the whole record.
    Caveat {
        /// The caveat.
        caveat: Caveat,
    },
    /// The NVLinks of a device.
    Nvlink {
        /// The reading.
        reading: NvlinkReading,
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
            LinksEvent::Nvlink { reading } => self.nvlinks.push(reading),
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
