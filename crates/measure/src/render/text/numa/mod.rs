//! The tables of a `p2p-bw numa` record: one for each group of devices that are alike and each direction, then what they say.

mod host;
mod places;
mod says;
mod sizes;

use super::cell::ABSENT;
use super::header;
use super::record::{line, reservations};
use crate::caveat::Caveat;
use crate::record::{Numa, NumaPoint, Record, Status};

/// Header, tables and reservations.
pub(super) fn tables(record: &Record, numa: &Numa, soft: Option<&str>) -> String {
    let mut text = header::opening(record, soft, numa.backend.as_ref());
    text.push_str(&header::cautions(&numa.caveats));
    text.push_str(&devices(numa));
    text.push_str(&nodes(numa));
    let mark = if soft.is_some() { " [simulated]" } else { "" };
    text.push_str(&places::tables(numa, mark));
    text.push_str(&says::near_and_far(numa, mark));
    text.push_str(&sizes::sizes(numa, mark));
    text.push_str(&host::tables(numa));
    text.push_str(&says::binding(numa, record.status == Status::Complete));
    let general: Vec<String> = numa
        .caveats
        .iter()
        .filter(|caveat| !header::is_caution(caveat))
        .map(Caveat::to_string)
        .collect();
    reservations(&mut text, &general);
    text
}

/// The devices with their nodes.
fn devices(numa: &Numa) -> String {
    if numa.devices.is_empty() {
        return String::new();
    }
    let mut table = header::table();
    table.set_header(["", "name", "node", "address"]);
    for device in &numa.devices {
        let node = device.node.map(|node| node.to_string());
        let address = device.address.map(|address| address.to_string());
        let or_absent = |text: Option<String>| text.unwrap_or_else(|| ABSENT.to_owned());
        table.add_row([
            device.label.clone(),
            device.name.clone(),
            or_absent(node),
            or_absent(address),
        ]);
    }
    format!("\nDevices\n{}", header::indented(&table))
}

/// The nodes with their CPUs, memory and distances.
fn nodes(numa: &Numa) -> String {
    let Some(machine) = &numa.machine else {
        return String::new();
    };
    let mut text = "\nNUMA nodes\n".to_owned();
    if machine.nodes.is_empty() {
        line(&mut text, "  the kernel shows none");
        return text;
    }
    let mut table = header::table();
    let numbers = machine.nodes.iter().map(|node| node.id.to_string());
    let title = ["node", "CPUs", "memory", "distance to"].map(str::to_owned);
    table.set_header(title.into_iter().chain(numbers));
    for node in &machine.nodes {
        let cpus = match node.cpus.is_empty() {
            true => "none: memory only".to_owned(),
            false => node.cpus.to_string(),
        };
        let memory = node.memory_bytes.map_or_else(
            || ABSENT.to_owned(),
            |bytes| format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)),
        );
        let distances = machine.nodes.iter().map(|other| {
            let distance = node.distances.get(&other.id);
            distance.map_or_else(|| ABSENT.to_owned(), u32::to_string)
        });
        let row = [node.id.to_string(), cpus, memory, String::new()];
        table.add_row(row.into_iter().chain(distances));
    }
    text.push_str(&header::indented(&table));
    text
}

/// What a case's key says: direction and kind of memory.
fn direction_and_kind(point: &NumaPoint) -> (&str, &str) {
    let key = point.case.as_str();
    let key = key.strip_prefix("small_copy_").unwrap_or(key);
    let key = key.strip_suffix("_ce").unwrap_or(key);
    key.split_once('_').unwrap_or((key, "pinned"))
}

/// A direction in words.
fn direction_words(direction: &str) -> &str {
    match direction {
        "h2d" => "host to device",
        "d2h" => "device to host",
        other => other,
    }
}

/// The label of a device.
fn label(numa: &Numa, device: usize) -> String {
    let device = numa.devices.get(device);
    device.map_or_else(|| "?".to_owned(), |device| device.label.clone())
}
