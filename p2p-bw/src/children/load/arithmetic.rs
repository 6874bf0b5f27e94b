//! Multiply-adds in a stream of their own, as long as what is done to memory takes; every sum is compared on the device.

use std::rc::Rc;

use device::{Device, Event, HostBuffer, HostKind, Result, Stream};
use kernels::{BURN_MULTIPLY_ADDS, BURN_ROUNDS, Kernels, Place};

/// Bytes of the answer.
const ANSWER: usize = 8;

/// How long a launch takes, nanoseconds, about: long beside a launch's cost, short beside what a driver takes for a hang.
const LAUNCH_NS: f64 = 1e7;

/// Rounds of the first launch, by whose time the others are planned.
const FIRST_ROUNDS: u64 = 256;

/// Launches of a pass at most.
const MOST_LAUNCHES: u32 = 64;

/// Items for each thread.
const TURNS: u64 = 2;

pub(super) struct Arithmetic<D: Device> {
    kernels: Rc<Kernels<D>>,
    stream: D::Stream,
    marks: [D::Event; 2],
    answer: D::DeviceBuffer,
    host: HostBuffer,
    rounds: u64,
    launches: u32,
}

/// What came of the launches of a pass.
pub(super) struct Done {
    /// A multiply-add counted as two.
    pub(super) operations: f64,
    pub(super) ns: f64,
    pub(super) wrong: Option<String>,
}

impl<D: Device> Arithmetic<D> {
    /// Loads the kernel and launches it once; the inner error says why a device that takes other kernels does not take this one.
    ///
    /// # Errors
    /// The device is lost, or has no room.
    pub(super) fn start(
        device: &D,
        kernels: Rc<Kernels<D>>,
    ) -> Result<std::result::Result<Self, String>> {
        let mut arithmetic = Self {
            kernels,
            stream: device.stream()?,
            marks: [device.event()?, device.event()?],
            answer: device.alloc(ANSWER)?,
            host: device.alloc_host(HostKind::Pinned, ANSWER, None)?,
            rounds: FIRST_ROUNDS,
            launches: 1,
        };
        match arithmetic.begin().and_then(|()| arithmetic.end(LAUNCH_NS)) {
            Ok(_) => Ok(Ok(arithmetic)),
            Err(error) if error.is_lost() => Err(error),
            Err(error) => Ok(Err(error.to_string())),
        }
    }

    fn items(&self) -> u64 {
        self.kernels.burn_items(TURNS)
    }

    /// Queues the launches of a pass.
    pub(super) fn begin(&self) -> Result<()> {
        let Self { stream, .. } = self;
        self.host.with_bytes(|bytes| bytes.fill(0xff))?;
        stream.host_to_device((&self.answer, 0), (&self.host, 0), ANSWER)?;
        stream.record(&self.marks[0])?;
        for launch in 0..self.launches {
            let told = Place::Device(&self.answer, 0);
            let seed = u64::from(launch);
            self.kernels
                .burn(stream, self.items(), self.rounds, seed, told)?;
        }
        stream.record(&self.marks[1])?;
        stream.device_to_host((&self.host, 0), (&self.answer, 0), ANSWER)
    }

    /// Waits for them, and plans those of the next pass, which shall take as long as its memory did.
    pub(super) fn end(&mut self, memory_ns: f64) -> Result<Done> {
        self.stream.synchronize()?;
        let ns = self.marks[1].nanoseconds_since(&self.marks[0])?;
        let is_wrong = self
            .host
            .with_bytes(|bytes| bytes.iter().any(|byte| *byte != 0xff))?;
        let multiply_adds = self.items() * self.rounds * BURN_MULTIPLY_ADDS;
        let launches = f64::from(self.launches);
        let done = Done {
            operations: 2.0 * multiply_adds as f64 * launches,
            ns,
            wrong: is_wrong
                .then(|| "a sum of small whole numbers is not what it must be".to_owned()),
        };
        (self.rounds, self.launches) = planned(self.rounds, ns / launches, memory_ns);
        Ok(done)
    }
}

/// Rounds of a launch and launches of a pass, after a launch of so many rounds took so long.
fn planned(rounds: u64, launch_ns: f64, memory_ns: f64) -> (u64, u32) {
    let round_ns = (launch_ns / rounds as f64).max(1e-3);
    let wanted = (LAUNCH_NS / round_ns).clamp(1.0, BURN_ROUNDS as f64);
    let launches = (memory_ns / (wanted * round_ns)).clamp(1.0, f64::from(MOST_LAUNCHES));
    (wanted as u64, launches.ceil() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_last_ten_milliseconds_and_as_many_as_memory_takes() {
        // 256 rounds in 1 ms: 3.9 us a round, 2560 in 10 ms; 95 ms of memory are 10 of them, the last one not whole.
        assert_eq!(planned(256, 1e6, 9.5e7), (2560, 10));
        // No memory: one. A day of memory: 64.
        assert_eq!(planned(256, 1e6, 0.0), (2560, 1));
        assert_eq!(planned(256, 1e6, 8.64e13), (2560, 64));
        // 256 rounds in 10 us would be 256,000 in 10 ms; 32,768 are the most, 1.28 ms, of which 2 ms are two.
        assert_eq!(planned(256, 1e4, 2e6), (32_768, 2));
        // A slow device: a round of 20 ms is one round.
        assert_eq!(planned(256, 256.0 * 2e7, 1e6), (1, 1));
    }
}
