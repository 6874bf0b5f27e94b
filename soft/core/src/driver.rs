//! The soft driver's state and its calls on devices, contexts, memory and peers. Copies are in `transfers`, streams and
//! events in `streams`, graphs in `graphs`. Handles and pointers of C callers are the soft libraries' matter.

use crate::faults::FaultBook;
use crate::graphs::{Capture, Node};
use crate::memory::{HostAddress, Memory};
use crate::noise::NoiseSource;
use crate::routes::Routes;
use crate::transfers::{Patience, Transfer};
use crate::{Code, Failure, Ordinal, Outcome, Simulation, Step};
use boxfile::{AllocSite, BoxFile, Link, sysfs};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

/// One process's driver for one box. Methods take ordinals as the driver counts devices.
///
/// Every method that can fail reports [`Code::NOT_INITIALIZED`] before [`SoftDriver::init`], [`Code::INVALID_DEVICE`] for an
/// ordinal that is none, [`Code::LAUNCH_FAILED`] once the device is lost, [`Failure::Hang`] where a real call would never
/// return, and [`Failure::Blocked`] where it returns when another process has done its part.
pub struct SoftDriver {
    pub(crate) described: BoxFile,
    pub(crate) ordinals: Vec<Ordinal>,
    pub(crate) routes: Routes,
    pub(crate) sim: Simulation,
    pub(crate) memory: Memory,
    pub(crate) noise: NoiseSource,
    pub(crate) faults: FaultBook,
    pub(crate) enabled: BTreeSet<(usize, usize)>,
    /// Streams with their ordinal.
    pub(crate) streams: BTreeMap<u64, usize>,
    /// The null stream of each ordinal.
    pub(crate) null_streams: Vec<u64>,
    /// Events with their ordinal and whether they keep time.
    pub(crate) events: BTreeMap<u64, (usize, bool)>,
    pub(crate) pending: BTreeMap<u64, Transfer>,
    /// Operations that have ended and whose bytes were not moved yet, in the order of their ends.
    pub(crate) unmoved: VecDeque<u64>,
    /// Captures under way, by stream.
    pub(crate) captures: BTreeMap<u64, Capture>,
    pub(crate) graphs: BTreeMap<u64, Arc<[Node]>>,
    /// Executable graphs with their ordinal.
    pub(crate) executables: BTreeMap<u64, (usize, Arc<[Node]>)>,
    /// The event behind the last work of each chain of another library.
    pub(crate) chains: BTreeMap<u64, u64>,
    sysfs: Option<PathBuf>,
    initialized: bool,
    lost: Vec<bool>,
    slot_links: Vec<Option<Link>>,
    retained: Vec<u32>,
    used: Vec<u64>,
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
            lost: vec![false; described.device.len()],
            slot_links: (0..described.device.len())
                .map(|device| described.slot_link(device))
                .collect(),
            retained: vec![0; seen.len()],
            used: vec![0; seen.len()],
            memory: Memory::default(),
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
        if self.lost[physical] {
            Err(Code::LAUNCH_FAILED.into())
        } else {
            Ok(())
        }
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

    /// Free and total memory of a device in bytes.
    ///
    /// # Errors
    /// As the type says.
    pub fn memory_bytes(&self, ordinal: usize) -> Outcome<(u64, u64)> {
        self.usable(ordinal)?;
        let device = self.device(ordinal)?;
        let free = device
            .memory_bytes
            .saturating_sub(device.busy_bytes)
            .saturating_sub(self.used[ordinal]);
        Ok((free, device.memory_bytes))
    }

    /// Allocates device memory, zeroed; its address is a real one that other parts of the process must not touch.
    ///
    /// # Errors
    /// [`Code::INVALID_VALUE`] for 0 bytes, [`Code::OUT_OF_MEMORY`] beyond the box's memory or by an injected fault.
    pub fn allocate(&mut self, ordinal: usize, bytes: usize) -> Outcome<u64> {
        let (free, _) = self.memory_bytes(ordinal)?;
        if bytes == 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        if self.faults.allocation_fails(AllocSite::Device) || bytes as u64 > free {
            return Err(Code::OUT_OF_MEMORY.into());
        }
        let address = self
            .memory
            .allocate_device(ordinal, bytes)
            .ok_or(Code::OUT_OF_MEMORY)?;
        self.used[ordinal] += bytes as u64;
        Ok(address)
    }

    /// Frees device memory after running everything that is pending.
    ///
    /// # Errors
    /// [`Code::INVALID_VALUE`] where the address is not one of an allocation.
    pub fn free(&mut self, address: u64) -> Outcome<()> {
        self.devices()?;
        let owner = self
            .memory
            .ordinal_of(address, 0)
            .ok_or(Code::INVALID_VALUE)?;
        self.usable(owner)?;
        self.drain()?;
        let (ordinal, bytes) = self
            .memory
            .free_device(address)
            .ok_or(Code::INVALID_VALUE)?;
        self.used[ordinal] -= bytes as u64;
        Ok(())
    }

