//! The payload of `tplens numa`: how far host memory is from each device and from each node's CPUs.

use serde::{Deserialize, Serialize};
use topology::Machine;

use super::devices::{BackendFacts, LinkDevice};
use super::points::{NamedQuantity, Outcome, Placement, Verification};
use crate::caveat::Caveat;
use crate::failure::Failure;
use crate::quantity::Quantity;

/// The program in the header of such a record.
pub const NUMA_PROGRAM: &str = "p2p-bw numa";

/// What `tplens numa` found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Numa {
    /// The machine as the kernel describes it.
    pub machine: Option<Machine>,
    /// The driver that answered.
    pub backend: Option<BackendFacts>,
    /// The devices that were asked for, in the order of the command line.
    pub devices: Vec<LinkDevice>,
    /// Bytes of the copies that places are compared by; other sizes are there to tell sizes apart.
    pub copy_bytes: Option<u64>,
    /// Copies between host memory and a device, one entry for each kind, direction, place and size.
    pub points: Vec<NumaPoint>,
    /// Host memory as CPUs see it, one entry for each node of CPUs and node of memory.
    pub host: Vec<HostMemoryPoint>,
    /// The binding to use for these devices.
    pub binding: Option<NumaBinding>,
    /// Caveats about the whole record.
    pub caveats: Vec<Caveat>,
}

/// One addition to [`Numa`]: what a journal line carries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NumaEvent {
    /// Machine, driver and devices.
    Found {
        /// The machine.
        machine: Box<Machine>,
        /// The driver.
        backend: BackendFacts,
        /// The devices.
        devices: Vec<LinkDevice>,
        /// Bytes of the copies that places are compared by.
        copy_bytes: u64,
        /// The binding to use for them, where one can be known.
        binding: Option<NumaBinding>,
    },
    /// A measured or refused copy.
    Point {
        /// The point.
        point: Box<NumaPoint>,
    },
    /// Host memory as the CPUs of a node see it.
    Host {
        /// The point.
        point: Box<HostMemoryPoint>,
    },
    /// A caveat about the whole record.
    Caveat {
        /// The caveat.
        caveat: Caveat,
    },
}

impl Numa {
    /// Adds what an event says.
    pub fn apply(&mut self, event: NumaEvent) {
        match event {
            NumaEvent::Found {
                machine,
                backend,
                devices,
                copy_bytes,
                binding,
            } => {
                self.machine = Some(*machine);
                self.backend = Some(backend);
                self.devices = devices;
                self.copy_bytes = Some(copy_bytes);
                self.binding = binding;
            }
            NumaEvent::Point { point } => self.points.push(*point),
            NumaEvent::Host { point } => self.host.push(*point),
            NumaEvent::Caveat { caveat } => self.caveats.push(caveat),
        }
    }
}

/// One kind of host memory and direction between a device and a place of memory and thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NumaPoint {
    /// The case's key, such as `h2d_pinned_ce`, which says kind of memory and direction.
    pub case: String,
    /// Index of the device.
    pub device: usize,
    /// Node on which the memory was wanted; `None` where none was.
    pub memory_node: Option<u32>,
    /// Node on whose CPUs the issuing thread was wanted; `None` where none was.
    pub thread_node: Option<u32>,
    /// Bytes of one copy.
    pub bytes: u64,
    /// What came out, with where the memory was found.
    pub outcome: Outcome,
    /// Where the issuing thread was; absent where that was not looked at.
    pub thread: Option<Placement>,
    /// Caveats about it.
    pub caveats: Vec<Caveat>,
}

impl NumaPoint {
    /// A number of the point that stands for its place: data was not wrong, and memory and thread were proven where they were wanted.
    #[must_use]
    pub fn proven(&self, name: &str) -> Option<&Quantity> {
        self.is_proven().then(|| self.number(name)).flatten()
    }

    /// A number of the point by its name, wherever memory and thread were; `None` where data was wrong.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<&Quantity> {
        let Outcome::Measured {
            quantities,
            verification,
            ..
        } = &self.outcome
        else {
            return None;
        };
        let is_it = |named: &&NamedQuantity| named.name == name;
        let named = quantities.iter().find(is_it)?;
        (!matches!(verification, Verification::WrongData { .. })).then_some(&named.quantity)
    }

    /// Whether it was measured, and memory and thread were found on the nodes on which they were wanted.
    #[must_use]
    pub fn is_proven(&self) -> bool {
        let is_on = |wanted: Option<u32>, place: Option<&Placement>| {
            wanted.is_none() || place.is_some_and(|place| place.proven == wanted)
        };
        let Outcome::Measured {
            placement: memory, ..
        } = &self.outcome
        else {
            return false;
        };
        let memory = memory.as_ref();
        is_on(self.memory_node, memory) && is_on(self.thread_node, self.thread.as_ref())
    }
}

/// Host memory of one node as a thread on the CPUs of another, or of the same one, sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostMemoryPoint {
    /// Node of the CPUs; `None` on a kernel without NUMA.
    pub cpu_node: Option<u32>,
    /// Node of the memory.
    pub memory_node: Option<u32>,
    /// What came out.
    pub outcome: HostMemoryOutcome,
}

/// What came out of a [`HostMemoryPoint`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum HostMemoryOutcome {
    /// It was measured by one thread.
    Measured {
        /// `bandwidth`: a copy between two buffers of the node, payload counted once; `latency`: a load that depends on the one before.
        quantities: Vec<NamedQuantity>,
        /// Bytes of each buffer of the copy.
        copy_bytes: u64,
        /// Bytes of the chain of loads.
        chain_bytes: u64,
        /// Whether the chain lay in huge pages; without, each load can also wait for the page table.
        huge_pages: bool,
        /// Where the memory was found.
        placement: Placement,
        /// Where the thread was found.
        thread: Placement,
    },
    /// Memory or thread could not be put there, or it failed otherwise.
    Failed {
        /// Why, with the kernel's words.
        reason: Failure,
    },
}

/// The nodes to which a program that uses some devices is best bound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumaBinding {
    /// Nodes of the CPUs.
    pub cpu_nodes: Vec<u32>,
    /// Nodes of the memory.
    pub memory_nodes: Vec<u32>,
    /// The same as arguments of `numactl`.
    pub numactl: String,
    /// What it rests on.
    pub basis: String,
}
