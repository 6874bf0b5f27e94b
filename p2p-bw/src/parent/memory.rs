//! Whether the buffers of a run fit into host memory: asking for more ends in the kernel's out-of-memory killer.

use measure::unit::ByteCount;
use topology::Sysfs;

/// Host buffers of the full size that a device needs at most: two pinned, one pageable, one to fill and compare.
const HOST_BUFFERS: u64 = 4;

/// Buffers of a device whose memory is host memory, too: the host backend's and a soft box's.
const DEVICE_BUFFERS: u64 = 2;

/// Devices that take part in one job at most; the worker drops the buffers of all others.
const MOST_IN_A_JOB: usize = 2;

/// The default size is halved down to this where memory is short.
const LEAST_DEFAULT: u64 = 16 << 20;

/// Host memory that a run needs and has.
pub(super) struct Memory {
    /// Buffers of the full size that the worker has at once.
    buffers: u64,
    /// Bytes that may be taken; `None` where the kernel does not say.
    available: Option<u64>,
}

impl Memory {
    /// For so many devices, of which the worker keeps those of one job; `device_is_host` where device memory is host
    /// memory.
    pub(super) fn new(devices: usize, device_is_host: bool) -> Self {
        let per_device = HOST_BUFFERS + if device_is_host { DEVICE_BUFFERS } else { 0 };
        Self {
            buffers: per_device * devices.min(MOST_IN_A_JOB) as u64,
            available: available(&Sysfs::real()),
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
                "--sizes {bytes}: up to {} buffers of it need {} of host memory and {} are available; use smaller sizes",
                self.buffers,
                ByteCount(self.buffers.saturating_mul(bytes.0)),
                ByteCount(available)
            )
        })
    }
}

/// What the kernel and the control group leave, in bytes.
fn available(sysfs: &Sysfs) -> Option<u64> {
    let meminfo = sysfs.read_text("proc/meminfo")?;
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    let number = |file: &str| {
        sysfs
            .read_text(file)
            .and_then(|text| text.trim().parse::<u64>().ok())
    };
    // A limit of `max` is no number, and then the machine's memory is the limit.
    let limit = number("sys/fs/cgroup/memory.max")
        .map(|limit| limit.saturating_sub(number("sys/fs/cgroup/memory.current").unwrap_or(0)));
    Some(limit.map_or(kib << 10, |limit| limit.min(kib << 10)))
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
    fn buffers_of_two_devices_at_most_are_counted() {
        // 4 host buffers a device, and 2 of the device where its memory is the host's.
        let buffers = |devices, device_is_host| Memory::new(devices, device_is_host).buffers;
        assert_eq!(
            [buffers(1, false), buffers(2, false), buffers(8, false)],
            [4, 8, 8]
        );
        assert_eq!([buffers(1, true), buffers(8, true)], [6, 12]);
    }

    #[test]
    fn the_default_is_halved_until_half_the_memory_holds_it() {
        // 12 x 256 MiB = 3 GiB > 2 GiB; 12 x 128 MiB = 1.5 GiB fits.
        assert_eq!(memory(4 << 30).default_size(256 << 20), 128 << 20);
        assert_eq!(memory(8 << 30).default_size(256 << 20), 256 << 20);
        assert_eq!(memory(1 << 20).default_size(256 << 20), LEAST_DEFAULT);
    }
}
