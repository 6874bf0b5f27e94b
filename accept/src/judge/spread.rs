//! Devices and pairs beside each other: the two ways of a pair, and the members of a class.
//!
//! All members slow alike are not seen here; a floor or a baseline sees that.

use std::collections::BTreeMap;

use super::copies::{arrow, class, host_figure, pair_cases, pair_figure, pair_figure_of};
use super::held::{Ceiling, Held};
use super::judging::Judging;
use super::link;
use super::three_way::{Came, Figure};
use crate::plural::plural;
use crate::report::{Check, Evidence, ReasonCode, Verdict};

/// A class has to have so many members for one of them to be named: of two that differ nobody can say which is out of order.
const NAMED_FROM: usize = 3;

/// A member of a class.
struct Member {
    name: String,
    devices: Vec<String>,
    figure: Figure,
    source: String,
}

/// Whether each pair is as fast one way as the other.
pub(super) fn symmetry(judging: &Judging<'_>) -> Vec<Check> {
    let pairs = judging.pool.pairs();
    let unordered = pairs.iter().filter(|(a, b)| {
        let place = |label: &String| {
            judging
                .pool
                .labels()
                .iter()
                .position(|known| known == label)
        };
        place(a) < place(b)
    });
    unordered
        .filter_map(|pair| of_pair(judging, pair))
        .collect()
}

fn of_pair(judging: &Judging<'_>, pair: &(String, String)) -> Option<Check> {
    const KIND: &str = "symmetry";
    let back = (pair.1.clone(), pair.0.clone());
    let both = |case| pair_figure_of(judging, case, pair).zip(pair_figure_of(judging, case, &back));
    let Some(((there, source), (again, other))) = pair_cases().find_map(both) else {
        // Nothing of one way is told elsewhere.
        pair_figure(judging, pair).zip(pair_figure(judging, &back))?;
        let text = format!(
            "{} and {} have no figure of one kind of copy: one way is direct and the other goes through host memory, or is read and not written",
            arrow(pair),
            arrow(&back)
        );
        let subject = judging.subject(KIND, [arrow(pair), arrow(&back)]);
        return Some(subject.skipped(ReasonCode::DependencyFailed, text));
    };
    let (slower, faster, slow) = if there.value <= again.value {
        (&there, &again, arrow(pair))
    } else {
        (&again, &there, arrow(&back))
    };
    let difference = slower.over(faster)?.missing_to_one();
    Some(judging.hold(Held {
        kind: KIND,
        about: vec![arrow(pair), arrow(&back)],
        devices: vec![pair.0.clone(), pair.1.clone()],
        figure: difference,
        what: "difference of the two ways over the faster one".to_owned(),
        unit: "1",
        row: judging.row(KIND, None),
        ceiling: Ceiling::NoLink,
        bad: ReasonCode::Asymmetric,
        more: vec![
            there.evidence(arrow(pair), "GB/s", &source),
            again.evidence(arrow(&back), "GB/s", &other),
        ],
        source,
        remark: format!("; {slow} is the slower one"),
    }))
}

/// Whether the members of each class are equally fast: host links of all devices, and pairs of one path class.
pub(super) fn spread(judging: &Judging<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    for kind in ["h2d_pinned", "d2h_pinned"] {
        let labels = judging.pool.labels().into_iter();
        let members: Vec<Member> = labels
            .filter_map(|label| {
                let (figure, source) = host_figure(judging, kind, &label)?;
                Some(Member {
                    name: label.clone(),
                    devices: vec![label],
                    figure,
                    source,
                })
            })
            .collect();
        checks.extend(of_class(judging, vec![kind.to_owned()], &members, ""));
    }
    let mut classes: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for pair in judging.pool.pairs() {
        let of = class(judging.pool.path(&pair.0, &pair.1));
        classes.entry(of).or_default().push(pair);
    }
    for (of, pairs) in classes {
        checks.extend(of_pairs(judging, vec!["p2p".to_owned(), of], &pairs));
    }
    checks
}

