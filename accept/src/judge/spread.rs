//! Devices and pairs beside their like: the two ways of a pair, and the members of a class.

use std::collections::BTreeMap;

use super::copies::{Pair, arrow, class, figure_of, host_figure, pair_cases, pair_figure};
use super::held::Held;
use super::judging::Judging;
use super::three_way::{Came, Figure};
use crate::report::{Check, Evidence, ReasonCode};

/// Of fewer members none is named: it may be either.
const NAMED_FROM: usize = 3;

/// A device or pair of a class.
struct Member {
    name: String,
    devices: Vec<String>,
    figure: Figure,
    source: String,
}

/// Whether each pair is as fast one way as the other, by the same kind of copy.
pub(super) fn symmetry(judging: &Judging<'_>) -> Vec<Check> {
    let labels = judging.pool.labels();
    let place = |label: &String| labels.iter().position(|known| known == label);
    let pairs = judging.pool.pairs().into_iter();
    pairs
        .filter(|(a, b)| place(a) < place(b))
        .filter_map(|pair| of_pair(judging, &pair))
        .collect()
}

fn of_pair(judging: &Judging<'_>, pair: &Pair) -> Option<Check> {
    const KIND: &str = "symmetry";
    let back = (pair.1.clone(), pair.0.clone());
    let about = vec![arrow(pair), arrow(&back)];
    let of = |case: &str, pair: &Pair| figure_of(judging, case, &pair.0, &pair.1);
    let both = |case| of(case, pair).zip(of(case, &back));
    let Some(((there, source), (again, other))) = pair_cases().find_map(both) else {
        // Where one way has no figure at all, that is another check's.
        pair_figure(judging, pair).zip(pair_figure(judging, &back))?;
        let subject = judging.subject(KIND, about);
        return Some(subject.skipped(ReasonCode::NotMeasured, "no kind of copy goes both ways"));
    };
    let (slower, faster, slow) = match there.value <= again.value {
        true => (&there, &again, arrow(pair)),
        false => (&again, &there, arrow(&back)),
    };
    let difference = slower.over(faster)?.missing_to_one();
    let what = ("difference of the two ways over the faster one", "1");
    let more = vec![
        there.evidence(arrow(pair), "GB/s", &source),
        again.evidence(arrow(&back), "GB/s", &other),
    ];
    let held = Held::new(KIND, about, difference, what, source);
    let devices = vec![pair.0.clone(), pair.1.clone()];
    Some(judging.hold(Held {
        more,
        remark: format!("slower: {slow}"),
        ..held.by(judging.row(KIND, None), devices)
    }))
}

/// Whether devices, and pairs of one class, are equally fast.
pub(super) fn spread(judging: &Judging<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    for kind in ["h2d_pinned", "d2h_pinned"] {
        let labels = judging.pool.labels().into_iter();
        let members = labels.filter_map(|label| {
            let (figure, source) = host_figure(judging, kind, &label)?;
            Some(Member {
                name: label.clone(),
                devices: vec![label],
                figure,
                source,
            })
        });
        let members: Vec<Member> = members.collect();
        checks.extend(of_class(judging, vec![kind.to_owned()], &members));
    }
    let mut classes: BTreeMap<String, Vec<Pair>> = BTreeMap::new();
    for pair in judging.pool.pairs() {
        let of = class(judging.pool.path(&pair.0, &pair.1));
        classes.entry(of).or_default().push(pair);
    }
    for (of, pairs) in classes {
        checks.extend(of_pairs(judging, vec!["p2p".to_owned(), of], &pairs));
    }
    checks
}

/// Pairs of a class, by the kind of copy that most have; a pair that has another kind only is judged by itself.
fn of_pairs(judging: &Judging<'_>, about: Vec<String>, pairs: &[Pair]) -> Option<Check> {
    let by = |case: &str| -> Vec<Member> {
        let members = pairs.iter().filter_map(|pair| {
            let (figure, source) = figure_of(judging, case, &pair.0, &pair.1)?;
            Some(Member {
                name: arrow(pair),
                devices: vec![pair.0.clone(), pair.1.clone()],
                figure,
                source,
            })
        });
        members.collect()
    };
    // Of several that as many have, the first.
    let more = |most: Vec<Member>, members: Vec<Member>| match members.len() > most.len() {
        true => members,
        false => most,
    };
    let members = pair_cases().map(by).reduce(more)?;
    let measured = pairs
        .iter()
        .filter(|pair| pair_figure(judging, pair).is_some());
    if members.len() < measured.count() && members.len() < NAMED_FROM {
        let subject = judging.subject("spread", about);
        let detail = "pairs have other kinds of copies";
        return Some(subject.skipped(ReasonCode::NotMeasured, detail));
    }
    of_class(judging, about, &members)
}

fn of_class(judging: &Judging<'_>, about: Vec<String>, members: &[Member]) -> Option<Check> {
    const KIND: &str = "spread";
    let first = members.first()?;
    let is_one_pair = first.devices.len() == 2 && members.len() == 2;
    if members.len() == 1 || is_one_pair {
        let subject = judging.subject(KIND, about);
        return Some(subject.skipped(ReasonCode::NotApplicable, ""));
    }
    let all = members.iter().filter_map(|member| {
        let others = members.iter().filter(|other| other.name != member.name);
        let others: Vec<&Figure> = others.map(|other| &other.figure).collect();
        let part = member.figure.over(&Figure::middle(&others)?)?;
        Some((member, part.missing_to_one()))
    });
    let all: Vec<(&Member, Figure)> = all.collect();
    let (worst, figure) = all.iter().max_by(|a, b| a.1.value.total_cmp(&b.1.value))?;
    let row = judging.row(KIND, None);
    // All that lie beyond a line by their values; the worst one in any case.
    let line = row.and_then(|row| row.warn.or(row.fail));
    let is_named = |(member, figure): &&(&Member, Figure)| {
        members.len() < NAMED_FROM
            || line.is_some_and(|line| figure.value > line)
            || member.name == worst.name
    };
    let names = all.iter().filter(is_named);
    let names: Vec<&str> = names.map(|(member, _)| member.name.as_str()).collect();
    let evidence = |member: &Member| {
        let name = member.name.clone();
        member.figure.evidence(name, "GB/s", &member.source)
    };
    let what = ("what the slowest lacks of the median of the others", "1");
    let held = Held::new(KIND, about, figure.clone(), what, &worst.source);
    Some(judging.hold(Held {
        more: members.iter().map(evidence).collect(),
        remark: format!("slowest of {}: {}", members.len(), names.join(", ")),
        ..held.by(row, worst.devices.clone())
    }))
}

/// Whether more samples may settle a check.
pub(crate) fn is_open(check: &Check) -> bool {
    let evidence = check.evidence.first();
    let (
        Some(limit),
        Some(Evidence::Measured {
            value,
            low,
            high,
            n,
            ..
        }),
    ) = (&check.limit, evidence)
    else {
        return check.reason.code == ReasonCode::Noisy;
    };
    let figure = Figure {
        value: *value,
        ends: low.zip(*high),
        n: *n,
        samples: Vec::new(),
    };
    Came::is_open(figure.against(limit))
}
