//! Lines and tables that documents of several kinds share.

use record::{LinkDevice, LinkReading, Unmeasured};

use crate::cell::shown;
use crate::document::{Item, Table, Tone};

/// The devices with their links.
pub(crate) fn devices(devices: &[LinkDevice]) -> Table {
    let mut table = Table::under([
        "",
        "name",
        "node",
        "memory",
        "address",
        "slot under load",
        "device under load",
        "idle",
        "slot maximum",
    ]);
    for device in devices {
        let of = |reading: &Option<LinkReading>,
                  part: fn(&LinkReading) -> Option<topology::PcieLink>| {
            shown(reading.as_ref().and_then(part))
        };
        table.row([
            device.label.clone(),
            device.name.clone(),
            shown(device.node),
            shown(device.memory_bytes.map(record::unit::ByteCount)),
            shown(device.address),
            of(&device.loaded, |reading| reading.slot),
            of(&device.loaded, |reading| reading.device),
            of(&device.idle, LinkReading::limiting),
            of(&device.loaded, |reading| reading.slot_maximum),
        ]);
    }
    table
}

/// A number of things with its noun: `1 pair`, `12 pairs`.
pub fn counted(count: usize, of: &str) -> String {
    format!("{count} {of}{}", if count == 1 { "" } else { "s" })
}

/// Each once, in their order.
pub(crate) fn distinct<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut kept = Vec::new();
    for one in all {
        if !kept.contains(&one) {
            kept.push(one);
        }
    }
    kept
}

pub(crate) fn or_empty(text: Option<String>) -> String {
    text.unwrap_or_default()
}

/// A finding of several things of one kind: the first is named, the rest counted.
pub(crate) fn first_of(tone: Tone, code: &'static str, all: &[String]) -> Option<Item> {
    let first = all.first()?;
    let more = match all.len() - 1 {
        0 => String::new(),
        more => format!(" ({more} more)"),
    };
    Some(Item::of(tone, format!("{first}{more}.")).coded(code))
}

/// A point's place, why it has no number, and what was seen.
pub(crate) type Missing<'a> = (String, Unmeasured, &'a str);

/// What of these has no number for this reason, a line each.
pub(crate) fn because(all: &[Missing<'_>], wanted: Unmeasured) -> Vec<String> {
    let those = all.iter().filter(|(_, why, _)| *why == wanted);
    let line = |(place, _, seen): &Missing<'_>| match wanted {
        Unmeasured::WrongData => format!("Wrong data in {place}: {seen}"),
        Unmeasured::NotApplicable => format!("{place} does not apply: {seen}"),
        Unmeasured::Skipped => format!("{place} skipped: {seen}"),
        Unmeasured::Failed => format!("{place} failed: {seen}"),
        Unmeasured::Hang => format!("{place} hung: {seen}"),
    };
    those.map(line).collect()
}

/// What is wrong or was not measured, the worst first. What does not apply is left to the caller.
pub(crate) fn missing(all: &[Missing<'_>]) -> impl Iterator<Item = Item> {
    let mut failed = because(all, Unmeasured::Failed);
    failed.extend(because(all, Unmeasured::Hang));
    let items = [
        first_of(
            Tone::Bad,
            "wrong-data",
            &because(all, Unmeasured::WrongData),
        ),
        first_of(Tone::Bad, "not-measured", &failed),
        first_of(
            Tone::Warning,
            "not-measured",
            &because(all, Unmeasured::Skipped),
        ),
    ];
    items.into_iter().flatten()
}
