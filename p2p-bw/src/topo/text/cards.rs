//! GPUs and other functions with their links, the bridges above them, and the errors that were counted.

use std::collections::BTreeMap;

use topology::{EndKind, Fact, PciAddress, PciFunction};

use super::page::{ABSENT, Page, or_absent};
use crate::topo::card::{Card, TRAINED_DOWN};
use crate::topo::read::Shown;

/// GPUs: what they are, their slot links, and how peers reach their memory.
pub(super) fn gpus(page: &mut Page, shown: &Shown) {
    let gpus: Vec<&Card> = shown.cards(EndKind::Gpu).collect();
    if gpus.is_empty() {
        return;
    }
    page.title("GPUs; a link is the narrowest between the card and the processor");
    links(page, &gpus);
    page.title("What peers and the processor meet at each GPU");
    let row = |card: &&Card| {
        vec![
            card.end.name.clone(),
            card.bar.as_ref().map_or(ABSENT.to_owned(), told),
            told(&card.iommu),
            sizes(card),
            told(&card.aspm),
        ]
    };
    page.folded(
        &[
            "",
            "memory window",
            "IOMMU",
            "payload, read request",
            "ASPM",
        ],
        gpus.iter().map(row).collect(),
    );
}

/// Functions that were asked for.
pub(super) fn others(page: &mut Page, shown: &Shown) {
    let others: Vec<&Card> = shown.cards(EndKind::Other).collect();
    if !others.is_empty() {
        page.title("Other functions");
        links(page, &others);
    }
}

/// Addresses, drivers and slot links.
pub(super) fn links(page: &mut Page, cards: &[&Card]) {
    let row = |card: &&Card| {
        let (pci, narrow) = (&card.pci, card.narrow());
        let (now, best) = match &card.slot_link {
            Fact::Known(slot) => (slot.current.to_string(), or_absent(slot.maximum)),
            Fact::Unknown(_) => (ABSENT.to_owned(), or_absent(card.card_maximum)),
        };
        let why = match &card.slot_link {
            Fact::Unknown(why) => vec![why.clone()],
            Fact::Known(_) => narrow,
        };
        vec![
            card.end.name.clone(),
            pci.address.to_string(),
            card.end
                .label
                .clone()
                .unwrap_or_else(|| format!("{:04x}:{:04x}", pci.vendor, pci.device_id)),
            or_absent(card.driver.as_ref()),
            now,
            best,
            why.join("; "),
        ]
    };
    page.table(
        &["", "address", "what", "driver", "slot link", "at most", ""],
        cards.iter().map(row).collect(),
    );
    let may_rest = |card: &&Card| {
        card.narrow()
            .iter()
            .any(|said| said.starts_with(TRAINED_DOWN))
    };
    if cards.iter().any(may_rest) {
        page.line("  idle links train down; `p2p-bw monitor` reads them under load");
    }
}

/// Bridges above the ends: which send packets between devices up to the root complex.
pub(super) fn bridges(page: &mut Page, shown: &Shown) {
    // By address, each with the names of what is below it.
    let mut above: BTreeMap<PciAddress, (&PciFunction, Vec<&str>)> = BTreeMap::new();
    for card in &shown.devices {
        for bridge in shown.tree.above(&card.pci) {
            let (_, below) = above
                .entry(bridge.pci.address)
                .or_insert_with(|| (bridge, Vec::new()));
            below.push(&card.end.name);
        }
    }
    if above.is_empty() {
        return;
    }
    page.title("Bridges above them");
    let row = |(bridge, below): &(&PciFunction, Vec<&str>)| {
        let acs = match (&bridge.acs, bridge.redirects()) {
            (Some(Fact::Known(Some(bits))), Some(true)) => {
                format!("redirects to the root complex (control {bits:#04x})")
            }
            (Some(Fact::Known(Some(bits))), _) => format!("no redirect (control {bits:#04x})"),
            (Some(Fact::Known(None)), _) => "no ACS".to_owned(),
            (Some(Fact::Unknown(why)), _) => format!("unknown, {why}"),
            (None, _) => ABSENT.to_owned(),
        };
        vec![
            bridge.pci.address.to_string(),
            or_absent(bridge.current),
            or_absent(bridge.maximum),
            acs,
            below.join(" "),
        ]
    };
    page.folded(
        &["address", "link", "at most", "ACS", "above"],
        above.values().map(row).collect(),
    );
}

/// Functions that counted errors since they started.
pub(super) fn errors(page: &mut Page, shown: &Shown) {
    let counted = shown
        .tree
        .functions
        .iter()
        .filter(|function| function.aer.is_some_and(|aer| aer.sum() > 0));
    let row = |function: &PciFunction| {
        let aer = function.aer.unwrap_or_default();
        let mut row = vec![function.pci.address.to_string()];
        row.extend([aer.correctable, aer.nonfatal, aer.fatal].map(or_absent));
        row
    };
    let rows: Vec<Vec<String>> = counted.map(row).collect();
    if !rows.is_empty() {
        page.title("Errors that functions counted since they started (AER)");
        page.table(&["address", "correctable", "nonfatal", "fatal"], rows);
    }
}

fn sizes(card: &Card) -> String {
    match &card.settings {
        Fact::Unknown(why) => format!("unknown, {why}"),
        Fact::Known(settings) => {
            let bytes =
                |size: Option<u32>| size.map_or(ABSENT.to_owned(), |size| format!("{size} B"));
            let way = card.max_payload_bytes.or(settings.max_payload_bytes);
            format!("{}, {}", bytes(way), bytes(settings.max_read_request_bytes))
        }
    }
}

/// A fact, or that it is unknown and why.
fn told<T: std::fmt::Display>(fact: &Fact<T>) -> String {
    fact.to_string()
}
