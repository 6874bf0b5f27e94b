//! Whether the buffers of a run fit into host memory: asking for more ends in the kernel's out-of-memory killer.

use measure::unit::ByteCount;
use topology::Sysfs;

use crate::cases::{Case, Ends, Memory as CaseMemory, Pattern};

/// The default size is halved down to this where memory is short.
const LEAST_DEFAULT: u64 = 16 << 20;

/// Buffers of the full size that a job has on one device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Buffers {
    pinned: u64,
    pageable: u64,
    device: u64,
}

impl Buffers {
    fn of(pattern: Pattern) -> Self {
        let host = |memory: CaseMemory, count: u64, device: u64| match memory {
            CaseMemory::Pinned => Self {
                pinned: count,
                pageable: 0,
                device,
            },
            CaseMemory::Pageable => Self {
                pinned: 0,
                pageable: count,
                device,
            },
        };
        match pattern {
            Pattern::HostToDevice(memory) | Pattern::DeviceToHost(memory) => host(memory, 1, 1),
            Pattern::HostBothWays(memory) => host(memory, 2, 2),
            Pattern::Local
            | Pattern::Peer(_)
            | Pattern::PeerBothWays(_)
            | Pattern::Staged
            | Pattern::DriverStaged => Self {
                device: 2,
                ..Self::default()
            },
        }
    }

    /// What a device holds that does one after the other without letting go.
    fn and(self, other: Self) -> Self {
        Self {
            pinned: self.pinned.max(other.pinned),
            pageable: self.pageable.max(other.pageable),
            device: self.device.max(other.device),
        }
    }

    /// Buffers in host memory, with the one that fills and compares.
    fn in_host_memory(self, device_is_host: bool) -> u64 {
        self.pinned + self.pageable + 1 + if device_is_host { self.device } else { 0 }
    }
}

/// Host memory that a run needs and has.
pub(super) struct Memory {
    /// Buffers of the full size that the worker has at once.
    buffers: u64,
    /// Bytes that may be taken; `None` where the kernel does not say.
    available: Option<u64>,
}

impl Memory {
    /// For cases on so many devices; `device_is_host` where device memory is host memory.
    ///
    /// The worker keeps the buffers of the devices of one job: going from device to device it has those of one case,
    /// on a single device those of all cases, and for a pair those of both.
    pub(super) fn new(cases: &[&Case], devices: usize, device_is_host: bool) -> Self {
        let needs = |case: &&Case| match case.ends() {
            Ends::Device if devices > 1 => Buffers::of(case.pattern).in_host_memory(device_is_host),
            Ends::Device => 0,
            Ends::OrderedPair | Ends::Pair if devices > 1 => {
                2 * Buffers::of(case.pattern).in_host_memory(device_is_host)
            }
            Ends::OrderedPair | Ends::Pair => 0,
        };
        let alone = cases
            .iter()
            .filter(|case| devices == 1 && case.ends() == Ends::Device);
        let alone = alone
            .map(|case| Buffers::of(case.pattern))
            .reduce(Buffers::and);
        let alone = alone.map_or(0, |buffers| buffers.in_host_memory(device_is_host));
        Self {
            buffers: cases.iter().map(needs).max().unwrap_or(0).max(alone),
            available: inventory::host_memory_available(&Sysfs::real()),
        }
    }

    fn fits(&self, bytes: u64, share: u64) -> bool {
        let needed = self.buffers.saturating_mul(bytes);
        self.available
            .is_none_or(|available| needed <= available / 100 * share)
    }

    /// The default size, smaller where half of the memory would not hold the buffers.
    pub(super) fn default_size(&self, wanted: u64) -> u64 {
        let mut size = wanted;
        while size > LEAST_DEFAULT && !self.fits(size, 50) {
            size /= 2;
        }
        size
    }

    /// Why copies of this size are refused; `None` where nine tenths of the memory hold the buffers.
    pub(super) fn refusal(&self, bytes: ByteCount) -> Option<String> {
        let available = self.available?;
        (!self.fits(bytes.0, 90)).then(|| {
            format!(
                "copies of {bytes} need up to {} of host memory ({} buffers) and {} are available; use smaller --sizes",
                ByteCount(self.buffers.saturating_mul(bytes.0)),
                self.buffers,
                ByteCount(available)
            )
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
        // A pair: on each end one to compare and two of the device.
        assert_eq!(buffers("d2d_write_ce", 8, true), 6);
        assert_eq!(buffers("*", 8, true), 6);
        // A single device keeps all: 2 pinned, 1 pageable, 1 to compare, 2 of its own.
        assert_eq!(buffers("*", 1, true), 6);
    }

    #[test]
    fn the_default_is_halved_until_half_the_memory_holds_it() {
        // 12 x 256 MiB = 3 GiB > 2 GiB; 12 x 128 MiB = 1.5 GiB fits.
        assert_eq!(memory(4 << 30).default_size(256 << 20), 128 << 20);
        assert_eq!(memory(8 << 30).default_size(256 << 20), 256 << 20);
        assert_eq!(memory(1 << 20).default_size(256 << 20), LEAST_DEFAULT);
    }
}
