//! GPUs, NICs and the bridges above them as tables, and what is narrow.

use std::collections::BTreeMap;

use topology::{EndKind, Fact, PciAddress, PciFunction};
use view::{Block, Item, Section, Table, Tone};

use super::read::Shown;

/// What stands where nothing is known.
pub(super) const ABSENT: &str = "—";

/// A cell.
pub(super) fn shown<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| ABSENT.to_owned(), |value| value.to_string())
}

/// A table that -v shows, where it has rows.
pub(super) fn detail<const N: usize>(
    heading: &str,
    heads: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> Option<Section> {
    let mut table = Table::under(heads);
    rows.into_iter().for_each(|row| table.row(row));
    match table.rows.is_empty() {
        true => None,
        false => Some(Section::detail(heading, vec![Block::Table(table)])),
    }
}

/// GPUs and NICs with their links, what peers and the processor meet at each GPU, and the bridges above.
pub(super) fn sections(of: &Shown) -> impl Iterator<Item = Section> {
    let heads = ["", "BAR1", "IOMMU", "payload", "read request", "ASPM"];
    let at_each = of.cards(EndKind::Gpu).map(|card| {
        let settings = card.settings.as_ref().and_then(Fact::known);
        let own = settings.and_then(|settings| settings.max_payload_bytes);
        [
            card.end.name.clone(),
            shown(card.bar.as_ref()),
            card.iommu.to_string(),
            shown(card.max_payload_bytes.or(own)),
            shown(settings.and_then(|settings| settings.max_read_request_bytes)),
            shown(card.aspm.as_ref()),
        ]
    });
    let sections = [
        cards(of, "GPUs", EndKind::Gpu),
        detail("At each GPU", heads, at_each),
        bridges(of),
        cards(of, "NICs", EndKind::Nic),
    ];
    sections.into_iter().flatten()
}

/// Ends of a kind with their links.
fn cards(of: &Shown, heading: &str, kind: EndKind) -> Option<Section> {
    let heads = ["", "address", "what", "driver", "link now", "at most"];
    let rows = of.cards(kind).map(|card| {
        let pci = &card.pci;
        let label = card.end.label.clone();
        let (now, most) = match &card.slot_link {
            Fact::Known(slot) => (slot.current.to_string(), slot.maximum),
            Fact::Unknown(why) => (format!("unknown, {why}"), None),
        };
        [
            card.end.name.clone(),
            pci.address.to_string(),
            label.unwrap_or_else(|| format!("{:04x}:{:04x}", pci.vendor, pci.device_id)),
            shown(card.driver.as_ref()),
            now,
            shown(most),
        ]
    });
    detail(heading, heads, rows)
}

/// Links that lack lanes, and slots below their cards; a link that only trained down is idle.
pub(super) fn narrow(of: &Shown) -> Vec<Item> {
    let warn = |text: String, code| Item::of(Tone::Warning, text).coded(code);
    let mut items = Vec::new();
    for card in &of.devices {
        let name = &card.end.name;
        items.extend(card.lacks_lanes().map(|(now, most)| {
            let text = format!("{name} runs at x{now} of x{most}.");
            warn(text, "link-below-slot")
        }));
        items.extend(card.outdoes_slot(of).map(|[slot, best]| {
            let text = format!("{name}: the card can do {best}, its slot {slot}.");
            warn(text, "slot-below-card")
        }));
    }
    items
}

/// Bridges above the ends: which send packets between devices up to the root complex.
fn bridges(of: &Shown) -> Option<Section> {
    let mut above: BTreeMap<PciAddress, (&PciFunction, Vec<&str>)> = BTreeMap::new();
    for card in &of.devices {
        for bridge in of.tree.above(&card.pci) {
            let entry = above.entry(bridge.pci.address);
            let (_, below) = entry.or_insert_with(|| (bridge, Vec::new()));
            below.push(&card.end.name);
        }
    }
    let rows = above.values().map(|(bridge, below)| {
        let acs = match (&bridge.acs, bridge.redirects()) {
            (Some(Fact::Known(Some(_))), Some(true)) => "redirects".to_owned(),
            (Some(Fact::Known(Some(_))), _) => "no redirect".to_owned(),
            (Some(Fact::Known(None)), _) => "no ACS".to_owned(),
            (Some(Fact::Unknown(why)), _) => format!("unknown, {why}"),
            (None, _) => ABSENT.to_owned(),
        };
        [
            bridge.pci.address.to_string(),
            shown(bridge.current),
            shown(bridge.maximum),
            acs,
            below.join(" "),
        ]
    });
    let heads = ["address", "link", "at most", "ACS", "above"];
    detail("Bridges", heads, rows)
}
