//! Whether rates fall over the time of a soak: the last of its records of a copy against the first, and where that is open, the last few
//! against the first few.

use std::collections::BTreeMap;

use record::{Endpoint, Links, Outcome};

use super::judging::Judging;
use super::pool::{HOST, arrow};
use crate::cli::Level;
use crate::report::{Came, Check, Measured};

const KIND: &str = "drift";

/// Copies whose rates are followed.
const CASES: [&str; 3] = ["h2d_pinned_ce", "d2h_pinned_ce", "d2d_write_ce"];

/// So many rounds at either end are taken together where one of each leaves it open (our choice): three of six samples are eighteen,
/// whose median has an interval between its 5th and its 14th and not between the least and the largest.
const TOGETHER: usize = 3;

/// One check for each copy that stands in at least two records.
pub(super) fn drift(judging: &Judging<'_>) -> Vec<Check> {
    if judging.level != Level::Soak {
        return Vec::new();
    }
    // What was measured before the soak had no load beside it.
    let records = judging.findings.links.iter();
    let mut records: Vec<_> = records.filter(|found| found.is_of_soak()).collect();
    records.sort_by_key(|found| &found.it.header.provenance.started);
    let mut courses: BTreeMap<(&str, String), Vec<Measured>> = BTreeMap::new();
    for found in records {
        for (key, samples) in found.links().into_iter().flat_map(rates) {
            let rate = Measured::of(samples.to_vec());
            let rate = rate.map(|rate| rate.in_unit("GB/s", &*found.source));
            courses.entry(key).or_default().extend(rate);
        }
    }
    let checks = courses.iter().filter_map(|((case, ends), course)| {
        let came = of_course(judging, (case, ends), course)?;
        Some(judging.check(KIND, &[case, ends], came))
    });
    checks.collect()
}

fn rates(links: &Links) -> impl Iterator<Item = ((&str, String), &[f64])> {
    let end = |end: Endpoint| match end {
        Endpoint::Device(index) => links.devices.get(index).map(|device| &*device.label),
        Endpoint::Host => Some(HOST),
        Endpoint::All => None,
    };
    links.points.iter().filter_map(move |point| {
        let Outcome::Measured { quantities, .. } = &point.outcome else {
            return None;
        };
        let case = CASES.contains(&&*point.case).then_some(&*point.case)?;
        let named = quantities.iter().find(|named| named.name == "bandwidth")?;
        let ends = arrow((end(point.from)?, end(point.to)?));
        Some(((case, ends), &*named.quantity.samples))
    })
}

fn of_course(judging: &Judging<'_>, copy: (&str, &str), course: &[Measured]) -> Option<Came> {
    if course.len() < 2 {
        return None;
    }
    let (came, ratio) = over(judging, copy, course, 1)?;
    let limit = came.limit.as_ref();
    let is_open = limit.is_some_and(|limit| ratio.against(limit).2);
    // Other rounds do not outvote a last one whose median is beyond the line itself: what comes late stands there first.
    let fail = limit.and_then(|limit| limit.fail);
    let is_beyond = fail.is_some_and(|fail| ratio.value < fail);
    match TOGETHER.min(course.len() / 2) {
        many @ 2.. if is_open && !is_beyond => Some(over(judging, copy, course, many)?.0),
        _ => Some(came),
    }
}

/// The last so many rounds over the first so many.
fn over(
    judging: &Judging<'_>,
    (case, ends): (&str, &str),
    course: &[Measured],
    many: usize,
) -> Option<(Came, Measured)> {
    let (first, last) = (&course[..many], &course[course.len() - many..]);
    let all = |rounds: &[Measured]| {
        let samples = rounds.iter().flat_map(|round| &round.samples);
        Measured::of(samples.copied().collect())
    };
    let sources = first.iter().chain(last).map(|round| &*round.source);
    let sources = sources.collect::<Vec<&str>>().join(", ");
    let devices: Vec<&str> = ends.split("->").filter(|end| *end != HOST).collect();
    let of = course.len();
    let what = format!("rate of the last {many} of {of} rounds over the first");
    let ratio = all(last)?.over(&all(first)?)?.in_unit("1", sources);
    let ratio = ratio.named(what);
    let came = judging.hold(judging.row(KIND, None), ratio.clone(), &devices);
    let between = course.iter().cloned();
    let between = between.map(|round| round.named(format!("{case} {ends}")));
    Some((came.with(between), ratio))
}
