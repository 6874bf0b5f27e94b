//! Which devices there are, on which node, whether they are free, and the link of each at its slot while copies ran.

use record::unit::ByteCount;
use record::{LinkDevice, LinkReading};
use topology::PcieLink;

use super::copies::contradicts_link;
use super::judging::{Judging, in_use};
use super::pool::Device;
use crate::profile::Match;
use crate::report::{Came, Check, ReasonCode, Seen, Verdict};

const INVENTORY: &str = "inventory";
const LINK: &str = "link";

/// The devices as the profile expects them, and those that were lost.
pub(super) fn inventory(judging: &Judging<'_>) -> Vec<Check> {
    let first = judging.pool.devices.first();
    let expected = judging.profile.matches.as_ref().zip(first);
    let devices = expected.map(|(matches, first)| {
        let came = devices(judging, matches, first);
        judging.check(INVENTORY, &["devices"], came)
    });
    let lost = judging.findings.lost.iter().map(|(label, why)| {
        let seen = Seen::of("answers", "lost", &why.source);
        let seen = seen.expecting("an answer until the end");
        let came = Came::fail(ReasonCode::DeviceLost, seen);
        judging.check(INVENTORY, &[label], came)
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
        Seen::of(&device.it.label, value, &device.source)
    };
    let wanted = |count: usize| format!("{count} of {}", matches.names.join(" or "));
    let is = match is_wrong && count == matches.count {
        true => format!("{count} of {}", first.it.name),
        false => wanted(count),
    };
    let mut seen = Seen::of("devices", is, &first.source);
    if matches.more != Some(true) {
        seen = seen.expecting(wanted(matches.count));
    }
    let came = Came::seen(!is_wrong, ReasonCode::ConfigMismatch, seen);
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
        let seen = |value: &str| Seen::of("use by others", value, &device.source).expecting("free");
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
            let seen = Seen::of("NUMA node", node, &device.source).expecting(expected);
            Came::seen(node == *expected, ReasonCode::ConfigMismatch, seen)
        });
        let came = came.unwrap_or_else(|| Came::open(ReasonCode::Unreadable));
        judging.check(KIND, &[&device.it.label], came)
    };
    devices.into_iter().zip(&numa.nodes).map(one).collect()
}

/// What to do where no link was ordered.
const STATE: &str = "State the link that was ordered in a profile of your own: extends = this one, [link] generation, width, source.";

const BEST: &str = "the best that slot and card can do";

/// The link that the profile asks for, in words; empty where it asks for none.
fn wanted(judging: &Judging<'_>) -> String {
    let expected = &judging.profile.link;
    let generation = expected.generation.map(|of| format!("Gen{of}"));
    let width = expected.width.map(|width| format!("x{width}"));
    let parts: Vec<String> = generation.into_iter().chain(width).collect();
    parts.join(" ")
}

/// One check for each device.
pub(super) fn link(judging: &Judging<'_>) -> Vec<Check> {
    let one = |device: &Device| {
        let (came, is_contradicted) = of_device(judging, device);
        let mut check = judging.check(LINK, &[&device.it.label], came);
        if !judging.is_host() && wanted(judging).is_empty() {
            check.advice = Some(STATE.to_owned());
        }
        check.required |= is_contradicted;
        check
    };
    judging.pool.devices.iter().map(one).collect()
}

/// What the link comes to, and whether copies contradict what was read.
fn of_device(judging: &Judging<'_>, device: &Device) -> (Came, bool) {
    if judging.is_host() {
        return (Came::skip(ReasonCode::NotApplicable), false);
    }
    let expected = &judging.profile.link;
    let wanted = wanted(judging);
    let mut evidence = evidence(device, &wanted);
    let open = |detail: &str| Came::open(ReasonCode::Unreadable).saying(detail);
    if wanted.is_empty() {
        let came = open("the profile states no [link]").with(evidence);
        return (came, false);
    }
    let is_short = |link: &PcieLink| {
        let is_slow = |generation: u8| link.generation() < generation;
        expected.generation.is_some_and(is_slow)
            || expected.width.is_some_and(|width| link.width() < width)
    };
    // The slowest that was seen: a link may have fallen in one of several runs.
    let slowest = |of: fn(&LinkReading) -> Option<PcieLink>| {
        let read = device.loaded.iter().filter_map(|(reading, _)| of(reading));
        read.reduce(PcieLink::slower)
    };
    let fell = slowest(|reading| reading.narrowed_to).filter(is_short);
    let limiting = slowest(LinkReading::limiting).filter(is_short);
    // Of a link that fell for a while copies may have been faster before; else the reading is wrong, and nothing is known.
    if fell.is_none() && contradicts_link(judging, device) {
        let came = open("copies are faster than the link that was read").with(evidence);
        return (came, true);
    }
    let came = match fell.into_iter().chain(limiting).reduce(PcieLink::slower) {
        Some(short) => {
            // What decides stands first.
            let (short, best) = (short.to_string(), slowest(|reading| reading.slot_maximum));
            evidence.sort_by_key(|seen| seen.value != short);
            let best = best.map_or_else(String::new, |best| format!("slot and card can do {best}"));
            Came::new(Verdict::Fail, ReasonCode::LinkDegraded).saying(best)
        }
        None if slowest(|reading| reading.slot).is_some() => {
            Came::new(Verdict::Pass, ReasonCode::AsExpected)
        }
        None => {
            let last = device.loaded.last();
            let why = last.and_then(|(reading, _)| reading.unreadable.clone());
            judging.unreadable().saying(why.unwrap_or_default())
        }
    };
    (came.with(evidence), false)
}

fn evidence(device: &Device, wanted: &str) -> Vec<Seen> {
    let mut evidence = Vec::new();
    for (reading, source) in &device.loaded {
        let n = reading.readings as usize;
        let links = [
            ("link at the slot under load", reading.slot, true, n),
            ("slowest link under load", reading.narrowed_to, true, n),
            ("link as the device reports it", reading.device, false, n),
            (BEST, reading.slot_maximum, false, 1),
        ];
        evidence.extend(links.into_iter().filter_map(|(what, link, is_wanted, n)| {
            let seen = Seen::of(what, link?, source).times(n);
            Some(match is_wanted && !wanted.is_empty() {
                true => seen.expecting(wanted),
                false => seen,
            })
        }));
    }
    evidence
}
