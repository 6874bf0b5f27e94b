//! The tables of a `p2p-bw` record: one for each case.

use super::record::reservations;
use super::{case, header, notes};
use crate::caveat::Caveat;
use crate::record::{Links, Outcome, Point, Record};

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

/// What holds for points of several cases is said once, at the end, with the cases where they are not all that were measured.
fn shared_caveats(links: &Links) -> Vec<String> {
    let mut shared: Vec<(String, Vec<&str>)> = Vec::new();
    for point in &links.points {
        for caveat in point.caveats.iter().filter(|one| notes::is_general(one)) {
            let text = caveat.to_string();
            let at = shared.iter().position(|(known, _)| *known == text);
            let at = at.unwrap_or_else(|| {
                shared.push((text, Vec::new()));
                shared.len() - 1
            });
            if !shared[at].1.contains(&point.case.as_str()) {
                shared[at].1.push(&point.case);
            }
        }
    }
    let is_measured = |point: &&Point| matches!(point.outcome, Outcome::Measured { .. });
    let mut measured: Vec<&str> = links
        .points
        .iter()
        .filter(is_measured)
        .map(|point| point.case.as_str())
        .collect();
    measured.dedup();
    let with_cases = |(text, cases): (String, Vec<&str>)| {
        if measured.iter().all(|case| cases.contains(case)) {
            text
        } else {
            format!("{}: {text}", cases.join(", "))
        }
    };
    shared.into_iter().map(with_cases).collect()
}
