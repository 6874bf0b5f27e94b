//! Whether the buffers of a run fit into host memory: asking for more ends in the kernel's out-of-memory killer.

use record::unit::ByteCount;
use record::{Endpoint, Failure, FailureKind};
use topology::Sysfs;

use super::plan::{Planned, plan};
use crate::cases::Case;

/// Host memory that a run needs and has.
pub(super) struct Memory {
    /// Buffers of the full size that the worker has at once.
    buffers: u64,
    /// Bytes that may be taken; `None` where the kernel does not say.
    available: Option<u64>,
}

/// Buffers in host memory, with the one that fills and compares: one at each end of each stream.
fn in_host_memory(point: &Planned, device_is_host: bool) -> u64 {
    let streams = point.streams();
    let ends = streams.iter().flat_map(|stream| [stream.from, stream.to]);
    let is_in = |end: &Endpoint| device_is_host || *end == Endpoint::Host;
    ends.filter(is_in).count() as u64 + 1
}

impl Memory {
    /// For cases on so many devices; `device_is_host` where device memory is host memory.
    ///
    /// The worker keeps the buffers of one job and no more.
    pub(super) fn new(cases: &[&'static Case], devices: usize, device_is_host: bool) -> Self {
        let of_point = |point: &Planned| in_host_memory(point, device_is_host);
        // Those with a size of their own are small.
        let sized = plan(cases, devices, &[ByteCount(1)]);
        let sized = sized
            .iter()
            .filter(|point| point.case.fixed_bytes().is_none());
        Self {
            buffers: sized.map(of_point).max().unwrap_or(0),
            available: inventory::host_memory_available(&Sysfs::real()),
        }
    }

    /// Why copies of this size are refused; `None` where nine tenths of the memory hold the buffers.
    pub(super) fn refusal(&self, bytes: ByteCount) -> Option<Failure> {
        let available = self.available?;
        let needed = self.buffers.saturating_mul(bytes.0);
        (needed > available / 100 * 90).then(|| {
            FailureKind::OutOfMemory.of(format!(
                "copies of {bytes} need up to {} of host memory ({} buffers) and {} are available; use smaller --sizes",
                ByteCount(needed),
                self.buffers,
                ByteCount(available)
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(available: u64) -> Memory {
        // 2 devices x 6 buffers.
        Memory {
            buffers: 12,
            available: Some(available),
        }
    }

    #[test]
    fn a_size_whose_buffers_do_not_fit_is_refused() {
        // 12 x 1 GiB = 12 GiB: more than 90% of 13 GiB (11.7), less than 90% of 14 GiB (12.6).
        assert!(memory(13 << 30).refusal(ByteCount(1 << 30)).is_some());
        assert_eq!(memory(14 << 30).refusal(ByteCount(1 << 30)), None);
        assert!(memory(14 << 30).refusal(ByteCount(1 << 62)).is_some());
    }

    #[test]
    fn the_buffers_of_one_job_are_counted() {
        let buffers = |key: &str, devices, device_is_host| {
            Memory::new(
                &crate::cases::matching(key).unwrap(),
                devices,
                device_is_host,
            )
            .buffers
        };
        // One to compare, and: one pinned; two of the device's own; 2 pinned and 2 of the device.
        assert_eq!(buffers("h2d_pinned_ce", 2, false), 2);
        assert_eq!(buffers("local_ce", 2, true), 3);
        assert_eq!(buffers("host_bidir_pinned_ce", 8, true), 5);
        // One to compare, and one of the device on each end, or two for both ways; none where devices have their own.
        assert_eq!(buffers("d2d_write_ce", 8, true), 3);
        assert_eq!(buffers("d2d_bidir_read_sm", 8, true), 5);
        assert_eq!(buffers("d2d_bidir_read_sm", 8, false), 1);
        // One to compare, and for 4 devices: 4 of each kind; 4 * 3 streams of 2.
        assert_eq!(buffers("host_to_all_ce", 4, true), 9);
        assert_eq!(buffers("host_to_all_ce", 4, false), 5);
        assert_eq!(buffers("all_pairs_ce", 4, true), 25);
        assert_eq!(buffers("all", 4, true), 25);
        // A chase has 2 MiB, whatever the size.
        assert_eq!(buffers("host_chase_sm", 4, true), 0);
    }
}
