//! What `p2p-bw load` found: whether memory kept what was written, and whether sums came out right.
//!
//! Its rates are told and not judged: they are those of a device that does both at once, with copies beside them.

use std::collections::BTreeMap;

use measure::record::{
    Endpoint, LOAD_ARITHMETIC, LOAD_MEMORY, NamedQuantity, Outcome, Payload, Point, judged,
};
use measure::unit::ByteCount;

use super::judging::Judging;
use super::three_way::Figure;
use super::trouble::{Trouble, of_copy};
use crate::report::{Check, Evidence, ReasonCode, Seen, Verdict};

/// What all records hold of the load of one device.
#[derive(Default)]
struct Loaded<'a> {
    points: Vec<(&'a Point, &'a str)>,
}

/// One check for each device whose memory was loaded.
pub(super) fn memory(judging: &Judging<'_>) -> Vec<Check> {
    checks(judging, "memory", LOAD_MEMORY)
}

/// One check for each device that multiplied, or did not.
pub(super) fn arithmetic(judging: &Judging<'_>) -> Vec<Check> {
    checks(judging, "arithmetic", LOAD_ARITHMETIC)
}

fn checks(judging: &Judging<'_>, kind: &str, case: &str) -> Vec<Check> {
    let mut devices: BTreeMap<String, Loaded<'_>> = BTreeMap::new();
    for found in &judging.findings.links {
        let Payload::Links(links) = &found.it.payload else {
            continue;
        };
        for point in links.points.iter().filter(|point| point.case == case) {
            let Endpoint::Device(index) = point.from else {
                continue;
            };
            if let Some(device) = links.devices.get(index) {
                let loaded = devices.entry(device.label.clone()).or_default();
                loaded.points.push((point, &found.source));
            }
        }
    }
    devices
        .into_iter()
        .map(|(label, loaded)| of_device(judging, kind, label, &loaded))
        .collect()
}

fn of_device(judging: &Judging<'_>, kind: &str, label: String, loaded: &Loaded<'_>) -> Check {
    let troubles = loaded
        .points
        .iter()
        .filter_map(|(point, source)| Some((of_copy(&point.outcome)?, *source)));
    let order = |(trouble, _): &(Trouble, &str)| match trouble.verdict {
        Verdict::Fail => 2,
        Verdict::Inconclusive => 1,
        _ => 0,
    };
    if let Some((trouble, source)) = troubles.max_by_key(order) {
        let trouble = match trouble.verdict {
            Verdict::Skip => Trouble {
                text: format!("not covered: {}", trouble.text),
                ..trouble
            },
            _ => trouble,
        };
        return judging.troubled(kind, vec![label], &trouble, source);
    }
    let bytes = loaded.points.iter().map(|(point, _)| point.bytes).max();
    let by_copies = loaded
        .points
        .iter()
        .flat_map(|(point, _)| &point.caveats)
        .map(|caveat| format!("; {caveat}"))
        .next();
    let rates = rates(loaded);
    let told: Vec<String> = rates
        .iter()
        .map(|(name, unit, figure, _)| {
            let interval = figure.ends.map_or(String::new(), |(low, high)| {
                format!(" [{low:.1}, {high:.1}]")
            });
            format!(
                "{name} {:.1}{interval} {unit} (n={})",
                figure.value, figure.n
            )
        })
        .collect();
    let of_what = match kind {
        "memory" => format!(
            "{} kept what was written",
            ByteCount(bytes.unwrap_or_default())
        ),
        _ => "all sums were right".to_owned(),
    };
    let text = format!(
        "{of_what} in {} loads; {}{}",
        loaded.points.len(),
        told.join(", "),
        by_copies.unwrap_or_default()
    );
    let first = Evidence::Seen {
        what: "loads in which every word or sum was compared".to_owned(),
        value: "all as they must be".to_owned(),
        expected: Some("all as they must be".to_owned()),
        n: loaded.points.len(),
        source: loaded
            .points
            .first()
            .map_or("", |(_, source)| source)
            .to_owned(),
    };
    let more: Vec<Evidence> = rates
        .iter()
        .map(|(name, unit, figure, source)| figure.evidence((*name).to_owned(), unit, source))
        .collect();
    let came = (Verdict::Pass, ReasonCode::AsExpected, text);
    judging.judged(kind, [label], came, None, Seen::new(first, more))
}

/// The rates by name over all loads, each with its unit and where it first stands.
fn rates<'a>(loaded: &Loaded<'a>) -> Vec<(&'a str, String, Figure, &'a str)> {
    let mut all: BTreeMap<&str, (String, Vec<f64>, &str)> = BTreeMap::new();
    for (point, source) in &loaded.points {
        let Outcome::Measured { quantities, .. } = &point.outcome else {
            continue;
        };
        for NamedQuantity { name, quantity } in judged(quantities) {
            let new = || (quantity.unit.to_string(), Vec::new(), *source);
            let entry = all.entry(name).or_insert_with(new);
            entry.1.extend(&quantity.samples);
        }
    }
    all.into_iter()
        .filter_map(|(name, (unit, samples, source))| {
            Some((name, unit, Figure::of(samples)?, source))
        })
        .collect()
}
