//! What a number of a point is called: its ends, in the direction that it stands for.

use record::{Endpoint, Links, Outcome, Point, stream};

/// Whether several devices are at it at once.
pub(crate) fn is_group(point: &Point) -> bool {
    [point.from, point.to].contains(&Endpoint::All)
}

/// Whether data goes both ways in it.
fn is_both_ways(point: &Point) -> bool {
    let Outcome::Measured { quantities, .. } = &point.outcome else {
        return false;
    };
    quantities
        .iter()
        .any(|named| named.name.starts_with("back"))
}

/// What a number of a point is called; for shares of [`record::stream`] the ends of their stream.
#[must_use]
pub fn direction(point: &Point, name: &str, links: &Links) -> String {
    let label = |end| label(links, end);
    let (from, to) = (label(point.from), label(point.to));
    if let Some((from, to)) = stream(name, point.from, point.to, links.devices.len()) {
        return format!("{} to {}", label(from), label(to));
    }
    let all = if point.from == point.to {
        from.clone()
    } else if is_group(point) && is_both_ways(point) {
        format!("{from} and {to}")
    } else {
        format!("{from} to {to}")
    };
    match (name, point.from) {
        ("back", _) => format!("{to} to {from}"),
        ("total", _) if is_group(point) => format!("{all}, total"),
        ("total", _) => format!("{from} and {to}, total"),
        // A load goes from the kernel to the memory; its data comes the other way.
        ("latency", _) if point.from == point.to => from,
        ("latency", Endpoint::Host) => format!("{to} loads from {from}"),
        ("latency", _) => format!("{from} loads from {to}"),
        ("bandwidth" | "forward", _) => all,
        _ => format!("{all}, {name}"),
    }
}

/// What an end is called.
pub(crate) fn label(links: &Links, end: Endpoint) -> String {
    match end {
        Endpoint::Host => "host".to_owned(),
        Endpoint::All => "all".to_owned(),
        Endpoint::Device(position) => links
            .devices
            .get(position)
            .map_or("?".to_owned(), |device| device.label.clone()),
    }
}
