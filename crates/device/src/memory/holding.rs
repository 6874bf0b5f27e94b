//! What the queued work of a stream holds, and for how long: until the stream was waited for, or as long as a graph lives.
//!
//! It counts and keeps; what is queued, captured or waited for is the backend's to call.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Held, InFlight};
use crate::error::{DeviceError, Result};

/// What the work of one stream holds.
///
/// Invariant: what work that may have been queued needs is in `in_flight` until the stream was waited for, and what captured
/// work needs in `captured` until the capture ends.
#[derive(Default)]
pub(crate) struct Holding {
    in_flight: Mutex<Vec<InFlight>>,
    /// There is a list while the stream captures.
    captured: Mutex<Option<Vec<InFlight>>>,
}

impl Holding {
    fn in_flight(&self) -> MutexGuard<'_, Vec<InFlight>> {
        self.in_flight
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn captured(&self) -> MutexGuard<'_, Option<Vec<InFlight>>> {
        self.captured.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what work needs that was queued, or captured while a capture is under way.
    pub(crate) fn keep(&self, held: impl IntoIterator<Item = InFlight>) {
        match self.captured().as_mut() {
            Some(captured) => captured.extend(held),
            None => self.in_flight().extend(held),
        }
    }

    /// From here on work is captured; an error where it is already.
    pub(crate) fn begin_capture(&self) -> Result<()> {
        let mut captured = self.captured();
        if captured.is_some() {
            return Err(DeviceError::Unsupported {
                what: "a capture within a capture",
                why: "the stream is being captured".to_owned(),
            });
        }
        *captured = Some(Vec::new());
        Ok(())
    }

    /// The end of that, with what the captured work needs.
    pub(crate) fn end_capture(&self) -> Needs {
        Needs::of(self.captured().take().unwrap_or_default())
    }

    /// Whether work is captured.
    pub(crate) fn is_capturing(&self) -> bool {
        self.captured().is_some()
    }

    /// Refuses what would let work of another stream into a capture, whose graph would not hold that work's buffers.
    pub(crate) fn refuse_in_capture(&self, what: &'static str) -> Result<()> {
        if !self.is_capturing() {
            return Ok(());
        }
        Err(DeviceError::Unsupported {
            what,
            why: "the stream is being captured; do it before or after".to_owned(),
        })
    }

    /// Whether work is queued that was not waited for.
    pub(crate) fn is_busy(&self) -> bool {
        !self.in_flight().is_empty()
    }

    /// Lets go of it all: the stream was waited for.
    pub(crate) fn let_go(&self) {
        self.in_flight().clear();
    }

    /// Keeps it for ever: the stream could not be waited for, and its device may still use it.
    pub(crate) fn leak(&self) {
        mem::forget(mem::take(&mut *self.in_flight()));
    }
}

/// What the work of a graph needs, each thing once; it is kept alive by this value.
pub(crate) struct Needs(Vec<Arc<dyn Held>>);

impl Needs {
    fn of(held: Vec<InFlight>) -> Self {
        let mut needs: Vec<_> = held.iter().map(InFlight::held).collect();
        needs.sort_unstable_by_key(address);
        needs.dedup_by_key(|held| address(held));
        Self(needs)
    }

    /// Counts it all in for one launch.
    pub(crate) fn again(&self) -> Result<Vec<InFlight>> {
        self.0.iter().map(InFlight::again).collect()
    }
}

/// Where a value lies, as a number to compare.
fn address(held: &Arc<dyn Held>) -> usize {
    Arc::as_ptr(held).cast::<()>() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::HostBuffer;
    use crate::memory::HostKind;

    fn buffer() -> HostBuffer {
        HostBuffer::from_pages(HostKind::Pageable, 64, None).unwrap()
    }

    fn is_free(buffer: &HostBuffer) -> bool {
        buffer.with_bytes(|_| ()).is_ok()
    }

    #[test]
    fn queued_work_holds_until_the_stream_was_waited_for() {
        let (holding, buffer) = (Holding::default(), buffer());
        holding.keep([InFlight::begin(&buffer.memory).unwrap()]);
        assert!(holding.is_busy() && !is_free(&buffer));
        holding.let_go();
        assert!(!holding.is_busy() && is_free(&buffer));
    }

    #[test]
    fn a_graph_needs_each_thing_once_and_holds_it_only_while_launched() {
        let (holding, buffer) = (Holding::default(), buffer());
        holding.begin_capture().unwrap();
        assert!(holding.begin_capture().is_err(), "within a capture");
        assert!(holding.refuse_in_capture("an event").is_err());
        for _ in 0..2 {
            holding.keep([InFlight::begin(&buffer.memory).unwrap()]);
        }
        let needs = holding.end_capture();
        assert!(!holding.is_capturing() && !holding.is_busy());
        assert!(is_free(&buffer), "captured work moves nothing");
        let launched = needs.again().unwrap();
        // Two copies of one buffer need it once.
        assert_eq!(launched.len(), 1);
        assert!(!is_free(&buffer));
        drop(launched);
        assert!(is_free(&buffer));
    }
}
