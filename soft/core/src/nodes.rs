//! The simulated driver's calls on NUMA nodes of the box: where host memory lies, and where threads run. A box's nodes are not
//! those of the machine that plays it, so a program tells the driver what it would else tell the kernel.

use crate::SoftDriver;
use crate::memory::{HostMemory, Place};
use crate::routes::HostSide;
use boxfile::cpulist;
use std::ffi::c_int;
use std::thread;

impl SoftDriver {
    /// Says on which of the box's nodes a range of host memory lies from now on, in place of what was said of it before; `None`
    /// forgets what was said of memory that begins at this address, as it is about to be somebody else's.
    ///
    /// Memory that was allocated here lies where the thread was put that allocated it. What was placed nowhere, and whose
    /// thread was put nowhere, is near to every device.
    ///
    /// # Errors
    /// As mbind(2): `EPERM` by an injected fault; `EINVAL` for no bytes, for a node that the box has not or that has no memory,
    /// and for a range that overlaps another one in part.
    pub fn place(&mut self, address: usize, bytes: usize, node: Option<u32>) -> Result<(), c_int> {
        let Some(node) = node else {
            self.memory.forget(address);
            return Ok(());
        };
        if self.faults.placing_is_refused(node) {
            return Err(libc::EPERM);
        }
        let nodes = &self.described.node;
        let is_there = nodes.iter().any(|own| own.id == node && own.memory_gib > 0);
        let placed = is_there && self.memory.put_on(address, bytes, node);
        if placed { Ok(()) } else { Err(libc::EINVAL) }
    }

    /// The node of a whole range of host memory; `None` where it was placed nowhere.
    #[must_use]
    pub fn node_of(&self, address: usize, bytes: usize) -> Option<u32> {
        self.memory.node_of(address, bytes)
    }

    /// Says on which of the box's nodes the calling thread runs from now on; `None` takes it back. Of a thread that was put
    /// nowhere, every device thinks that it is on the device's node.
    ///
    /// # Errors
    /// `EINVAL` for a node that the box has not or that has no CPUs.
    pub fn run_on(&mut self, node: Option<u32>) -> Result<(), c_int> {
        let this = thread::current().id();
        let Some(node) = node else {
            self.threads.remove(&this);
            return Ok(());
        };
        let mut own = self.described.node.iter().filter(|own| own.id == node);
        let cpus = own.find_map(|own| cpulist::parse(&own.cpus));
        cpus.filter(|cpus| !cpus.is_empty()).ok_or(libc::EINVAL)?;
        self.threads.insert(this, node);
        Ok(())
    }

    /// Where the calling thread was put.
    pub(crate) fn thread_node(&self) -> Option<u32> {
        // A thread that asks for its id has something to undo at its end, for which this library must still be loaded.
        if self.threads.is_empty() {
            return None;
        }
        self.threads.get(&thread::current().id()).copied()
    }

    /// The host's side of a copy that the calling thread makes; `None` where neither end is host memory.
    pub(crate) fn host_side(
        &self,
        ends: [Place; 2],
        bytes: usize,
        memory: Option<HostMemory>,
    ) -> Option<HostSide> {
        let address = ends.into_iter().find_map(|end| match end {
            Place::Host(address) => Some(address.get()),
            Place::Device(_) => None,
        })?;
        let thread = self.thread_node();
        Some(HostSide {
            memory: memory.unwrap_or_else(|| self.memory.host_kind(address, bytes)),
            node: self.memory.node_of(address, bytes).or(thread),
            thread,
            bytes,
        })
    }
}
