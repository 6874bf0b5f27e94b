//! Network cards: their links, their ports, and which is nearest to each GPU.

use topology::{EndKind, Nic, RdmaPort};

use super::cards::links;
use super::page::{ABSENT, Page, or_absent};
use crate::topo::card::Card;
use crate::topo::read::Shown;

/// Network cards.
pub(super) fn nics(page: &mut Page, shown: &Shown) {
    let cards: Vec<&Card> = shown.cards(EndKind::Nic).collect();
    if cards.is_empty() {
        return;
    }
    page.title("NICs");
    links(page, &cards);
    let ports: Vec<Vec<String>> = cards
        .iter()
        .zip(&shown.nics)
        .flat_map(|(card, nic)| ports(&card.end.name, nic))
        .collect();
    if !ports.is_empty() {
        page.title("Ports of NICs");
        page.table(
            &["", "port", "state", "wire", "rate", "layer", "GID index"],
            ports,
        );
    }
    nearest(page, shown);
}

/// RDMA ports, and the interfaces of cards without any.
fn ports(name: &str, nic: &Nic) -> Vec<Vec<String>> {
    let rdma = nic.rdma.iter().flat_map(|device| {
        device.ports.iter().map(|port| {
            vec![
                name.to_owned(),
                format!("{} {}", device.name, port.number),
                or_absent(port.state.as_ref()),
                or_absent(port.physical.as_ref()),
                or_absent(port.rate.as_ref()),
                or_absent(port.link_layer.as_ref()),
                gids(port),
            ]
        })
    });
    let interfaces = nic.interfaces.iter().map(|interface| {
        vec![
            name.to_owned(),
            interface.name.clone(),
            or_absent(interface.state.as_ref()),
            ABSENT.to_owned(),
            interface
                .mbit_per_s
                .map_or(ABSENT.to_owned(), |rate| format!("{rate} Mbit/s")),
        ]
    });
    rdma.chain(interfaces).collect()
}

/// The indexes by their types: `RoCE v2 1,3`.
fn gids(port: &RdmaPort) -> String {
    let mut kinds: Vec<(&str, Vec<String>)> = Vec::new();
    for gid in &port.gids {
        match kinds.iter_mut().find(|(kind, _)| *kind == gid.kind) {
            Some((_, indexes)) => indexes.push(gid.index.to_string()),
            None => kinds.push((&gid.kind, vec![gid.index.to_string()])),
        }
    }
    if kinds.is_empty() {
        let nothing = if port.gids_shown {
            "none in use"
        } else {
            ABSENT
        };
        return nothing.to_owned();
    }
    let kinds: Vec<String> = kinds
        .iter()
        .map(|(kind, indexes)| format!("{kind} {}", indexes.join(",")))
        .collect();
    kinds.join("; ")
}

/// The nearest NICs of each GPU.
fn nearest(page: &mut Page, shown: &Shown) {
    let ends = || shown.matrix.ends.iter().enumerate();
    let of_kind = |kind| ends().filter(move |(_, end)| end.kind == kind);
    let rows: Vec<Vec<String>> = of_kind(EndKind::Gpu)
        .filter_map(|(gpu, end)| {
            let class = |nic: usize| shown.matrix.class(gpu, nic);
            let best = of_kind(EndKind::Nic)
                .filter_map(|(nic, _)| class(nic))
                .min()?;
            let nearest: Vec<&str> = of_kind(EndKind::Nic)
                .filter(|(nic, _)| class(*nic) == Some(best))
                .map(|(_, end)| end.name.as_str())
                .collect();
            Some(vec![end.name.clone(), nearest.join(" "), best.to_string()])
        })
        .collect();
    if !rows.is_empty() {
        page.title("NICs nearest to each GPU");
        page.table(&["", "NICs", "path"], rows);
    }
}
