//! The spin gate: a kernel in front of each lane that looks at a flag of the host until everything is queued.
//!
//! Drivers take a limited number of operations on a stream that does not go on, and then block the thread that issues them; one
//! that waits for a stream itself would wait for the gate. So few operations stand behind a gate, and it has a time-out.

use std::cell::Cell;
use std::rc::Rc;

use device::{Device, DeviceError, Result};
use kernels::{Gate, Kernels};

use super::bench::{Bench, Say};

/// Operations behind a gate at most, in one stream: NVIDIA's driver takes 1024 before it blocks.
const MOST_OPERATIONS: u32 = 256;

/// Nanoseconds after which a kernel stops waiting: queueing takes a few milliseconds.
const TIMEOUT_NS: u64 = 2_000_000_000;

/// The gates of the lanes of a job.
pub(super) struct Spin<D: Device> {
    /// One a lane; empty where there are none.
    gates: Vec<(Rc<Kernels<D>>, Gate)>,
    /// Copies that may stand behind them.
    most_copies: u32,
    timeout_ns: u64,
    gave_up: Cell<bool>,
}

impl<D: Device> Spin<D> {
    /// No gates.
    pub(super) fn none() -> Self {
        Self {
            gates: Vec::new(),
            most_copies: 0,
            timeout_ns: 0,
            gave_up: Cell::new(false),
        }
    }

    /// Gates for lanes that these devices issue, whose copies take so many operations each; none where a device has no
    /// kernels.
    ///
    /// # Errors
    /// The device is lost, or out of memory.
    pub(super) fn of<B>(
        bench: &mut Bench<B>,
        issuers: &[usize],
        operations: u32,
        bytes: usize,
        say: Say<'_>,
    ) -> Result<Self>
    where
        B: device::Backend<Device = D>,
    {
        let most_copies = most_copies(operations);
        if most_copies == 0 {
            return Ok(Self::none());
        }
        // A copy may take a driver that stages it as long as this, a byte a nanosecond.
        let timeout_ns = TIMEOUT_NS.saturating_add(bytes as u64);
        let mut gates = Vec::new();
        for issuer in issuers {
            let kernels = match bench.kernels(*issuer, say) {
                Ok(kernels) => kernels,
                Err(error) if error.is_lost() => return Err(error),
                // Copies need no kernels: without they are timed without a gate, which is said with the numbers.
                Err(_) => return Ok(Self::none()),
            };
            gates.push((Rc::clone(&kernels), kernels.gate()?));
        }
        let spin = Self {
            gates,
            most_copies,
            timeout_ns,
            gave_up: Cell::new(false),
        };
        spin.first_launches(bench, issuers)?;
        Ok(spin)
    }

    /// Launches the kernels that wait for an open gate, so that no launch behind a closed one is the first.
    fn first_launches<B>(&self, bench: &mut Bench<B>, issuers: &[usize]) -> Result<()>
    where
        B: device::Backend<Device = D>,
    {
        self.open();
        for (index, issuer) in issuers.iter().enumerate() {
            let stream = bench.station(*issuer)?.device.stream()?;
            self.hold(index, &stream)?;
            device::Stream::synchronize(&stream)?;
        }
        Ok(())
    }

    /// Copies of a lane that may stand behind a gate; `None` where there are no gates.
    pub(super) fn most_copies(&self) -> Option<u32> {
        self.is_on().then_some(self.most_copies)
    }

    /// Whether lanes are held by gates.
    pub(super) fn is_on(&self) -> bool {
        !self.gates.is_empty() && !self.gave_up.get()
    }

    /// Holds the stream of a lane.
    pub(super) fn hold(&self, lane: usize, stream: &D::Stream) -> Result<()> {
        let (kernels, gate) = self.gates.get(lane).ok_or(DeviceError::WorkerGone)?;
        kernels.hold(stream, gate, self.timeout_ns)
    }

    /// Closes the gates; no stream may be held by one.
    pub(super) fn close(&self) {
        self.gates.iter().for_each(|(_, gate)| gate.close());
    }

    /// Opens the gates.
    pub(super) fn open(&self) {
        self.gates.iter().for_each(|(_, gate)| gate.open());
    }

    /// Whether a stream that was waited for had given up waiting; then no gates are used any more.
    pub(super) fn check(&self) -> bool {
        let gave_up = self.gates.iter().any(|(_, gate)| gate.timed_out());
        self.gave_up.set(self.gave_up.get() || gave_up);
        gave_up
    }

    /// What is to be said where a stream gave up waiting.
    pub(super) fn gave_up(&self) -> Option<u64> {
        let seconds = self.timeout_ns / 1_000_000_000;
        self.gave_up.get().then_some(seconds)
    }
}

/// Copies of so many operations that may stand behind a gate; none where one alone has too many.
fn most_copies(operations: u32) -> u32 {
    MOST_OPERATIONS / operations.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::children::staging;
    use device::Backend;
    use device::host::Host;

    #[test]
    fn no_more_than_256_operations_stand_behind_a_gate() {
        assert_eq!(most_copies(1), 256);
        // A staged copy of 16 MiB: 16 pieces, each waits, copies and records: 48 operations; 5 times 48 are 240.
        assert_eq!(most_copies(staging::operations(16 << 20)), 5);
        // One of 1 GiB: 128 pieces of 8 MiB, 384 operations.
        assert_eq!(most_copies(staging::operations(1 << 30)), 0);
    }

    #[test]
    fn a_backend_without_kernels_has_no_gates() {
        let mut bench = Bench::<Host>::open().unwrap();
        let spin = Spin::of(&mut bench, &[0], 1, 4096, &mut |_| ()).unwrap();
        assert!(!spin.is_on());
        assert_eq!((spin.most_copies(), spin.gave_up()), (None, None));
        let stream = bench.backend.device(0).unwrap().stream().unwrap();
        assert!(spin.hold(0, &stream).is_err());
    }
}
