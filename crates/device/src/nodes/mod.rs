//! [`Nodes`]: whose NUMA nodes are meant when a node is named, those of this machine or those of a simulated machine.
//!
//! The kernel binds memory and moves threads; of a simulated machine's nodes it knows nothing, so there the simulated driver is told and asked.

mod ffi;

use std::ffi::c_void;
use std::ptr::NonNull;

pub(crate) use ffi::DriverNodes;
use numa::PolicyGuard;

use crate::error::{DeviceError, Result};

/// Who decides where host memory and threads are, and says it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Nodes {
    /// The kernel.
    Machine,
    /// The simulated driver, for its box.
    Driver(DriverNodes),
}

impl Nodes {
    /// Those of a library whose functions `address` finds by name: only simulated drivers have the functions for it.
    pub(crate) fn of(address: impl Fn(&[u8]) -> Option<*const c_void>) -> Self {
        DriverNodes::find(address).map_or(Self::Machine, Self::Driver)
    }

    /// Has a driver allocate on a node in this thread as long as the answer lives; for a simulated driver [`Nodes::place`] is called
    /// after it.
    pub(crate) fn policy(self, node: Option<u32>) -> Result<Option<PolicyGuard>> {
        match (self, node) {
            (Self::Machine, Some(node)) => Ok(Some(PolicyGuard::bind(node)?)),
            _ => Ok(None),
        }
    }

    /// Places memory of a simulated driver that is there; what the kernel gives it has placed already.
    pub(crate) fn place(self, start: NonNull<u8>, bytes: usize, node: Option<u32>) -> Result<()> {
        match (self, node) {
            (Self::Driver(driver), Some(node)) => driver.place(start, bytes, node),
            _ => Ok(()),
        }
    }

    /// The node of the whole range, or why that is not known.
    pub(crate) fn node_of(
        self,
        start: NonNull<u8>,
        bytes: usize,
    ) -> std::result::Result<u32, String> {
        match self {
            Self::Machine => by_kernel(start, bytes),
            Self::Driver(driver) => driver.node_of(start, bytes).ok_or_else(|| {
                "it was put on no node of the simulated machine; name one when it is allocated"
                    .to_owned()
            }),
        }
    }

    /// As [`crate::Device::run_on`].
    pub(crate) fn run_on(self, node: Option<u32>) -> Result<bool> {
        match self {
            Self::Machine => Ok(false),
            Self::Driver(driver) => match (driver.run_on(node), node) {
                (None, _) => Ok(true),
                (Some(errno), Some(node)) => Err(not_there(format!(
                    "the simulated machine has no node {node} with CPUs ({errno}); see topo --sim"
                ))),
                (Some(errno), None) => Err(not_there(format!(
                    "the simulated driver gave no answer: {errno}"
                ))),
            },
        }
    }
}

fn not_there(why: String) -> DeviceError {
    DeviceError::Argument {
        what: "the node of the thread",
        why,
    }
}

/// The node of all pages, by the call that the kernel answers.
fn by_kernel(start: NonNull<u8>, bytes: usize) -> std::result::Result<u32, String> {
    let placement =
        numa::placement(start.as_ptr() as usize, bytes).map_err(|error| error.to_string())?;
    placement.single_node().ok_or_else(|| {
        let (asked, per_node, unanswered) =
            (placement.asked, &placement.per_node, &placement.unanswered);
        let by = placement.by;
        format!("of {asked} pages {by} gave nodes {per_node:?} and errors {unanswered:?}")
    })
}
