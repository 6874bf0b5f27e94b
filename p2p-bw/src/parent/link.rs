//! What a point's link can carry, and what to say about it.

use std::collections::BTreeMap;

use measure::caveat::Caveat;
use measure::record::{LinkDevice, LinkReading, LinkUse, NamedQuantity};
use topology::{PathType, PcieLink};

use super::monitor::Readings;
use super::plan::Planned;
use crate::cases::{Ends, Pattern};

/// Assumed where the configuration space is closed: what most servers set.
pub(super) const ASSUMED_PAYLOAD_BYTES: u32 = 256;

/// The link a point used, from the readings taken while it ran, else from those before.
pub(super) fn link_use(
    point: &Planned,
    devices: &[LinkDevice],
    readings: &Readings,
    path: Option<PathType>,
    quantities: &[NamedQuantity],
    backend_has_links: bool,
) -> LinkUse {
    let none = |basis: String| LinkUse {
        path,
        ceiling_gb_per_s: None,
        fraction: BTreeMap::new(),
        basis,
    };
    if !backend_has_links {
        return none("host memory: no link between the ends".to_owned());
    }
    if point.case.pattern == Pattern::Local {
        return none("within the device: no link".to_owned());
    }
    match path {
        Some(PathType::Sys) => {
            return none("crosses the socket link, whose ceiling is unknown".to_owned());
        }
        Some(PathType::Unknown) => {
            return none("the path between the devices is unknown".to_owned());
        }
        Some(PathType::Same) => {
            return none("two instances on one device: no link between them".to_owned());
        }
        _ => {}
    }
    let mut ceiling: Option<(f64, String)> = None;
    for position in point.devices() {
        let Some(device) = devices.get(position) else {
            continue;
        };
        let Some((link, when)) = link_of(device, readings.get(&position)) else {
            return none("the link is unreadable".to_owned());
        };
        let payload = device.max_payload_bytes.unwrap_or(ASSUMED_PAYLOAD_BYTES);
        let carries = link.payload_ceiling_gb_per_s(payload);
        let assumed = if device.max_payload_bytes.is_none() {
            " assumed"
        } else {
            ""
        };
        let basis = format!("{link}{when}, payload {payload} B{assumed}");
        if ceiling.as_ref().is_none_or(|(other, _)| carries < *other) {
            ceiling = Some((carries, basis));
        }
    }
    let Some((ceiling, basis)) = ceiling else {
        return none("no link".to_owned());
    };
    // Both directions at once may carry the ceiling each.
    let factor = |name: &str| if name == "total" { 2.0 } else { 1.0 };
    let fraction = quantities
        .iter()
        .map(|named| {
            (
                named.name.clone(),
                named.quantity.value / (ceiling * factor(&named.name)),
            )
        })
        .collect();
    LinkUse {
        path,
        ceiling_gb_per_s: Some(ceiling),
        fraction,
        basis,
    }
}

/// The limiting link of a device, and a word where it was not read under load.
fn link_of(device: &LinkDevice, now: Option<&LinkReading>) -> Option<(PcieLink, &'static str)> {
    let limiting = |reading: &LinkReading| reading.narrowed_to.or(reading.limiting());
    now.and_then(limiting)
        .map(|link| (link, ""))
        .or_else(|| {
            device
                .loaded
                .as_ref()
                .and_then(limiting)
                .map(|link| (link, " (read under earlier load)"))
        })
        .or_else(|| {
            device
                .idle
                .as_ref()
                .and_then(limiting)
                .map(|link| (link, " (read idle)"))
        })
}

/// A device's summary with the readings of one more point: the fastest state stays.
pub(super) fn merged(device: &LinkDevice, now: &LinkReading) -> LinkReading {
    let Some(before) = &device.loaded else {
        return now.clone();
    };
    let faster = |a: Option<PcieLink>, b: Option<PcieLink>| {
        [a, b].into_iter().flatten().max_by(|a, b| a.cmp_rate(*b))
    };
    let width = |reading: &LinkReading| reading.limiting().map(PcieLink::width);
    let narrowed = match (width(before), width(now)) {
        (Some(before), Some(after)) if after < before => now.limiting(),
        _ => None,
    };
    LinkReading {
        device: faster(before.device, now.device),
        slot: faster(before.slot, now.slot),
        slot_maximum: now.slot_maximum.or(before.slot_maximum),
        readings: before.readings + now.readings,
        narrowed_to: now.narrowed_to.or(narrowed).or(before.narrowed_to),
        unreadable: now.unreadable.clone(),
    }
}

/// What to say about a device's link once all was measured.
pub(super) fn caveats(devices: &[LinkDevice]) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    for device in devices {
        let Some(loaded) = &device.loaded else {
            continue;
        };
        let Some(link) = loaded.limiting() else {
            continue;
        };
        if let Some(narrow) = loaded.narrowed_to {
            caveats.push(Caveat::LinkNarrowed {
                device: device.label.clone(),
                from: link.to_string(),
                to: narrow.to_string(),
            });
        }
        if let Some(maximum) = loaded
            .slot_maximum
            .filter(|maximum| link.cmp_rate(*maximum).is_lt())
        {
            caveats.push(Caveat::LinkBelowMaximum {
                device: device.label.clone(),
                now: link.to_string(),
                maximum: maximum.to_string(),
            });
        }
    }
    caveats.extend(assumed_payload(devices));
    caveats.extend(devices.iter().filter_map(unreadable));
    caveats
}

/// The state of a device's link, read under load or else idle.
fn reading(device: &LinkDevice) -> Option<&LinkReading> {
    device.loaded.as_ref().or(device.idle.as_ref())
}

/// One reservation for all devices whose payload size is assumed.
fn assumed_payload(devices: &[LinkDevice]) -> Option<Caveat> {
    let assumed = |device: &&LinkDevice| {
        device.max_payload_bytes.is_none()
            && reading(device).and_then(LinkReading::limiting).is_some()
    };
    let labels: Vec<&str> = devices
        .iter()
        .filter(assumed)
        .map(|device| device.label.as_str())
        .collect();
    (!labels.is_empty()).then(|| Caveat::PayloadSizeAssumed {
        device: labels.join(", "),
        bytes: ASSUMED_PAYLOAD_BYTES,
    })
}

/// Why a device's numbers have no ceiling.
fn unreadable(device: &LinkDevice) -> Option<Caveat> {
    let reading = reading(device).filter(|reading| reading.limiting().is_none())?;
    let why = reading
        .unreadable
        .as_deref()
        .unwrap_or("no reason was given");
    let text = format!(
        "{}'s link is unreadable, so its numbers have no ceiling: {why}",
        device.label
    );
    Some(Caveat::Note { text })
}

/// Whether a point is between two devices.
pub(super) fn is_pair(point: &Planned) -> bool {
    point.case.ends() != Ends::Device
}
