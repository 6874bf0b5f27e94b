//! Whether rates fall over the time of a soak: the last of its records of a copy against the first, and where that is open, the last few
//! against the first few.

use std::collections::BTreeMap;

use record::{Links, Outcome, Payload};

use super::copies::arrow;
use super::held::Held;
use super::judging::Judging;
use super::pool::HOST;
use super::spread::is_open;
use super::three_way::Figure;
use crate::cli::Level;
use crate::report::{Check, Evidence, Side};
use record::Endpoint;

const KIND: &str = "drift";

/// Copies whose rates are followed.
const CASES: [&str; 3] = ["h2d_pinned_ce", "d2h_pinned_ce", "d2d_write_ce"];

/// So many rounds at either end are taken together where one of each leaves it open (our choice): three of six samples are eighteen,
/// whose median has an interval between its 5th and its 14th and not between the least and the largest.
const TOGETHER: usize = 3;

/// A copy in the order of time, a round each.
type Course = Vec<Round>;

/// A copy in one round of a soak.
struct Round {
    samples: Vec<f64>,
    /// The record's place.
    source: String,
}

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
                courses.entry(key).or_default().push(Round {
                    samples,
                    source: found.source.clone(),
                });
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
    let of_point = |point: &record::Point| {
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
    if course.len() < 2 {
        return None;
    }
    let check = over(judging, (&case, &ends), course, 1)?;
    let most = TOGETHER.min(course.len() / 2);
    Some(match most {
        // Other rounds do not outvote a last one whose median is beyond the line itself: what comes late stands there first.
        2.. if is_open(&check) && !is_beyond(&check) => {
            over(judging, (&case, &ends), course, most)?
        }
        _ => check,
    })
}

/// Whether the figure itself lies beyond the line that fails, whatever its interval.
fn is_beyond(check: &Check) -> bool {
    let (Some(limit), Some(Evidence::Measured { value, .. })) =
        (&check.limit, check.evidence.first())
    else {
        return false;
    };
    limit.fail.is_some_and(|fail| match limit.good {
        Side::AtLeast => *value < fail,
        Side::AtMost => *value > fail,
    })
}

/// The last so many rounds over the first so many.
fn over(
    judging: &Judging<'_>,
    (case, ends): (&str, &str),
    course: &Course,
    many: usize,
) -> Option<Check> {
    let (first, last) = (&course[..many], &course[course.len() - many..]);
    let samples = |rounds: &[Round]| {
        let all = rounds.iter().flat_map(|round| &round.samples);
        Figure::of(all.copied().collect())
    };
    let sources: Vec<&str> = first
        .iter()
        .chain(last)
        .map(|round| round.source.as_str())
        .collect();
    let between: Vec<Evidence> = course
        .iter()
        .filter_map(|round| {
            let figure = Figure::of(round.samples.clone())?;
            Some(figure.evidence(format!("{case} {ends}"), "GB/s", &round.source))
        })
        .collect();
    let devices = ends
        .split("->")
        .filter(|end| *end != HOST)
        .map(str::to_owned)
        .collect();
    let what = match many {
        1 => format!("rate of the last of {} rounds over the first", course.len()),
        _ => format!(
            "rate of the last {many} of {} rounds over the first {many}",
            course.len()
        ),
    };
    let about = vec![case.to_owned(), ends.to_owned()];
    let ratio = samples(last)?.over(&samples(first)?)?;
    let held = Held::new(KIND, about, ratio, (what, "1"), sources.join(", "));
    Some(judging.hold(Held {
        more: between,
        ..held.by(judging.row(KIND, None), devices)
    }))
}