    /// Allocates pinned host memory, present and zeroed.
    ///
    /// # Errors
    /// [`Code::INVALID_VALUE`] for 0 bytes, [`Code::OUT_OF_MEMORY`].
    pub fn allocate_host(&mut self, ordinal: usize, bytes: usize) -> Outcome<usize> {
        self.usable(ordinal)?;
        if bytes == 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        if self.faults.allocation_fails(AllocSite::Host) {
            return Err(Code::OUT_OF_MEMORY.into());
        }
        Ok(self
            .memory
            .allocate_pinned(bytes)
            .ok_or(Code::OUT_OF_MEMORY)?)
    }

    /// Frees pinned host memory after running everything that is pending.
    ///
    /// # Errors
    /// [`Code::INVALID_VALUE`] where the address is not one of an allocation.
    pub fn free_host(&mut self, address: usize) -> Outcome<()> {
        self.devices()?;
        self.drain()?;
        if self.memory.free_pinned(address) {
            Ok(())
        } else {
            Err(Code::INVALID_VALUE.into())
        }
    }

    /// Makes a range of the caller's memory count as pinned.
    ///
    /// # Errors
    /// [`Code::INVALID_VALUE`] for 0 bytes, [`Code::HOST_MEMORY_ALREADY_REGISTERED`].
    pub fn register_host(
        &mut self,
        ordinal: usize,
        address: HostAddress,
        bytes: usize,
    ) -> Outcome<()> {
        self.usable(ordinal)?;
        if bytes == 0 || address.get().checked_add(bytes).is_none() {
            return Err(Code::INVALID_VALUE.into());
        }
        let new = self.memory.register(address, bytes);
        if new {
            Ok(())
        } else {
            Err(Code::HOST_MEMORY_ALREADY_REGISTERED.into())
        }
    }

    /// Ends what [`SoftDriver::register_host`] began, after running everything that is pending.
    ///
    /// # Errors
    /// [`Code::HOST_MEMORY_NOT_REGISTERED`].
    pub fn unregister_host(&mut self, address: usize) -> Outcome<()> {
        self.devices()?;
        self.drain()?;
        if self.memory.unregister(address) {
            Ok(())
        } else {
            Err(Code::HOST_MEMORY_NOT_REGISTERED.into())
        }
    }

    /// Whether `accessor` can be given access to `peer`.
    ///
    /// # Errors
    /// [`Code::INVALID_DEVICE`].
    pub fn can_access_peer(&self, accessor: usize, peer: usize) -> Outcome<bool> {
        let (a, b) = (self.device(accessor)?.physical, self.device(peer)?.physical);
        Ok(a != b && self.described.peer_path(a, b).access && !self.faults.is_denied(a, b))
    }

    /// Lets `accessor` access the memory of `peer`.
    ///
    /// # Errors
    /// [`Code::PEER_ACCESS_UNSUPPORTED`], [`Code::PEER_ACCESS_ALREADY_ENABLED`].
    pub fn enable_peer(&mut self, accessor: usize, peer: usize) -> Outcome<()> {
        self.usable(accessor)?;
        self.usable(peer)?;
        if self.faults.enabling_hangs(
            self.ordinals[accessor].physical,
            self.ordinals[peer].physical,
        ) {
            return Err(Failure::Hang);
        }
        if accessor == peer {
            return Err(Code::INVALID_DEVICE.into());
        }
        if !self.can_access_peer(accessor, peer)? {
            return Err(Code::PEER_ACCESS_UNSUPPORTED.into());
        }
        let new = self.enabled.insert((accessor, peer));
        if new {
            Ok(())
        } else {
            Err(Code::PEER_ACCESS_ALREADY_ENABLED.into())
        }
    }

    /// Takes back what [`SoftDriver::enable_peer`] gave; copies under way keep their route.
    ///
    /// # Errors
    /// [`Code::PEER_ACCESS_NOT_ENABLED`].
    pub fn disable_peer(&mut self, accessor: usize, peer: usize) -> Outcome<()> {
        self.usable(accessor)?;
        self.usable(peer)?;
        if self.enabled.remove(&(accessor, peer)) {
            Ok(())
        } else {
            Err(Code::PEER_ACCESS_NOT_ENABLED.into())
        }
    }

    /// Marks a device as lost for the rest of the process.
    pub(crate) fn lose(&mut self, physical: usize) {
        self.lost[physical] = true;
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
            if self.sim.step() == Step::Stuck {
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
