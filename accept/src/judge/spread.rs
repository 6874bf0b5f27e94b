//! Devices and pairs beside their like: the two ways of a pair, and the members of a class.

use std::collections::BTreeMap;

use super::copies::class;
use super::judging::Judging;
use super::pool::{PAIR_CASES, Pair, arrow};
use crate::report::{Came, Check, Evidence, Measured, ReasonCode};

const SYMMETRY: &str = "symmetry";
const SPREAD: &str = "spread";

/// Of fewer members none is named: it may be either.
const NAMED_FROM: usize = 3;

/// A device or pair of a class: its devices, and its rate by its name.
type Member<'a> = (Vec<&'a str>, Measured);

/// Whether each pair is as fast one way as the other, by the same kind of copy.
pub(super) fn symmetry(judging: &Judging<'_>) -> Vec<Check> {
    let labels = judging.pool.labels();
    let place = |label: &str| labels.iter().position(|known| *known == label);
    let pairs = judging.pool.pairs().into_iter();
    let pairs = pairs.filter(|(a, b)| place(a) < place(b));
    let one = |pair: Pair<'_>| {
        let about = [arrow(pair), arrow((pair.1, pair.0))];
        let came = of_pair(judging, pair, &about)?;
        Some(judging.check(SYMMETRY, &[&about[0], &about[1]], came))
    };
    pairs.filter_map(one).collect()
}

fn of_pair(judging: &Judging<'_>, pair: Pair<'_>, about: &[String; 2]) -> Option<Came> {
    let (pool, back) = (&judging.pool, (pair.1, pair.0));
    let both = |case| pool.rate(case, pair).zip(pool.rate(case, back));
    let Some((there, again)) = PAIR_CASES.into_iter().find_map(both) else {
        // Where one way has no figure at all, that is another check's.
        pool.pair_rate(pair).zip(pool.pair_rate(back))?;
        let none = Came::skip(ReasonCode::NotMeasured);
        return Some(none.saying("no kind of copy goes both ways"));
    };
    let (slower, faster, slow) = match there.value <= again.value {
        true => (&there, &again, &about[0]),
        false => (&again, &there, &about[1]),
    };
    let difference = slower.over(faster)?.missing_to_one();
    let difference = difference.named("difference of the two ways over the faster one");
    let came = judging.hold(judging.row(SYMMETRY, None), difference, &[pair.0, pair.1]);
    let came = came.saying(format!("slower: {slow}"));
    Some(came.with([there.named(&*about[0]), again.named(&*about[1])]))
}

/// Whether devices, and pairs of one class, are equally fast.
pub(super) fn spread(judging: &Judging<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    for kind in ["h2d_pinned", "d2h_pinned"] {
        let labels = judging.pool.labels().into_iter();
        let members = labels.filter_map(|label| {
            let rate = judging.pool.host_rate(kind, label)?;
            Some((vec![label], rate.named(label)))
        });
        let came = of_class(judging, &members.collect::<Vec<_>>());
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
            let rate = judging.pool.rate(case, *pair)?;
            Some((vec![pair.0, pair.1], rate.named(arrow(*pair))))
        });
        members.collect()
    };
    // Of several that as many have, the first.
    let cases = PAIR_CASES.into_iter().rev();
    let members = cases.map(by).max_by_key(Vec::len)?;
    let measured = pairs.iter();
    let measured = measured.filter(|pair| judging.pool.pair_rate(**pair).is_some());
    if members.len() < measured.count() && members.len() < NAMED_FROM {
        let none = Came::skip(ReasonCode::NotMeasured);
        return Some(none.saying("pairs have other kinds of copies"));
    }
    of_class(judging, &members)
}

fn of_class(judging: &Judging<'_>, members: &[Member<'_>]) -> Option<Came> {
    let (first, _) = members.first()?;
    let is_one_pair = first.len() == 2 && members.len() == 2;
    if members.len() == 1 || is_one_pair {
        return Some(Came::skip(ReasonCode::NotApplicable));
    }
    let all = members.iter().filter_map(|(devices, rate)| {
        let others = members.iter().filter(|(_, other)| other.what != rate.what);
        let others: Vec<&Measured> = others.map(|(_, other)| other).collect();
        let part = rate.over(&Measured::middle(&others)?)?;
        Some((devices, &rate.what, part.missing_to_one()))
    });
    let all: Vec<(_, &String, Measured)> = all.collect();
    let (devices, worst, lack) = all.iter().max_by(|a, b| a.2.value.total_cmp(&b.2.value))?;
    let row = judging.row(SPREAD, None);
    // All that lie beyond a line by their values; the worst one in any case.
    let line = row.and_then(|row| row.warn.or(row.fail));
    let is_named = |(_, name, lack): &&(_, &String, Measured)| {
        members.len() < NAMED_FROM || line.is_some_and(|line| lack.value > line) || name == worst
    };
    let names = all.iter().filter(is_named);
    let names: Vec<&str> = names.map(|(_, name, _)| name.as_str()).collect();
    let what = "what the slowest lacks of the median of the others";
    let came = judging.hold(row, lack.clone().named(what), devices);
    let (of, names) = (members.len(), names.join(", "));
    let came = came.saying(match of < NAMED_FROM {
        true => names,
        false => format!("slowest of {of}: {names}"),
    });
    Some(came.with(members.iter().map(|(_, rate)| rate.clone())))
}

/// Whether more samples may settle a check.
pub(crate) fn is_open(check: &Check) -> bool {
    match (&check.limit, check.evidence.first()) {
        (Some(limit), Some(Evidence::Measured(figure))) => figure.against(limit).2,
        _ => check.reason.code == ReasonCode::Noisy,
    }
}