/// The spread of a class of pairs by the kind of copy that most of them have.
fn of_pairs(
    judging: &Judging<'_>,
    about: Vec<String>,
    pairs: &[(String, String)],
) -> Option<Check> {
    let by = |case: &str| -> Vec<Member> {
        let member = |pair: &(String, String)| {
            let (figure, source) = pair_figure_of(judging, case, pair)?;
            Some(Member {
                name: arrow(pair),
                devices: vec![pair.0.clone(), pair.1.clone()],
                figure,
                source,
            })
        };
        pairs.iter().filter_map(member).collect()
    };
    // Of several that as many have, the first.
    let members = pair_cases().map(by).reduce(|most, members| {
        if members.len() > most.len() {
            members
        } else {
            most
        }
    })?;
    let lacks = |pair: &&(String, String)| {
        let name = arrow(pair);
        pair_figure(judging, pair).is_some() && members.iter().all(|member| member.name != name)
    };
    let lacking: Vec<String> = pairs.iter().filter(lacks).map(arrow).collect();
    if lacking.is_empty() {
        return of_class(judging, about, &members, "");
    }
    let lacking = lacking.join(", ");
    if members.len() < NAMED_FROM {
        let text = format!(
            "{} of the same kind of copy, and {lacking} of another: they are not compared",
            plural(members.len(), "pair")
        );
        let subject = judging.subject("spread", about);
        return Some(subject.skipped(ReasonCode::DependencyFailed, text));
    }
    let remark = format!("; without {lacking}, of which there is another kind of copy only");
    of_class(judging, about, &members, &remark)
}

fn of_class(
    judging: &Judging<'_>,
    about: Vec<String>,
    members: &[Member],
    left_out: &str,
) -> Option<Check> {
    const KIND: &str = "spread";
    let first = members.first()?;
    let is_one_pair = first.devices.len() == 2 && members.len() == 2;
    if members.len() == 1 || is_one_pair {
        let text = "a class of one has nothing to be compared with; a baseline tells whether it got slower".to_owned();
        return Some(
            judging
                .subject(KIND, about)
                .skipped(ReasonCode::NotApplicable, text),
        );
    }
    let behind = |member: &Member| {
        let others: Vec<&Figure> = members
            .iter()
            .filter(|other| other.name != member.name)
            .map(|other| &other.figure)
            .collect();
        Some(
            member
                .figure
                .over(&Figure::middle(&others)?)?
                .missing_to_one(),
        )
    };
    let all: Vec<(&Member, Figure)> = members
        .iter()
        .filter_map(|member| Some((member, behind(member)?)))
        .collect();
    let (worst, figure) = all.iter().max_by(|a, b| a.1.value.total_cmp(&b.1.value))?;
    let row = judging.row(KIND, None);
    let names: Vec<&str> = if members.len() < NAMED_FROM {
        members.iter().map(|member| member.name.as_str()).collect()
    } else {
        // All that lie beyond a line by their values; the worst one in any case.
        let line = row.and_then(|row| row.warn.or(row.fail));
        let is_beyond = |figure: &Figure| line.is_some_and(|line| figure.value > line);
        let named = all
            .iter()
            .filter(|(member, figure)| is_beyond(figure) || member.name == worst.name);
        named.map(|(member, _)| member.name.as_str()).collect()
    };
    let remark = if members.len() < NAMED_FROM {
        format!(
            "; of {}: where two differ nobody can say which is out of order, so none is named",
            names.join(" and ")
        )
    } else {
        format!(
            "; slowest of {}: {}{left_out}",
            members.len(),
            names.join(", ")
        )
    };
    let more: Vec<Evidence> = members
        .iter()
        .map(|member| {
            member
                .figure
                .evidence(member.name.clone(), "GB/s", &member.source)
        })
        .collect();
    let fallen = follows(judging, members, &names);
    let check = judging.hold(Held {
        kind: KIND,
        about,
        devices: worst.devices.clone(),
        figure: figure.clone(),
        what: "what the slowest member lacks of the middle of the others".to_owned(),
        unit: "1",
        row,
        ceiling: Ceiling::NoLink,
        bad: ReasonCode::Outlier,
        source: worst.source.clone(),
        more,
        remark,
    });
    let is_bad = matches!(check.verdict, Verdict::Fail | Verdict::Warn);
    Some(match fallen.filter(|_| is_bad) {
        Some(links) => check.following(&links),
        None => check,
    })
}

/// The failed links that all named members' slowness follows from; `None` where a named one has none.
fn follows(judging: &Judging<'_>, members: &[Member], names: &[&str]) -> Option<String> {
    let mut links: Vec<String> = Vec::new();
    let named = |member: &&Member| names.contains(&member.name.as_str());
    for member in members.iter().filter(named) {
        let mut fallen = member.devices.iter();
        let label = fallen.find(|label| link::is_failed(judging, label))?;
        let link = format!("link {label}");
        if !links.contains(&link) {
            links.push(link);
        }
    }
    (!links.is_empty()).then(|| links.join(" and "))
}

/// Whether a check may come to something else with more samples: its figure lies across a line, or has no interval.
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
        return matches!(
            check.reason.code,
            ReasonCode::Noisy | ReasonCode::TooFewSamples
        );
    };
    let figure = Figure {
        value: *value,
        ends: low.zip(*high),
        n: *n,
        samples: Vec::new(),
    };
    Came::is_open(figure.against(limit))
}
