//! [`SharedMemory`] and its communicators: joining, and turning calls into work of a stream.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::super::{Device, DeviceBuffer, Host, Stream};
use super::ffi::Part;
use super::member::Member;
use super::operation::Operation;
use super::segment::{self, MAX_RANKS, Segment};
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
        let id = segment.id.clone();
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.push(segment);
        Ok(id)
    }

    /// Gives up where a rank ended after it came, or did not come for 60 s.
    fn join(
        &self,
        _device: &Device,
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
        let member = Member::join(segment::map(id)?, ranks, rank)?;
        // Every rank has it open: where the id was made here, it is used up.
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.retain(|segment| segment.id != *id);
        drop(made);
        Ok(HostCommunicator(Arc::new(member)))
    }
}

/// One rank of a communicator over shared memory.
///
/// Its calls are done by the stream's worker, in the order of the stream. What goes wrong there is reported by
/// [`Communicator::async_error`] and by the stream when it is waited for. A stream that waits for a rank which lives and
/// does not call waits with it; [`Communicator::abort`] ends that.
pub struct HostCommunicator(pub(super) Arc<Member>);

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
            member: Arc::clone(&self.0),
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
