//! The tables of a `p2p-bw` record: one for each case.

use super::record::reservations;
use super::{case, header, notes};
use crate::caveat::Caveat;
use crate::record::{Links, Point, Record};

/// Header, cases and reservations.
pub(super) fn tables(record: &Record, links: &Links, soft: Option<&str>) -> String {
    let mut text = header::header(record, links, soft);
    for key in case_keys(links) {
        let points: Vec<&Point> = links
            .points
            .iter()
            .filter(|point| point.case == key)
            .collect();
        text.push('\n');
        text.push_str(&case::case(key, &points, links, soft.is_some()));
    }
    let general: Vec<String> = links
        .caveats
        .iter()
        .filter(|caveat| !header::is_caution(caveat))
        .map(Caveat::to_string)
        .chain(shared_caveats(links))
        .collect();
    reservations(&mut text, &general);
    text
}

/// Keys in the order in which their first points come.
fn case_keys(links: &Links) -> Vec<&str> {
    let mut keys: Vec<&str> = Vec::new();
    for point in &links.points {
        if !keys.contains(&point.case.as_str()) {
            keys.push(&point.case);
        }
    }
    keys
}

/// What holds for points of every case is said once, at the end.
fn shared_caveats(links: &Links) -> Vec<String> {
    let mut shared: Vec<String> = Vec::new();
    for caveat in links.points.iter().flat_map(|point| &point.caveats) {
        let text = caveat.to_string();
        if notes::is_general(caveat) && !shared.contains(&text) {
            shared.push(text);
        }
    }
    shared
}
