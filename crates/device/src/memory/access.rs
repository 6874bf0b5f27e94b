//! Who holds a buffer: any number of copies, or the host alone.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};

use crate::error::{DeviceError, Result};

/// The state of a buffer: the number of copies that hold it, or -1 while the host reads or writes it.
#[derive(Debug, Default)]
pub(crate) struct Access(AtomicIsize);

impl Access {
    /// Counts a copy in, unless the host holds the buffer.
    fn begin_copy(&self) -> Result<()> {
        self.0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |held| {
                (held >= 0).then_some(held + 1)
            })
            .map(drop)
            .map_err(|_| DeviceError::BufferInUse)
    }

    /// Runs `work` while no copy holds the buffer.
    pub(crate) fn exclusively<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        self.0
            .compare_exchange(0, -1, Ordering::AcqRel, Ordering::Acquire)
            .map_err(|_| DeviceError::BufferInUse)?;
        let release = Release(self);
        let result = work();
        drop(release);
        Ok(result)
    }
}

/// Gives the buffer back also when the work panics.
struct Release<'a>(&'a Access);

impl Drop for Release<'_> {
    fn drop(&mut self) {
        self.0.0.store(0, Ordering::Release);
    }
}

/// Memory, or whatever else queued work needs, whose use by that work is counted.
pub(crate) trait Held: Any + Send + Sync {
    /// Its counter.
    fn access(&self) -> &Access;

    /// Says whether new work may use it.
    fn check(&self) -> Result<()> {
        Ok(())
    }
}

/// A copy under way: keeps the memory alive and counted until it is dropped.
pub(crate) struct InFlight(Arc<dyn Held>);

impl InFlight {
    /// Counts a copy in.
    pub(crate) fn begin<M: Held>(memory: &Arc<M>) -> Result<Self> {
        memory.check()?;
        memory.access().begin_copy()?;
        Ok(Self(Arc::clone(memory) as Arc<dyn Held>))
    }

    /// Counts a copy in of what another one holds or held.
    pub(crate) fn again(held: &Arc<dyn Held>) -> Result<Self> {
        held.check()?;
        held.access().begin_copy()?;
        Ok(Self(Arc::clone(held)))
    }

    /// What it holds.
    pub(crate) fn held(&self) -> Arc<dyn Held> {
        Arc::clone(&self.0)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.access().0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Memory(Access);

    impl Held for Memory {
        fn access(&self) -> &Access {
            &self.0
        }
    }

    #[test]
    fn the_host_is_kept_out_until_every_copy_ended() {
        let memory = Arc::new(Memory(Access::default()));
        let (first, second) = (
            InFlight::begin(&memory).unwrap(),
            InFlight::begin(&memory).unwrap(),
        );
        drop(first);
        assert!(memory.0.exclusively(|| ()).is_err());
        drop(second);
        let inside = memory.0.exclusively(|| InFlight::begin(&memory).is_err());
        assert!(
            inside.unwrap(),
            "a copy began while the host held the buffer"
        );
        assert!(InFlight::begin(&memory).is_ok());
    }
}
