//! What stands above the tables: simulated or not, who else uses the devices, devices and links, peer verdicts.

use comfy_table::{CellAlignment, Table, presets};

use super::cell::ABSENT;
use super::peers;
use super::record::line;
use crate::caveat::Caveat;
use crate::record::{BackendFacts, LinkDevice, LinkReading, Links, Record};
use crate::unit::ByteCount;

/// A table without borders, cells left-aligned.
pub(super) fn table() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
}

/// A table's text, indented, without trailing blanks.
pub(super) fn indented(table: &Table) -> String {
    table
        .to_string()
        .lines()
        .map(|row| format!(" {}\n", row.trim_end()))
        .collect()
}

/// What a reader must know before the first table.
pub(super) fn is_caution(caveat: &Caveat) -> bool {
    matches!(
        caveat,
        Caveat::DeviceBusy { .. } | Caveat::LinkNarrowed { .. } | Caveat::LinkBelowMaximum { .. }
    )
}

/// The header of a `p2p-bw` record.
pub(super) fn header(record: &Record, links: &Links, soft: Option<&str>) -> String {
    let mut text = opening(record, soft, links.backend.as_ref());
    text.push_str(&cautions(&links.caveats));
    text.push_str(&devices(&links.devices));
    if !links.probes.is_empty() || !links.pending.is_empty() {
        text.push_str(&peers::peers(links));
    }
    text
}

/// Simulated or not, and who wrote the record when and where.
pub(super) fn opening(
    record: &Record,
    soft: Option<&str>,
    backend: Option<&BackendFacts>,
) -> String {
    let mut text = String::new();
    let head = &record.header;
    if let Some(soft) = soft {
        line(
            &mut text,
            &format!("SIMULATED on soft box {soft}: arithmetic of a box file, not a measurement"),
        );
    }
    let mut who = vec![
        format!("{} {}", head.program, head.version),
        head.provenance.started.clone(),
    ];
    who.extend(head.provenance.host.clone());
    if let Some(backend) = backend {
        who.push(format!("backend {}", backend.name));
        who.extend(
            backend
                .driver
                .iter()
                .map(|driver| format!("driver {driver}")),
        );
        who.extend(backend.interface.clone());
    }
    line(&mut text, &who.join(", "));
    text
}

/// A line for each caveat that a reader must know before the first number.
pub(super) fn cautions(caveats: &[Caveat]) -> String {
    caveats
        .iter()
        .filter(|caveat| is_caution(caveat))
        .map(|caveat| format!("CAUTION: {caveat}\n"))
        .collect()
}

/// The devices with their links, under a title.
pub(super) fn devices(devices: &[LinkDevice]) -> String {
    format!("\nDevices\n{}", indented(&device_table(devices)))
}

fn device_table(devices: &[LinkDevice]) -> Table {
    let mut table = table();
    let has_link = devices.iter().any(|device| device.address.is_some());
    let mut titles = vec!["", "name", "node", "memory"];
    if has_link {
        titles.extend([
            "address",
            "slot under load",
            "device under load",
            "idle",
            "slot maximum",
        ]);
    }
    table.set_header(titles);
    for device in devices {
        let memory = device
            .memory_bytes
            .map_or_else(|| ABSENT.to_owned(), |bytes| ByteCount(bytes).to_string());
        let node = device
            .node
            .map_or_else(|| ABSENT.to_owned(), |node| node.to_string());
        let mut row = vec![device.label.clone(), name(device), node, memory];
        if has_link {
            row.push(
                device
                    .address
                    .map_or_else(|| ABSENT.to_owned(), |address| address.to_string()),
            );
            row.extend(link_cells(device));
        }
        table.add_row(row);
    }
    table
}

fn name(device: &LinkDevice) -> String {
    let profile = device.mig.as_ref().and_then(|mig| mig.profile.as_ref());
    match profile.filter(|profile| !device.name.contains(profile.as_str())) {
        Some(profile) => format!("{} (MIG {profile})", device.name),
        None => device.name.clone(),
    }
}

fn link_cells(device: &LinkDevice) -> Vec<String> {
    let of = |reading: &Option<LinkReading>,
              part: fn(&LinkReading) -> Option<topology::PcieLink>| {
        let link = reading.as_ref().and_then(part);
        link.map_or_else(|| ABSENT.to_owned(), |link| link.to_string())
    };
    vec![
        of(&device.loaded, |reading| reading.slot),
        of(&device.loaded, |reading| reading.device),
        of(&device.idle, LinkReading::limiting),
        of(&device.loaded, |reading| reading.slot_maximum),
    ]
}

/// Right-aligns every column but the first.
pub(super) fn numbers_right(table: &mut Table) {
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}
