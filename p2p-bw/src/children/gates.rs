//! Spin gates: a kernel in front of each lane that looks at a flag of the host until everything is queued.
//!
//! Drivers take a limited number of operations on a stream that does not go on, and then block the thread that issues them; one
//! that waits for a stream itself would wait for the gate. So few operations stand behind a gate, and it has a time-out.

use std::rc::Rc;

use device::{Backend, Device, Result, Stream};
use kernels::{Gate, Kernels};

use super::bench::Bench;

/// Operations behind a gate at most, in one stream: NVIDIA's driver takes 1024 before it blocks.
const MOST_OPERATIONS: u32 = 256;

/// Nanoseconds after which a kernel stops waiting: queueing takes a few milliseconds.
const TIMEOUT_NS: u64 = 2_000_000_000;

/// The gates of lanes, one each.
pub(super) struct Gates<D: Device> {
    gates: Vec<(Rc<Kernels<D>>, Gate)>,
    /// Copies of a lane that may stand behind its gate.
    pub(super) most_copies: u32,
    timeout_ns: u64,
}

impl<D: Device> Gates<D> {
    /// Gates for lanes that these devices issue, whose copies take so many operations each; none where one copy alone takes too
    /// many, or a device has no kernels: copies need none, and the numbers say that nothing held them.
    ///
    /// # Errors
    /// The device is lost, or out of memory.
    pub(super) fn of<B: Backend<Device = D>>(
        bench: &mut Bench<B>,
        issuers: &[usize],
        operations: u32,
        bytes: usize,
    ) -> Result<Option<Self>> {
        let mut gates = Self {
            gates: Vec::new(),
            most_copies: MOST_OPERATIONS / operations.max(1),
            // A copy may take a driver that stages it as long as this, a byte a nanosecond.
            timeout_ns: TIMEOUT_NS.saturating_add(bytes as u64),
        };
        if gates.most_copies == 0 {
            return Ok(None);
        }
        let mut streams = Vec::new();
        for issuer in issuers {
            let kernels = match bench.kernels(*issuer) {
                Ok(kernels) => kernels,
                Err(error) if error.is_lost() => return Err(error),
                Err(_) => return Ok(None),
            };
            let gate = kernels.gate()?;
            gates.gates.push((kernels, gate));
            streams.push(bench.device(*issuer)?.stream()?);
        }
        // No launch behind a closed gate is the first.
        gates.open();
        gates.hold(streams.iter())?;
        streams.iter().try_for_each(Stream::synchronize)?;
        Ok(Some(gates))
    }

    /// Holds the streams of the lanes.
    pub(super) fn hold<'s>(&self, streams: impl Iterator<Item = &'s D::Stream>) -> Result<()>
    where
        D::Stream: 's,
    {
        for ((kernels, gate), stream) in self.gates.iter().zip(streams) {
            kernels.hold(stream, gate, self.timeout_ns)?;
        }
        Ok(())
    }

    /// Closes the gates; no stream may be held by one.
    pub(super) fn close(&self) {
        self.gates.iter().for_each(|(_, gate)| gate.close());
    }

    /// Opens the gates.
    pub(super) fn open(&self) {
        self.gates.iter().for_each(|(_, gate)| gate.open());
    }

    /// Whether a stream that was waited for had given up waiting.
    pub(super) fn timed_out(&self) -> bool {
        self.gates.iter().any(|(_, gate)| gate.timed_out())
    }
}
