//! The types of a rank's library, and what it captures.

use device::collectives::Collectives;
use device::{Backend, Device, Stream};

pub(super) type DeviceOf<C> = <<C as Collectives>::Backend as Backend>::Device;
pub(super) type StreamOf<C> = <DeviceOf<C> as Device>::Stream;
pub(super) type BufferOf<C> = <DeviceOf<C> as Device>::DeviceBuffer;
pub(super) type GraphOf<C> = <StreamOf<C> as Stream>::Graph;
pub(super) type EventOf<C> = <DeviceOf<C> as Device>::Event;

/// Takes what begins now; each call restarts the parent's deadline.
pub(super) type Say<'a> = &'a mut dyn FnMut(&str);

/// What follows each other between two marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Series {
    Calls,
    /// The work between calls alone.
    Gaps,
    /// A gap before each call.
    GapsAndCalls,
}

/// A series that was captured.
pub(super) struct Captured<C: Collectives> {
    pub(super) series: Series,
    pub(super) calls: u32,
    pub(super) graph: GraphOf<C>,
}
