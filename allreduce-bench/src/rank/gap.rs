//! The work of the device between two calls: copies that walk through memory which no cache holds, as the weights of a step do.
//!
//! By the copy kernel where the device runs kernels, else by the stream's own copies. How long one gap takes is found out once and
//! is near what was asked for; what it took is measured beside the calls.

use std::cell::Cell;

use device::{Device, DeviceBuffer, Result, Stream};
use kernels::{Kernels, Place};

/// Bytes that no cache holds where the driver names none.
const POOL: u64 = 256 << 20;

/// At least as many where it names one: AMD's runtime names the L2 and not the Infinity Cache of 256 MiB behind it.
const LEAST_POOL: u64 = 512 << 20;

/// Bytes that no cache of the device holds, of which the driver names this one.
pub(super) fn pool_bytes(cache_bytes: Option<u64>) -> u64 {
    match cache_bytes {
        Some(cache) => cache.saturating_mul(2).max(LEAST_POOL),
        None => POOL,
    }
}

/// Bytes of a gap are a multiple of this, and no fewer: a page, and of the copy kernel's words of 16.
const GRAIN: usize = 4096;

/// Copies of one gap at most.
const MOST_COPIES: usize = 64;

/// Bytes of the first gap that is tried.
const FIRST: usize = 256 << 10;

/// Added to the memory that the cache could hold.
const BEYOND_CACHE: u64 = 4 << 20;

/// How often its length is corrected at most.
const CORRECTIONS: u32 = 5;

/// Within this fraction of what was asked for it is not corrected any more.
const NEAR: f64 = 0.05;

/// One gap, which can be queued any number of times.
pub(super) struct Gap<D: Device> {
    /// `None` where the device runs no kernels.
    kernels: Option<Kernels<D>>,
    memory: D::DeviceBuffer,
    /// How many bytes it copies.
    bytes: usize,
    /// Where the next copy reads.
    at: Cell<usize>,
}

impl<D: Device> Gap<D> {
    /// Takes memory and kernels, and finds the length that takes about `asked_us`; `time` gives the microseconds of one gap.
    ///
    /// # Errors
    /// Out of memory, the device is lost, or what `time` says.
    pub(super) fn of(
        device: &D,
        asked_us: f64,
        (pool, most): (u64, Option<usize>),
        say: &mut dyn FnMut(&str),
        time: impl Fn(&Self) -> Result<f64>,
    ) -> Result<Self> {
        say("loading the kernel between calls");
        let kernels = match Kernels::load(device) {
            Ok(kernels) => Some(kernels),
            Err(error) if error.is_lost() => return Err(error),
            // A gap needs no kernel of ours.
            Err(_) => None,
        };
        say("finding out how long the work between calls takes");
        // What is read and what is written have half of it each; one lap touches all of it.
        let beyond = most.map_or(pool / 2 + BEYOND_CACHE, |most| 2 * most as u64);
        let half = usize::try_from(beyond / 2).unwrap_or(usize::MAX) / GRAIN * GRAIN;
        let most = most.unwrap_or(half.saturating_mul(MOST_COPIES));
        let mut gap = Self {
            kernels,
            memory: device.alloc(half.saturating_mul(2))?,
            bytes: FIRST,
            at: Cell::new(0),
        };
        for _ in 0..CORRECTIONS {
            let took = time(&gap)?;
            if (took / asked_us - 1.0).abs() <= NEAR {
                break;
            }
            gap.bytes = corrected(gap.bytes, took, asked_us, most);
            // A longer copy need not fit where a shorter one would have gone on.
            gap.at.set(0);
        }
        Ok(gap)
    }

    /// Queues it once.
    pub(super) fn queue(&self, stream: &D::Stream) -> Result<()> {
        let half = self.memory.len() / 2;
        // As few copies as fit.
        let copies = self.bytes.div_ceil(half.max(1)).max(1);
        let bytes = (self.bytes / copies / GRAIN * GRAIN).max(GRAIN);
        for _ in 0..copies {
            let from = self.at.get();
            // The next copy goes on behind this one, and begins anew where it would not fit.
            let next = from + bytes;
            self.at.set(if next + bytes <= half { next } else { 0 });
            let to = half + from;
            match &self.kernels {
                Some(kernels) => {
                    let place = |at| Place::Device(&self.memory, at);
                    kernels.copy(stream, place(to), place(from), bytes)?;
                }
                None => stream.device_to_device((&self.memory, to), (&self.memory, from), bytes)?,
            }
        }
        Ok(())
    }
}

/// How many bytes take as long as asked, where as many took `took`.
fn corrected(bytes: usize, took: f64, asked: f64, most: usize) -> usize {
    // A copy that takes no time tells nothing, and one step is no more than a hundredfold.
    let times = if took > 0.0 { asked / took } else { 100.0 };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "clamped below"
    )]
    let wanted = (bytes as f64 * times.clamp(0.0, 100.0)) as usize;
    wanted.clamp(GRAIN, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    use device::Backend;
    use device::host::Host;

    #[test]
    fn its_length_is_corrected_in_proportion_within_bounds() {
        // 1 MiB took 20 us, so 50 us are 2.5 MiB.
        let of = |took| corrected(1 << 20, took, 50.0, 8 << 20);
        assert_eq!(of(20.0), 5 << 19);
        // 1 us asks for 50 MiB, of 8 at most; 1e6 us for less than a page.
        assert_eq!((of(1.0), of(1e6)), (8 << 20, 4096));
        assert_eq!(of(0.0), 8 << 20);
    }

    #[test]
    fn a_device_that_copies_at_a_steady_pace_gets_the_gap_that_was_asked_for() {
        let device = Host::open().unwrap().device(0).unwrap();
        // 2 us and a microsecond for each 64 KiB: 50 us are 48 * 64 KiB = 3 MiB.
        let time = |gap: &Gap<_>| Ok(2.0 + gap.bytes as f64 / 65536.0);
        let gap = Gap::of(&device, 50.0, (16 << 20, None), &mut |_| (), time).unwrap();
        let (all, wanted) = (gap.bytes as f64, 3.0 * 1_048_576.0);
        assert!((all / wanted - 1.0).abs() < 0.06, "{all}");
        // The memory is that of half the pool and 4 MiB: 12 MiB.
        assert_eq!(gap.memory.len(), 12 << 20);
    }

    #[test]
    fn copies_of_a_gap_walk_through_its_memory() {
        let device = Host::open().unwrap().device(0).unwrap();
        let stream = device.stream().unwrap();
        let gap = Gap::of(&device, 1.0, (0, Some(FIRST)), &mut |_| (), |_| Ok(1.0)).unwrap();
        // Half of the memory is 256 KiB, which one gap takes: every gap begins at the start.
        for _ in 0..3 {
            gap.queue(&stream).unwrap();
            assert_eq!(gap.at.get(), 0);
        }
        let shorter = Gap {
            bytes: 96 << 10,
            ..gap
        };
        let mut began = Vec::new();
        for _ in 0..4 {
            began.push(shorter.at.get() >> 10);
            shorter.queue(&stream).unwrap();
        }
        // 96 KiB at 0 and at 96; a third would end at 288.
        assert_eq!(began, [0, 96, 0, 96]);
        stream.synchronize().unwrap();
    }
}
