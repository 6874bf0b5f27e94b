//! Lines and tables that documents of several kinds share.

use record::{LinkDevice, LinkReading};

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

/// `1 pair`, `12 pairs`.
pub(crate) fn counted(count: usize, of: &str) -> String {
    format!("{count} {of}{}", if count == 1 { "" } else { "s" })
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
