//! What the points of host memory by node are called.

use record::{Numa, NumaPoint};

/// The kind of memory in a case's key, such as `pinned`.
pub(super) fn kind(point: &NumaPoint) -> &str {
    direction_and_kind(point).1
}

/// What a case's key says: direction and kind of memory.
pub(super) fn direction_and_kind(point: &NumaPoint) -> (&str, &str) {
    let key = point.case.as_str();
    let key = key.strip_prefix("small_copy_").unwrap_or(key);
    let key = key.strip_suffix("_ce").unwrap_or(key);
    key.split_once('_').unwrap_or((key, "pinned"))
}

/// The label of a device.
pub(super) fn label(numa: &Numa, device: usize) -> String {
    let device = numa.devices.get(device);
    device.map_or_else(|| "?".to_owned(), |device| device.label.clone())
}
