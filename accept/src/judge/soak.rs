//! Whether rates fall over the time of a soak: the last of its records of a copy against the first.

use std::collections::BTreeMap;

use measure::record::{Links, Outcome, Payload};

use super::copies::arrow;
use super::held::{Ceiling, Held};
use super::judging::Judging;
use super::pool::HOST;
use super::three_way::Figure;
use crate::cli::Level;
use crate::report::{Check, Evidence, ReasonCode};
use measure::record::Endpoint;

const KIND: &str = "drift";

/// Copies whose rates are followed.
const CASES: [&str; 3] = ["h2d_pinned_ce", "d2h_pinned_ce", "d2d_write_ce"];

/// A copy in the order of time: its samples in each record, with the record's place.
type Course = Vec<(Vec<f64>, String)>;

/// One check for each copy that stands in at least two records.
pub(super) fn drift(judging: &Judging<'_>) -> Vec<Check> {
    if judging.level != Level::Soak {
        return Vec::new();
    }
    // What was measured before the soak had no load beside it.
    let records = judging.findings.links.iter();
    let mut records: Vec<_> = records.filter(|found| found.is_of_soak()).collect();
    records.sort_by(|a, b| {
        a.it.header
            .provenance
            .started
            .cmp(&b.it.header.provenance.started)
    });
    let mut courses: BTreeMap<(String, String), Course> = BTreeMap::new();
    for found in records {
        if let Payload::Links(links) = &found.it.payload {
            for (key, samples) in rates(links) {
                courses
                    .entry(key)
                    .or_default()
                    .push((samples, found.source.clone()));
            }
        }
    }
    courses
        .into_iter()
        .filter_map(|(key, course)| of_course(judging, key, &course))
        .collect()
}

fn rates(links: &Links) -> Vec<((String, String), Vec<f64>)> {
    let end = |end: Endpoint| match end {
        Endpoint::Device(index) => links.devices.get(index).map(|device| device.label.clone()),
        Endpoint::Host => Some(HOST.to_owned()),
        Endpoint::All => None,
    };
    let of_point = |point: &measure::record::Point| {
        let Outcome::Measured { quantities, .. } = &point.outcome else {
            return None;
        };
        let named = quantities.iter().find(|named| named.name == "bandwidth")?;
        let ends = (end(point.from)?, end(point.to)?);
        Some((
            (point.case.clone(), arrow(&ends)),
            named.quantity.samples.clone(),
        ))
    };
    let points = links
        .points
        .iter()
        .filter(|point| CASES.contains(&point.case.as_str()));
    points.filter_map(of_point).collect()
}

fn of_course(
    judging: &Judging<'_>,
    (case, ends): (String, String),
    course: &Course,
) -> Option<Check> {
    let ((first, source), (last, later)) = match &course[..] {
        [first, .., last] => (first, last),
        _ => return None,
    };
    let (first, last) = (Figure::of(first.clone())?, Figure::of(last.clone())?);
    let between: Vec<Evidence> = course
        .iter()
        .filter_map(|(samples, source)| {
            Some(Figure::of(samples.clone())?.evidence(format!("{case} {ends}"), "GB/s", source))
        })
        .collect();
    let devices = ends
        .split("->")
        .filter(|end| *end != HOST)
        .map(str::to_owned)
        .collect();
    Some(judging.hold(Held {
        kind: KIND,
        about: vec![case, ends],
        devices,
        figure: last.over(&first)?,
        what: format!("rate of the last of {} rounds over the first", course.len()),
        unit: "1",
        row: judging.row(KIND, None),
        ceiling: Ceiling::NoLink,
        bad: ReasonCode::Drift,
        source: format!("{source}, {later}"),
        more: between,
        remark: String::new(),
    }))
}
