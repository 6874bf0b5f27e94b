//! Which devices there are, on which node, whether they are free, and whether the baseline is of a machine like this.

use record::unit::ByteCount;

use super::judging::{Judging, in_use, quoted, seen};
use super::pool::Device;
use crate::profile::Match;
use crate::report::{Check, ReasonCode, Seen, Verdict};

const KIND: &str = "inventory";

/// The devices as the profile expects them, and those that were lost.
pub(super) fn inventory(judging: &Judging<'_>) -> Vec<Check> {
    let first = judging.pool.devices.first();
    let expected = judging.profile.matches.as_ref().zip(first);
    let devices = expected.map(|(matches, first)| devices(judging, matches, first));
    let lost = judging.findings.lost.iter().map(|(label, why)| {
        let expected = Some("an answer until the end".to_owned());
        let evidence = seen("answers", "lost", expected, &why.source);
        judging.fail(KIND, label, ReasonCode::DeviceLost, evidence)
    });
    devices.into_iter().chain(lost).collect()
}

fn devices(judging: &Judging<'_>, matches: &Match, first: &Device) -> Check {
    let found = &judging.pool.devices;
    let count = found.len();
    let missing = matches.count.saturating_sub(count);
    // What is there and was not asked for is not missing; what is neither is.
    let are_left_out = missing > 0 && judging.findings.left_out >= missing;
    let guest = matches.guest.zip(judging.pool.is_guest);
    let is_wrong = judging.pool.backend.as_deref() != Some(matches.backend.as_str())
        || (missing > 0 && !are_left_out)
        || (count > matches.count && matches.more != Some(true))
        || found.iter().any(|device| differs(device, matches))
        || guest.is_some_and(|(expected, is)| expected != is);
    if are_left_out && !is_wrong {
        return judging.open(KIND, "devices", ReasonCode::LeftOut, "");
    }
    let one = |device: &Device| {
        let memory = device.it.memory_bytes;
        let memory = memory.map_or_else(String::new, |bytes| format!(", {}", ByteCount(bytes)));
        let value = format!("{}{memory}", device.it.name);
        seen(&device.it.label, value, None, &device.source)
    };
    let wanted = |count: usize| format!("{count} of {}", matches.names.join(" or "));
    let is = match is_wrong && count == matches.count {
        true => format!("{count} of {}", first.it.name),
        false => wanted(count),
    };
    let expected = Some(wanted(matches.count)).filter(|_| matches.more != Some(true));
    let (verdict, code) = match is_wrong {
        true => (Verdict::Fail, ReasonCode::ConfigMismatch),
        false => (Verdict::Pass, ReasonCode::AsExpected),
    };
    let evidence = Seen::new(
        seen("devices", is, expected, &first.source),
        found.iter().map(one),
    );
    judging.noted(KIND, "devices", (verdict, code), evidence)
}

/// Whether a device has the name that a profile gives, of which a star stands for any end.
pub(crate) fn matches_name(device: &str, name: &str) -> bool {
    match name.strip_suffix('*') {
        Some(beginning) => device.starts_with(beginning),
        None => device == name,
    }
}

fn differs(device: &Device, matches: &Match) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "memory is far below 2^53 bytes")]
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    let memory = matches.memory_gib_at_least.zip(device.it.memory_bytes);
    let is_named = |name: &String| matches_name(&device.it.name, name);
    let is_mig = device.it.mig.is_some();
    !matches.names.iter().any(is_named)
        || matches.mig.is_some_and(|mig| mig != is_mig)
        || memory.is_some_and(|(least, bytes)| gib(bytes) < least)
}

/// Whether the devices are free.
pub(super) fn idle(judging: &Judging<'_>) -> Vec<Check> {
    let one = |device: &Device| {
        let label = &device.it.label;
        let Some(busy) = &device.it.busy else {
            return judging.skip("idle", label, ReasonCode::Unreadable);
        };
        let what = "use by others";
        match in_use(busy) {
            None => {
                let expected = Some("free".to_owned());
                let evidence = seen(what, "free", expected, &device.source);
                judging.pass("idle", label, evidence)
            }
            Some(by) => {
                let evidence = quoted(what, &by, Some("free"), &device.source);
                let subject = judging.subject("idle", [label.clone()]);
                subject.open(ReasonCode::DeviceBusy, "", None, vec![evidence])
            }
        }
    };
    judging.pool.devices.iter().map(one).collect()
}

/// Whether each device is on the node where the profile expects it.
pub(super) fn numa_node(judging: &Judging<'_>) -> Vec<Check> {
    const KIND: &str = "numa_node";
    let devices = judging.by_address();
    if devices.is_empty() {
        return Vec::new();
    }
    let Some(numa) = &judging.profile.numa else {
        return vec![judging.skip(KIND, "box", ReasonCode::NotApplicable)];
    };
    if numa.nodes.len() != devices.len() {
        return vec![judging.skip(KIND, "box", ReasonCode::NotMeasured)];
    }
    let one = |(device, expected): (&Device, u32)| {
        let label = &device.it.label;
        let Some(node) = device.it.node else {
            return judging.open(KIND, label, ReasonCode::Unreadable, "");
        };
        let wanted = Some(expected.to_string());
        let evidence = seen("NUMA node", node.to_string(), wanted, &device.source);
        match node == expected {
            true => judging.pass(KIND, label, evidence),
            false => judging.fail(KIND, label, ReasonCode::ConfigMismatch, evidence),
        }
    };
    let nodes = numa.nodes.iter().copied();
    devices.into_iter().zip(nodes).map(one).collect()
}
