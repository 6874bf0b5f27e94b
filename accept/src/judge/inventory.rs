//! Which devices there are, on which node, and whether they are free.

use record::LinkDevice;
use record::unit::ByteCount;

use super::judging::{Judging, in_use};
use super::pool::Device;
use crate::profile::Match;
use crate::report::{Came, Check, Evidence, ReasonCode};

const KIND: &str = "inventory";

/// The devices as the profile expects them, and those that were lost.
pub(super) fn inventory(judging: &Judging<'_>) -> Vec<Check> {
    let first = judging.pool.devices.first();
    let expected = judging.profile.matches.as_ref().zip(first);
    let devices = expected.map(|(matches, first)| {
        let came = devices(judging, matches, first);
        judging.check(KIND, &["devices"], came)
    });
    let lost = judging.findings.lost.iter().map(|(label, why)| {
        let seen = Evidence::seen("answers", "lost", &why.source);
        let seen = seen.expecting("an answer until the end");
        let came = Came::fail(ReasonCode::DeviceLost, seen);
        judging.check(KIND, &[label], came)
    });
    devices.into_iter().chain(lost).collect()
}

fn devices(judging: &Judging<'_>, matches: &Match, first: &Device) -> Came {
    let found = &judging.pool.devices;
    let count = found.len();
    let missing = matches.count.saturating_sub(count);
    // What is there and was not asked for is not missing; what is neither is.
    let are_left_out = missing > 0 && judging.findings.left_out >= missing;
    let guest = matches.guest.zip(judging.pool.is_guest);
    let is_wrong = judging.pool.backend.as_deref() != Some(matches.backend.as_str())
        || (missing > 0 && !are_left_out)
        || (count > matches.count && matches.more != Some(true))
        || found.iter().any(|device| differs(&device.it, matches))
        || guest.is_some_and(|(expected, is)| expected != is);
    if are_left_out && !is_wrong {
        return Came::open(ReasonCode::LeftOut);
    }
    let one = |device: &Device| {
        let memory = device.it.memory_bytes;
        let memory = memory.map_or_else(String::new, |bytes| format!(", {}", ByteCount(bytes)));
        let value = format!("{}{memory}", device.it.name);
        Evidence::seen(&device.it.label, value, &device.source)
    };
    let wanted = |count: usize| format!("{count} of {}", matches.names.join(" or "));
    let is = match is_wrong && count == matches.count {
        true => format!("{count} of {}", first.it.name),
        false => wanted(count),
    };
    let mut seen = Evidence::seen("devices", is, &first.source);
    if matches.more != Some(true) {
        seen = seen.expecting(wanted(matches.count));
    }
    let came = match is_wrong {
        true => Came::fail(ReasonCode::ConfigMismatch, seen),
        false => Came::pass(seen),
    };
    came.with(found.iter().map(one))
}

/// Whether a device has one of the names that a profile gives, of which a star stands for any end.
pub(crate) fn is_named(device: &LinkDevice, matches: &Match) -> bool {
    let mut names = matches.names.iter();
    names.any(|name| match name.strip_suffix('*') {
        Some(beginning) => device.name.starts_with(beginning),
        None => device.name == *name,
    })
}

fn differs(device: &LinkDevice, matches: &Match) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "memory is far below 2^53 bytes")]
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    let memory = matches.memory_gib_at_least.zip(device.memory_bytes);
    !is_named(device, matches)
        || matches.mig.is_some_and(|mig| mig != device.mig.is_some())
        || memory.is_some_and(|(least, bytes)| gib(bytes) < least)
}

/// Whether the devices are free.
pub(super) fn idle(judging: &Judging<'_>) -> Vec<Check> {
    judging.each("idle", |device| {
        let Some(busy) = &device.it.busy else {
            return Came::skip(ReasonCode::Unreadable);
        };
        let seen =
            |value: &str| Evidence::seen("use by others", value, &device.source).expecting("free");
        match in_use(busy) {
            None => Came::pass(seen("free")),
            Some(by) => Came::open(ReasonCode::DeviceBusy).with([seen(&by.to_string()).quoted()]),
        }
    })
}

/// Whether each device is on the node where the profile expects it.
pub(super) fn numa_node(judging: &Judging<'_>) -> Vec<Check> {
    const KIND: &str = "numa_node";
    let mut devices: Vec<&Device> = judging.pool.devices.iter().collect();
    if devices.iter().all(|device| device.it.address.is_some()) {
        devices.sort_by_key(|device| device.it.address);
    }
    let of_box = |code| vec![judging.check(KIND, &["box"], Came::skip(code))];
    if devices.is_empty() {
        return Vec::new();
    }
    let Some(numa) = &judging.profile.numa else {
        return of_box(ReasonCode::NotApplicable);
    };
    if numa.nodes.len() != devices.len() {
        return of_box(ReasonCode::NotMeasured);
    }
    let one = |(device, expected): (&Device, &u32)| {
        let came = device.it.node.map(|node| {
            let seen = Evidence::seen("NUMA node", node, &device.source).expecting(expected);
            match node == *expected {
                true => Came::pass(seen),
                false => Came::fail(ReasonCode::ConfigMismatch, seen),
            }
        });
        let came = came.unwrap_or_else(|| Came::open(ReasonCode::Unreadable));
        judging.check(KIND, &[&device.it.label], came)
    };
    devices.into_iter().zip(&numa.nodes).map(one).collect()
}
