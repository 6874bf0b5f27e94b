//! [`SharedMemory`] and its communicators: joining, and turning calls into work of a stream.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::super::{Device, DeviceBuffer, Host, Stream};
use super::ffi::{Mapping, Part, reserve};
use super::members::Members;
use super::membership::Membership;
use super::operation::Operation;
use super::patience::ProgressDeadline;
use super::segment::{self, MAGIC, MAX_RANKS, ROOM, Segment};
use crate::collectives::{
    self, Collectives, CollectivesFacts, Communicator, Element, Lengths, UniqueId, check_aliasing,
    check_membership,
};
use crate::error::{DeviceError, Result};

/// Collectives of the host backend: ranks are processes (or threads) that share memory.
///
/// Sums are made in f32, in rank order, and rounded once to the element's type, on every rank with the same bits. Messages
/// go by way of slots that all map.
///
/// Waiting takes a CPU; where there are fewer than ranks it is given away. A rank that ended, left or aborted is noticed within a
/// fraction of a second by those that wait for it, and named.
pub struct SharedMemory {
    facts: CollectivesFacts,
    /// Memory of the ids that were made here and whose ranks have not all joined.
    made: Mutex<Vec<Segment>>,
}

impl Collectives for SharedMemory {
    type Backend = Host;
    type Communicator = HostCommunicator;

    fn open(file: Option<&Path>) -> Result<Self> {
        if let Some(file) = file {
            return Err(DeviceError::Argument {
                what: "the collective library",
                why: format!("the host backend loads none, and not {}", file.display()),
            });
        }
        Ok(Self {
            facts: CollectivesFacts {
                name: "host".to_owned(),
                ..CollectivesFacts::default()
            },
            made: Mutex::default(),
        })
    }

    fn facts(&self) -> &CollectivesFacts {
        &self.facts
    }

    /// All of them.
    fn unique_id(&self) -> Result<UniqueId> {
        let segment = Segment::create()?;
        let id = segment.id().clone();
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.push(segment);
        Ok(id)
    }

    /// Gives up where a rank ended after it came, or did not come for 60 s.
    fn join(
        &self,
        device: &Device,
        id: &UniqueId,
        ranks: u32,
        rank: u32,
    ) -> Result<HostCommunicator> {
        check_membership(ranks, rank)?;
        if ranks > MAX_RANKS {
            return Err(DeviceError::Argument {
                what: "the number of ranks",
                why: format!("the host backend takes {MAX_RANKS} at most, and not {ranks}"),
            });
        }
        let file = segment::open(id)?;
        let mapping = Mapping::new(&file, segment::length(ranks))
            .map_err(|error| segment::failed("mapping shared memory", error))?;
        let rows = Members {
            mapping: &mapping,
            ranks,
        };
        if rows.magic() != MAGIC {
            return Err(DeviceError::Argument {
                what: "the unique id",
                why: "its memory was not made by this version of the program".to_owned(),
            });
        }
        let has_own_cpu = numa::allowed_cpus()?.len() >= ranks as usize;
        rows.enter(rank)?;
        // From here on the row is given back when the membership is dropped.
        let membership = Membership {
            mapping,
            ranks,
            rank,
            has_own_cpu,
            step: Mutex::new(0),
            broken: OnceLock::new(),
        };
        {
            // The slots of a rank lie on its device's node where the system has room and allows to ask for it.
            let prefer = |node| numa::PolicyGuard::set(&numa::MemoryPolicy::Preferred(node)).ok();
            let _near = device.node.and_then(prefer);
            reserve(&file, segment::room(rank), ROOM)
                .map_err(|error| segment::failed("taking room in shared memory", error))?;
        }
        let members = membership.members();
        members.joined(rank);
        await_members(&members)?;
        // Every rank has it open: where the id was made here, it is used up.
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.retain(|segment| segment.id() != id);
        drop(made);
        Ok(HostCommunicator(Arc::new(membership)))
    }
}

/// Waits until all ranks have joined.
fn await_members(members: &Members<'_>) -> Result<()> {
    let mut patience = ProgressDeadline::new(false);
    for rank in 0..members.ranks {
        while !members.has_joined(rank) {
            let reason = patience
                .wait()
                .and_then(|waited| members.will_not_join(rank, waited))
                .filter(|_| !members.has_joined(rank));
            if let Some(reason) = reason {
                return Err(DeviceError::RankGone { rank, reason });
            }
        }
    }
    Ok(())
}

/// One rank of a communicator over shared memory.
///
/// Its calls are done by the stream's worker, in the order of the stream. What goes wrong there is reported by
/// [`Communicator::async_error`] and by the stream when it is waited for. A stream that waits for a rank which lives and
/// does not call waits with it; [`Communicator::abort`] ends that.
pub struct HostCommunicator(pub(super) Arc<Membership>);

impl Communicator for HostCommunicator {
    type Stream = Stream;
    type DeviceBuffer = DeviceBuffer;

    fn queue(
        &self,
        kind: collectives::Operation,
        to: (&DeviceBuffer, usize),
        from: (&DeviceBuffer, usize),
        elements: usize,
        element: Element,
        stream: &Stream,
    ) -> Result<()> {
        self.0.check()?;
        let (ranks, rank) = (self.0.ranks, self.0.rank);
        let lengths = Lengths::of(kind, elements, element, ranks, [to.1, from.1])?;
        let (target, source) = (&to.0.0.memory, &from.0.0.memory);
        if Arc::ptr_eq(target, source) {
            check_aliasing(kind, lengths, rank, to.1, from.1)?;
        }
        let operation = Operation {
            to: Part::new(target, to.1, lengths.to)?,
            from: Part::new(source, from.1, lengths.from)?,
            membership: Arc::clone(&self.0),
            kind,
            element,
        };
        if elements == 0 {
            return Ok(());
        }
        stream.collective(operation)
    }

    fn async_error(&self) -> Result<()> {
        self.0.check()
    }

    fn abort(self) {
        self.0.abort();
    }
}
