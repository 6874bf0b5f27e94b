//! Devices and pairs beside their like: the two ways of a pair, and the members of a class.

use std::collections::BTreeMap;

use super::copies::{PAIR_CASES, arrow, class, figure_of, host_figure, pair_figure};
use super::held::Held;
use super::judging::Judging;
use super::pool::Pair;
use super::three_way::Figure;
use crate::report::{Came, Check, Evidence, ReasonCode};

const SYMMETRY: &str = "symmetry";
const SPREAD: &str = "spread";

/// Of fewer members none is named: it may be either.
const NAMED_FROM: usize = 3;

/// A device or pair of a class.
struct Member<'a> {
    name: String,
    devices: Vec<&'a str>,
    figure: Figure,
    source: String,
}

/// Whether each pair is as fast one way as the other, by the same kind of copy.
pub(super) fn symmetry(judging: &Judging<'_>) -> Vec<Check> {
    let labels = judging.pool.labels();
    let place = |label: &str| labels.iter().position(|known| *known == label);
    let pairs = judging.pool.pairs().into_iter();
    let pairs = pairs.filter(|(a, b)| place(a) < place(b));
    pairs
        .filter_map(|pair| {
            let about = [arrow(pair), arrow((pair.1, pair.0))];
            let came = of_pair(judging, pair, &about)?;
            Some(judging.check(SYMMETRY, &[&about[0], &about[1]], came))
        })
        .collect()
}

fn of_pair(judging: &Judging<'_>, pair: Pair<'_>, about: &[String; 2]) -> Option<Came> {
    let back = (pair.1, pair.0);
    let both = |case| figure_of(judging, case, pair).zip(figure_of(judging, case, back));
    let Some(((there, source), (again, other))) = PAIR_CASES.into_iter().find_map(both) else {
        // Where one way has no figure at all, that is another check's.
        pair_figure(judging, pair).zip(pair_figure(judging, back))?;
        let none = Came::skip(ReasonCode::NotMeasured);
        return Some(none.saying("no kind of copy goes both ways"));
    };
    let (slower, faster, slow) = match there.value <= again.value {
        true => (&there, &again, &about[0]),
        false => (&again, &there, &about[1]),
    };
    let held = Held {
        what: "difference of the two ways over the faster one",
        unit: "1",
        source: &source,
        devices: &[pair.0, pair.1],
    };
    let difference = slower.over(faster)?.missing_to_one();
    let came = judging.hold(judging.row(SYMMETRY, None), &difference, &held);
    let came = came.saying(format!("slower: {slow}"));
    Some(came.with([
        there.evidence(&*about[0], "GB/s", &source),
        again.evidence(&*about[1], "GB/s", &other),
    ]))
}

/// Whether devices, and pairs of one class, are equally fast.
pub(super) fn spread(judging: &Judging<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    for kind in ["h2d_pinned", "d2h_pinned"] {
        let labels = judging.pool.labels().into_iter();
        let members = labels.filter_map(|label| {
            let (figure, source) = host_figure(judging, kind, label)?;
            Some(Member {
                name: label.to_owned(),
                devices: vec![label],
                figure,
                source,
            })
        });
        let members: Vec<Member<'_>> = members.collect();
        let came = of_class(judging, &members);
        checks.extend(came.map(|came| judging.check(SPREAD, &[kind], came)));
    }
    let mut classes: BTreeMap<_, Vec<Pair<'_>>> = BTreeMap::new();
    for pair in judging.pool.pairs() {
        let of = class(judging.pool.path(pair));
        classes.entry(of).or_default().push(pair);
    }
    for (of, pairs) in classes {
        let came = of_pairs(judging, &pairs);
        checks.extend(came.map(|came| judging.check(SPREAD, &["p2p", &of], came)));
    }
    checks
}

/// Pairs of a class, by the kind of copy that most have; a pair that has another kind only is judged by itself.
fn of_pairs(judging: &Judging<'_>, pairs: &[Pair<'_>]) -> Option<Came> {
    let by = |case: &str| -> Vec<Member<'_>> {
        let members = pairs.iter().filter_map(|pair| {
            let (figure, source) = figure_of(judging, case, *pair)?;
            Some(Member {
                name: arrow(*pair),
                devices: vec![pair.0, pair.1],
                figure,
                source,
            })
        });
        members.collect()
    };
    // Of several that as many have, the first.
    let cases = PAIR_CASES.into_iter().rev();
    let members = cases.map(by).max_by_key(Vec::len)?;
    let measured = pairs.iter();
    let measured = measured.filter(|pair| pair_figure(judging, **pair).is_some());
    if members.len() < measured.count() && members.len() < NAMED_FROM {
        let none = Came::skip(ReasonCode::NotMeasured);
        return Some(none.saying("pairs have other kinds of copies"));
    }
    of_class(judging, &members)
}

fn of_class(judging: &Judging<'_>, members: &[Member<'_>]) -> Option<Came> {
    let first = members.first()?;
    let is_one_pair = first.devices.len() == 2 && members.len() == 2;
    if members.len() == 1 || is_one_pair {
        return Some(Came::skip(ReasonCode::NotApplicable));
    }
    let all = members.iter().filter_map(|member| {
        let others = members.iter().filter(|other| other.name != member.name);
        let others: Vec<&Figure> = others.map(|other| &other.figure).collect();
        let part = member.figure.over(&Figure::middle(&others)?)?;
        Some((member, part.missing_to_one()))
    });
    let all: Vec<(&Member<'_>, Figure)> = all.collect();
    let (worst, figure) = all.iter().max_by(|a, b| a.1.value.total_cmp(&b.1.value))?;
    let row = judging.row(SPREAD, None);
    // All that lie beyond a line by their values; the worst one in any case.
    let line = row.and_then(|row| row.warn.or(row.fail));
    let is_named = |(member, figure): &&(&Member<'_>, Figure)| {
        members.len() < NAMED_FROM
            || line.is_some_and(|line| figure.value > line)
            || member.name == worst.name
    };
    let names = all.iter().filter(is_named);
    let names: Vec<&str> = names.map(|(member, _)| member.name.as_str()).collect();
    let held = Held {
        what: "what the slowest lacks of the median of the others",
        unit: "1",
        source: &worst.source,
        devices: &worst.devices,
    };
    let came = judging.hold(row, figure, &held);
    let came = came.saying(format!(
        "slowest of {}: {}",
        members.len(),
        names.join(", ")
    ));
    let evidence = |member: &Member<'_>| {
        let name = member.name.as_str();
        member.figure.evidence(name, "GB/s", &member.source)
    };
    Some(came.with(members.iter().map(evidence)))
}

/// Whether more samples may settle a check.
pub(crate) fn is_open(check: &Check) -> bool {
    let (
        Some(limit),
        Some(Evidence::Measured {
            value,
            low,
            high,
            n,
            ..
        }),
    ) = (&check.limit, check.evidence.first())
    else {
        return check.reason.code == ReasonCode::Noisy;
    };
    let figure = Figure::out_of(*value, low.zip(*high), *n);
    figure.against(limit).2
}
