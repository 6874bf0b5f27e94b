//! The simulated driver's state, and its calls on devices and contexts. Memory is in `allocations`, access in `peers`, copies in
//! `transfers`, nodes in `nodes`, kernels in `kernels`, streams and events in `streams`, graphs in `graphs`. Handles and pointers of C callers
//! are the simulated libraries' matter.

use crate::faults::FaultBook;
use crate::memory::Memory;
use crate::noise::NoiseSource;
use crate::routes::Routes;
use crate::work::{Capture, Node, Patience, Transfer};
use crate::{Code, Failure, Ordinal, Outcome, Simulation, Step};
use boxfile::{BoxFile, Link, sysfs};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::ThreadId;

/// One process's driver for one box. Methods take ordinals as the driver counts devices.
///
/// Every method that can fail reports [`Code::NOT_INITIALIZED`] before [`SoftDriver::init`], [`Code::INVALID_DEVICE`] for an
/// ordinal that is none, the code with which the device was lost once it is, [`Failure::Hang`] where a real call would never
/// return, and [`Failure::Blocked`] where it returns when another process has done its part.
pub struct SoftDriver {
    pub(crate) described: BoxFile,
    pub(crate) ordinals: Vec<Ordinal>,
    pub(crate) routes: Routes,
    pub(crate) sim: Simulation,
    pub(crate) memory: Memory,
    pub(crate) noise: NoiseSource,
    pub(crate) faults: FaultBook,
    /// The nodes of threads that were put on one.
    pub(crate) threads: HashMap<ThreadId, u32>,
    pub(crate) enabled: BTreeSet<(usize, usize)>,
    /// Streams with their ordinal.
    pub(crate) streams: BTreeMap<u64, usize>,
    /// The null stream of each ordinal.
    pub(crate) null_streams: Vec<u64>,
    /// Events with their ordinal and whether they keep time.
    pub(crate) events: BTreeMap<u64, (usize, bool)>,
    /// What is to happen to bytes when operations end, by operation.
    pub(crate) pending: BTreeMap<u64, Transfer>,
    /// Operations that have ended and whose bytes were not moved yet, in the order of their ends.
    pub(crate) unmoved: VecDeque<u64>,
    /// Captures under way, by stream.
    pub(crate) captures: BTreeMap<u64, Capture>,
    pub(crate) graphs: BTreeMap<u64, Arc<[Node]>>,
    /// Executable graphs with their ordinal.
    pub(crate) executables: BTreeMap<u64, (usize, Arc<[Node]>)>,
    /// The last work of each chain of another library: its stream and its operation.
    pub(crate) chains: BTreeMap<u64, (u64, u64)>,
    sysfs: Option<PathBuf>,
    initialized: bool,
    /// By device, the code with which it was lost.
    lost: Vec<Option<Code>>,
    slot_links: Vec<Option<Link>>,
    retained: Vec<u32>,
    pub(crate) used: Vec<u64>,
}

impl SoftDriver {
    /// Makes a driver for a checked box; `seen` comes from [`crate::ordinals`], `sysfs` is the tree to keep up to date.
    #[must_use]
    pub fn new(described: BoxFile, seen: Vec<Ordinal>, sysfs: Option<PathBuf>) -> Self {
        let routes = Routes::new(&described);
        let engines: Vec<u32> = seen
            .iter()
            .map(|ordinal| described.device[ordinal.physical].copy_engines)
            .collect();
        let mut sim = Simulation::new(&engines, routes.capacities());
        let null_streams: Vec<u64> = (0..seen.len())
            .map(|ordinal| sim.open_stream(ordinal))
            .collect();
        Self {
            noise: NoiseSource::new(described.noise.as_ref()),
            faults: FaultBook::new(&described.fault),
            streams: null_streams.iter().copied().zip(0..).collect(),
            lost: vec![None; described.device.len()],
            slot_links: (0..described.device.len())
                .map(|device| described.slot_link(device))
                .collect(),
            retained: vec![0; seen.len()],
            used: vec![0; seen.len()],
            memory: Memory::default(),
            threads: HashMap::new(),
            enabled: BTreeSet::new(),
            events: BTreeMap::new(),
            pending: BTreeMap::new(),
            unmoved: VecDeque::new(),
            captures: BTreeMap::new(),
            graphs: BTreeMap::new(),
            executables: BTreeMap::new(),
            chains: BTreeMap::new(),
            initialized: false,
            ordinals: seen,
            null_streams,
            described,
            routes,
            sysfs,
            sim,
        }
    }

    /// The box.
    #[must_use]
    pub fn described(&self) -> &BoxFile {
        &self.described
    }

    /// The virtual time in nanoseconds.
    #[must_use]
    pub fn now_ns(&self) -> f64 {
        self.sim.now()
    }

