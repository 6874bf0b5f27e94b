//! What is known before the first measurement, beyond the devices: caveats, and the text of `--list`.

use std::fmt::Write as _;

use inventory::{Built, Chosen, Found, caveats};
use record::caveat::{Caveat, Condition};
use record::{LinkDevice, LinkReading};
use topology::Machine;

use super::link::ASSUMED_PAYLOAD_BYTES;
use super::nvlink;
use crate::cases;

/// No last-level cache holds this much.
const SURELY_UNCACHED_BYTES: u64 = 1 << 30;

/// Caveats that hold whatever is measured; devices in use come first.
pub(super) fn caveats(
    chosen: &Chosen,
    found: &[Found],
    devices: &[LinkDevice],
    sizes: &[u64],
    machine: &Machine,
) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> = caveats::busy(devices).collect();
    caveats.extend(nvlink::caveats(found, devices));
    caveats.extend(caveats::said(chosen));
    caveats.extend(caveats::shared_cpus(found, devices));
    if chosen.inventory.soft_box.is_none() {
        let cache_bytes = found
            .iter()
            .filter_map(|device| device.cache_bytes)
            .chain(machine.cpus.last_level_cache_bytes)
            .max();
        let is_host = chosen.backend == Built::Host;
        let unknown = is_host && machine.cpus.last_level_cache_bytes.is_none();
        caveats.extend(cache(sizes, cache_bytes, unknown));
        caveats.extend(assumed_payload(devices));
        let by_kernel = chosen.backend.copies_by_kernel();
        caveats.extend(by_kernel.map(|detail| Condition::CopiesByKernel.with(detail)));
    }
    caveats.extend(caveats::hidden_mig(chosen));
    caveats.extend(caveats::unmanaged(chosen));
    caveats
}

/// A caveat about sizes that a cache can hold, the largest of them named; `unknown` where nobody says how much it
/// holds.
fn cache(sizes: &[u64], cache_bytes: Option<u64>, unknown: bool) -> Option<Caveat> {
    if unknown {
        let is_small = sizes.iter().any(|size| *size < SURELY_UNCACHED_BYTES);
        return is_small.then(|| Condition::CacheUnknown.with(""));
    }
    let cache_bytes = cache_bytes?;
    let held = sizes.iter().copied().filter(|size| *size <= cache_bytes);
    held.max()
        .map(|bytes| Caveat::CacheResident { bytes, cache_bytes })
}

/// One caveat for all devices whose payload size is assumed.
fn assumed_payload(devices: &[LinkDevice]) -> Option<Caveat> {
    let has_link = |device: &LinkDevice| {
        let idle = device.idle.as_ref();
        idle.and_then(LinkReading::limiting).is_some()
    };
    let labels: Vec<&str> = devices
        .iter()
        .filter(|device| device.max_payload_bytes.is_none() && has_link(device))
        .map(|device| device.label.as_str())
        .collect();
    if labels.is_empty() {
        return None;
    }
    Some(Caveat::PayloadSizeAssumed {
        device: labels.join(", "),
        bytes: ASSUMED_PAYLOAD_BYTES,
    })
}

/// The text of `--list`.
pub(super) fn listing(chosen: &Chosen) -> String {
    let mut text = format!("Cases (marked: those of the set `{}`):\n", cases::DEFAULT);
    for case in cases::ALL {
        let mark = if case.core { cases::DEFAULT } else { "" };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {:<22}{mark:<6}{}", case.key, case.description);
    }
    text + "\n" + &inventory::listing(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_size_that_a_cache_holds_is_named() {
        let sizes = [1 << 10, 16 << 20, 64 << 20];
        // 32 MiB hold 1 KiB and 16 MiB and not 64 MiB; 512 B hold none.
        let held = Caveat::CacheResident {
            bytes: 16 << 20,
            cache_bytes: 32 << 20,
        };
        assert_eq!(cache(&sizes, Some(32 << 20), false), Some(held));
        assert_eq!(cache(&sizes, Some(512), false), None);
        assert_eq!(cache(&sizes, None, false), None);
    }

    #[test]
    fn a_cache_of_unknown_size_is_said_below_one_gibibyte() {
        let told = cache(&[64 << 20, 2 << 30], None, true).unwrap();
        assert_eq!(told.code(), "cache-unknown");
        assert_eq!(cache(&[1 << 30], None, true), None);
    }
}
