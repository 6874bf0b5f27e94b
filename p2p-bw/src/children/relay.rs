//! The staged path: device to pinned host memory on one stream, host memory to device on another, in a ring of buffers.
//!
//! This is what a collective library does between devices that cannot reach each other. A copy of `bytes` goes
//! in pieces of a sixteenth, at least 512 KiB and at most 8 MiB, through 4 buffers, so that both halves run at once.

use std::cell::Cell;

use device::{Device, HostBuffer, HostKind, Result, Stream};

/// Buffers in the ring.
const BUFFERS: usize = 4;

/// Bytes of one piece of a copy.
fn piece(bytes: usize) -> usize {
    (bytes / 16).clamp(512 << 10, 8 << 20).min(bytes)
}

/// Operations that one copy queues in the source's stream: each piece waits for its buffer, is copied, and is marked.
pub(super) fn operations(bytes: usize) -> u32 {
    let pieces = bytes.div_ceil(piece(bytes).max(1));
    u32::try_from(pieces).unwrap_or(u32::MAX).saturating_mul(3)
}

/// One buffer of the ring with the marks of when it was filled and emptied.
struct Slot<D: Device> {
    buffer: HostBuffer,
    filled: D::Event,
    emptied: D::Event,
}

/// The second half of the path and the ring between.
pub(super) struct Relay<D: Device> {
    /// The stream of the second half.
    pub(super) stream: D::Stream,
    slots: Vec<Slot<D>>,
    /// Node on which the ring is wanted.
    node: Option<u32>,
    /// Pieces queued so far; decides on the slot, also across copies.
    queued: Cell<usize>,
    done: D::Event,
}

impl<D: Device> Relay<D> {
    /// Makes the ring; `from` and `to` are the devices of the two halves.
    pub(super) fn new(
        from: &D,
        to: &D,
        bytes: usize,
        (kind, node): (HostKind, Option<u32>),
    ) -> Result<Self> {
        let slot = |_| -> Result<Slot<D>> {
            Ok(Slot {
                buffer: from.alloc_host(kind, piece(bytes), node)?,
                filled: from.event()?,
                emptied: to.event()?,
            })
        };
        Ok(Self {
            slots: (0..BUFFERS).map(slot).collect::<Result<_>>()?,
            stream: to.stream()?,
            node,
            queued: Cell::new(0),
            done: to.event()?,
        })
    }

    /// Queues one whole copy on both streams.
    pub(super) fn issue(
        &self,
        source: &D::Stream,
        to: &D::DeviceBuffer,
        from: &D::DeviceBuffer,
        bytes: usize,
    ) -> Result<()> {
        let piece = piece(bytes);
        for offset in (0..bytes).step_by(piece.max(1)) {
            let len = piece.min(bytes - offset);
            let index = self.queued.replace(self.queued.get() + 1);
            let slot = &self.slots[index % BUFFERS];
            if index >= BUFFERS {
                source.wait(&slot.emptied)?;
            }
            source.device_to_host((&slot.buffer, 0), (from, offset), len)?;
            source.record(&slot.filled)?;
            self.stream.wait(&slot.filled)?;
            self.stream
                .host_to_device((to, offset), (&slot.buffer, 0), len)?;
            self.stream.record(&slot.emptied)?;
        }
        Ok(())
    }

    /// Lets the source's stream wait until the second half is done.
    pub(super) fn join(&self, source: &D::Stream) -> Result<()> {
        self.stream.record(&self.done)?;
        source.wait(&self.done)
    }

    /// The ring's memory, with the node on which it is wanted.
    pub(super) fn buffers(&self) -> impl Iterator<Item = (Option<u32>, &HostBuffer)> {
        self.slots.iter().map(|slot| (self.node, &slot.buffer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_a_sixteenth_within_bounds() {
        assert_eq!(piece(64 << 20), 4 << 20);
        assert_eq!(piece(1 << 30), 8 << 20); // 64 MiB is cut to 8
        assert_eq!(piece(1 << 20), 512 << 10); // 64 KiB is raised to 512
        assert_eq!(piece(4096), 4096);
    }
}