    /// Initialises the driver.
    ///
    /// # Errors
    /// What an injected fault says; [`Code::NO_DEVICE`] where no device is seen.
    pub fn init(&mut self) -> Outcome<()> {
        if self.faults.init_hangs() {
            return Err(Failure::Hang);
        }
        if let Some(code) = self.faults.init_code() {
            return Err(Code(code).into());
        }
        if self.ordinals.is_empty() {
            return Err(Code::NO_DEVICE.into());
        }
        self.initialized = true;
        Ok(())
    }

    /// The devices seen.
    ///
    /// # Errors
    /// [`Code::NOT_INITIALIZED`].
    pub fn devices(&self) -> Outcome<&[Ordinal]> {
        if self.initialized {
            Ok(&self.ordinals)
        } else {
            Err(Code::NOT_INITIALIZED.into())
        }
    }

    /// One device, lost or not: what was known of it stays known.
    ///
    /// # Errors
    /// [`Code::INVALID_DEVICE`].
    pub fn device(&self, ordinal: usize) -> Outcome<&Ordinal> {
        self.devices()?
            .get(ordinal)
            .ok_or(Code::INVALID_DEVICE.into())
    }

    /// Refuses a device that is none or lost.
    pub(crate) fn usable(&self, ordinal: usize) -> Outcome<()> {
        let physical = self.device(ordinal)?.physical;
        self.lost[physical].map_or(Ok(()), |code| Err(code.into()))
    }

    /// Opens the device's context; a device that idles at a slower link leaves it.
    ///
    /// # Errors
    /// As the type says.
    pub fn retain(&mut self, ordinal: usize) -> Outcome<()> {
        self.usable(ordinal)?;
        self.retained[ordinal] += 1;
        if self.retained[ordinal] == 1 {
            self.show_link(ordinal, true);
        }
        Ok(())
    }

    /// Closes the device's context once; the last time runs what is pending, takes back its peer access and lets the link
    /// idle. Memory stays until it is freed.
    ///
    /// # Errors
    /// [`Code::INVALID_CONTEXT`] where it is not open.
    pub fn release(&mut self, ordinal: usize) -> Outcome<()> {
        self.device(ordinal)?;
        if self.retained[ordinal] == 0 {
            return Err(Code::INVALID_CONTEXT.into());
        }
        if self.retained[ordinal] == 1 {
            self.drain()?;
            self.enabled.retain(|(accessor, _)| *accessor != ordinal);
            self.show_link(ordinal, false);
        }
        self.retained[ordinal] -= 1;
        Ok(())
    }

    /// Whether the device's context is open.
    #[must_use]
    pub fn is_retained(&self, ordinal: usize) -> bool {
        self.retained.get(ordinal).is_some_and(|count| *count > 0)
    }

    /// Marks a device as lost for the rest of the process: every later call on it reports this code.
    pub(crate) fn lose(&mut self, physical: usize, code: Code) {
        self.lost[physical].get_or_insert(code);
    }

    /// Lowers a slot link, in the model and in the tree.
    pub(crate) fn retrain(&mut self, physical: usize, link: Link) {
        for (segment, gbps) in self.routes.retrained(physical, link) {
            self.sim.set_capacity(segment, gbps);
        }
        self.slot_links[physical] = Some(link);
        if let Some(root) = &self.sysfs {
            // The tree is a display; a file that cannot be written does not change what the driver does.
            let _ = sysfs::set_slot_link(&self.described, root, physical, link);
        }
    }

    /// Shows in the tree that a device does not answer any more.
    pub(crate) fn show_off_the_bus(&self, physical: usize) {
        if let Some(root) = &self.sysfs {
            // As in `retrain`.
            let _ = sysfs::take_off_the_bus(root, &self.described.device[physical].address);
        }
    }

    fn show_link(&self, ordinal: usize, open: bool) {
        let physical = self.ordinals[ordinal].physical;
        let idle = self.described.device[physical].idle_link;
        let link = if open {
            self.slot_links[physical]
        } else {
            idle
        };
        if let (Some(root), Some(_), Some(link)) = (&self.sysfs, idle, link) {
            // As in `retrain`.
            let _ = sysfs::set_slot_link(&self.described, root, physical, link);
        }
    }

    /// Lets the clock run until `done` holds, moving the bytes of what ends on the way.
    ///
    /// A caller must not have changed anything before: what is [`Failure::Blocked`] is called again.
    pub(crate) fn run_until(&mut self, done: impl Fn(&Simulation) -> bool) -> Outcome<()> {
        loop {
            self.move_ended(Patience::Short);
            if !self.unmoved.is_empty() {
                return Err(Failure::Blocked);
            }
            if done(&self.sim) {
                return Ok(());
            }
            if self.step() == Step::Stuck {
                return Err(Failure::Hang);
            }
        }
    }

    /// Runs everything that is pending, on every device.
    pub(crate) fn drain(&mut self) -> Outcome<()> {
        let streams: Vec<u64> = self.streams.keys().copied().collect();
        self.run_until(|sim| streams.iter().all(|stream| sim.is_idle(*stream)))
    }
}
