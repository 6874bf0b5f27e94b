//! The simulated driver's calls on NUMA nodes of the box: where host memory lies, and where threads run. A box's nodes are not
//! those of the machine that plays it, so a program tells the driver what it would else tell the kernel.

use crate::memory::{HostMemory, Place};
use crate::routes::HostSide;
use crate::{SoftDriver, described, with_driver};
use boxfile::cpulist;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

/// No node: what the exports have for `None`.
const NOWHERE: c_int = -1;

impl SoftDriver {
    /// Says on which of the box's nodes a range of host memory lies from now on, in place of what was said of it before.
    ///
    /// Memory that was allocated here lies where the thread was put that allocated it. What was placed nowhere, and whose
    /// thread was put nowhere, is near to every device.
    ///
    /// # Errors
    /// As mbind(2): `EPERM` by an injected fault; `EINVAL` for no bytes, for a node that the box has not or that has no memory,
    /// and for a range that overlaps another one in part.
    pub fn place(&mut self, address: usize, bytes: usize, node: u32) -> Result<(), c_int> {
        if self.faults.placing_is_refused(node) {
            return Err(libc::EPERM);
        }
        let nodes = &self.described.node;
        let is_there = nodes.iter().any(|own| own.id == node && own.memory_gib > 0);
        let placed = is_there && self.memory.put_on(address, bytes, node);
        if placed { Ok(()) } else { Err(libc::EINVAL) }
    }

    /// Forgets what was said of host memory that begins at this address: it is about to be somebody else's.
    pub fn forget(&mut self, address: usize) {
        self.memory.forget(address);
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
        let nodes = &self.described.node;
        let has_cpus = |list: &str| cpulist::parse(list).is_some_and(|cpus| !cpus.is_empty());
        if !nodes
            .iter()
            .any(|own| own.id == node && has_cpus(&own.cpus))
        {
            return Err(libc::EINVAL);
        }
        self.threads.insert(this, node);
        Ok(())
    }

    /// Where the calling thread was put.
    pub(crate) fn thread_node(&self) -> Option<u32> {
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

/// What `tplens_soft_place` answers: [`SoftDriver::place`] on the process's driver, or [`SoftDriver::forget`] for node -1. 0, or
/// an error number of the kernel.
#[must_use]
pub fn place_host(address: usize, bytes: usize, node: c_int) -> c_int {
    told(|driver| match u32::try_from(node) {
        Ok(node) => driver.place(address, bytes, node),
        Err(_) if node == NOWHERE => {
            driver.forget(address);
            Ok(())
        }
        Err(_) => Err(libc::EINVAL),
    })
}

/// What `tplens_soft_run_on` answers, as [`place_host`]: [`SoftDriver::run_on`], -1 being nowhere.
#[must_use]
pub fn run_thread_on(node: c_int) -> c_int {
    told(|driver| match u32::try_from(node) {
        Ok(node) => driver.run_on(Some(node)),
        Err(_) if node == NOWHERE => driver.run_on(None),
        Err(_) => Err(libc::EINVAL),
    })
}

/// What `tplens_soft_node_of` answers: [`SoftDriver::node_of`], -1 being nowhere.
#[must_use]
pub fn node_of_host(address: usize, bytes: usize) -> c_int {
    let node = on_described(|driver| driver.node_of(address, bytes)).flatten();
    node.and_then(|node| c_int::try_from(node).ok())
        .unwrap_or(NOWHERE)
}

fn told(call: impl Fn(&mut SoftDriver) -> Result<(), c_int>) -> c_int {
    match on_described(call) {
        Some(Ok(())) => 0,
        Some(Err(errno)) => errno,
        None => libc::ENODEV,
    }
}

/// Calls the driver of the process's box; `None` where there is none, and where the call panicked: a C caller must not see that.
fn on_described<T>(call: impl Fn(&mut SoftDriver) -> T) -> Option<T> {
    let vendor = described().ok()?.vendor;
    let called = || with_driver(vendor, |driver| Ok(call(driver))).ok();
    catch_unwind(AssertUnwindSafe(called)).ok().flatten()
}

/// Exports the functions by which a program says on which nodes of the box its host memory and threads are; a simulated driver calls
/// it once. No vendor has such symbols.
///
/// - `int tplens_soft_place(void *start, size_t bytes, int node)`: the range lies on that node; -1: nothing is to be known of it
///   any more. 0, or an error number as mbind(2)'s.
/// - `int tplens_soft_node_of(void *start, size_t bytes)`: the node of the whole range; -1 where that was not said.
/// - `int tplens_soft_run_on(int node)`: the calling thread runs on that node; -1: on that of each device. 0, or an error number.
#[macro_export]
macro_rules! nodes {
    () => {
        const _: () = {
            use ::std::ffi::{c_int, c_void};

            #[unsafe(no_mangle)]
            extern "C" fn tplens_soft_place(
                start: *mut c_void,
                bytes: usize,
                node: c_int,
            ) -> c_int {
                $crate::place_host(start as usize, bytes, node)
            }

            #[unsafe(no_mangle)]
            extern "C" fn tplens_soft_node_of(start: *mut c_void, bytes: usize) -> c_int {
                $crate::node_of_host(start as usize, bytes)
            }

            #[unsafe(no_mangle)]
            extern "C" fn tplens_soft_run_on(node: c_int) -> c_int {
                $crate::run_thread_on(node)
            }
        };
    };
}
