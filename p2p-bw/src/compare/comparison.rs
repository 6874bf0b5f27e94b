//! A comparison as data: the numbers of both files with their ratios, the worst first, and what is in one file only.

use std::collections::BTreeSet;

use measure::import::links::{LinkEnds, LinkFile, LinkTrouble, LinkValue, TroubleKind};
use measure::quantity::Unit;
use measure::record::Endpoint;
use measure::stats::{Interval, ratio_of_medians};
use program::compare::{Threshold, Verdict, both_simulated, gain, judge, numbers};
use serde::Serialize;

use super::causes::Changes;
use super::gone::{self, Gone};
use super::names::Names;
use super::numbering::renumbered;
use super::pairs::{self, Pair};
use super::reservations;

/// The form of the JSON; it grows only when an older reader would misunderstand it.
const SCHEMA: u32 = 1;

/// Two files against each other. Devices carry A's numbers.
#[derive(Debug, Serialize)]
pub(super) struct Comparison {
    pub(super) schema: u32,
    /// What counts as a difference, as a fraction.
    pub(super) threshold: Threshold,
    /// The soft boxes behind both files.
    pub(super) simulated: Option<(String, String)>,
    pub(super) a: Side,
    pub(super) b: Side,
    pub(super) reservations: Vec<String>,
    /// The numbers of both, the worst first.
    pub(super) rows: Vec<Row>,
    /// What A has and B tried without a number, or cannot do any more.
    pub(super) lost: Vec<Lost>,
    /// What A has and B was asked for without trying it, or ended before.
    pub(super) untried: Vec<Only>,
    pub(super) only_a: Vec<Only>,
    pub(super) only_b: Vec<Only>,
    /// Ordered pairs of devices whose peer access got worse.
    pub(super) worse_peers: usize,
}

/// One of the files.
#[derive(Debug, Serialize)]
pub(super) struct Side {
    pub(super) file: String,
    pub(super) made_by: String,
    pub(super) host: Option<String>,
    pub(super) started: Option<String>,
    pub(super) driver: Option<String>,
    /// What it says beside numbers.
    pub(super) troubles: Vec<String>,
}

/// A number of both files.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) number: LinkEnds,
    /// Its ends in words.
    pub(super) place: String,
    pub(super) unit: Unit,
    pub(super) bytes_a: Option<u64>,
    pub(super) bytes_b: Option<u64>,
    pub(super) a: f64,
    pub(super) b: f64,
    pub(super) n_a: Option<u64>,
    pub(super) n_b: Option<u64>,
    /// B over A.
    pub(super) ratio: f64,
    /// 95% interval of the ratio, where both have samples enough.
    pub(super) interval: Option<Interval>,
    pub(super) verdict: Verdict,
    /// What changed that a regression goes over.
    pub(super) behind: Option<String>,
}

/// A number that B tried to measure and could not.
#[derive(Debug, Serialize)]
pub(super) struct Lost {
    pub(super) number: LinkEnds,
    /// Its ends in words.
    pub(super) place: String,
    pub(super) bytes: Option<u64>,
    pub(super) a: f64,
    pub(super) unit: Unit,
    pub(super) kind: TroubleKind,
    pub(super) words: String,
}

/// A number of one file.
#[derive(Debug, Serialize)]
pub(super) struct Only {
    pub(super) number: LinkEnds,
    /// Its ends in words.
    pub(super) place: String,
    pub(super) bytes: Option<u64>,
    pub(super) value: f64,
    pub(super) unit: Unit,
    /// Why the other file has none, where it says so.
    pub(super) reason: Option<String>,
}

/// Compares two files, A being the baseline.
///
/// # Errors
/// Only one of them is simulated: such numbers are no baseline of real ones.
pub(super) fn compare(
    a: LinkFile,
    b: LinkFile,
    threshold: Threshold,
) -> anyhow::Result<Comparison> {
    let simulated = both_simulated(
        (&a.origin, a.simulated.as_deref()),
        (&b.origin, b.simulated.as_deref()),
    )?;
    let (b, renumbering) = renumbered(b, &a);
    let mut found = pairs::of(&a, &b);
    let (names, changes) = (Names::of(&a, &b), Changes::between(&a, &b));
    let mut notes = reservations::of(&a, &b, &found.both, &changes, &names);
    notes.extend(renumbering);
    if found.both.iter().any(|pair| !pair.is_judged()) {
        notes.push("what this machine itself took beside a soft box is not judged".to_owned());
    }
    notes.extend(other_groups(&mut found.both, (&a, &b), &names));
    let row = |pair| row(pair, threshold, &changes, &names);
    let mut rows: Vec<Row> = found.both.iter().map(row).collect();
    rows.sort_by(|one, other| {
        let is_judged = |row: &Row| row.verdict != Verdict::NotJudged;
        let of_gain = || gain(one.ratio, one.unit).total_cmp(&gain(other.ratio, other.unit));
        is_judged(other).cmp(&is_judged(one)).then_with(of_gain)
    });
    let sizes = rows.iter().filter(|row| row.differs_in_size()).count();
    if sizes > 0 {
        notes.push(format!(
            "{sizes} of {} pairs of numbers are of different sizes and not judged",
            rows.len()
        ));
    }
    let (mut lost, mut untried, mut only_a) = (Vec::new(), Vec::new(), Vec::new());
    for value in found.only_a {
        match gone::what(&value, &a, &b) {
            (Gone::Lost, Some(trouble)) => lost.push(Lost {
                place: names.place(&value.ends),
                number: value.ends,
                bytes: value.bytes,
                a: value.value,
                unit: value.unit,
                kind: trouble.kind,
                words: trouble.words.clone(),
            }),
            (Gone::Untried, trouble) => untried.push(only(value, trouble, &names)),
            (_, trouble) => only_a.push(only(value, trouble, &names)),
        }
    }
    if !untried.is_empty() {
        notes.push(format!(
            "{} of A were not tried in B: a part of A is not compared",
            numbers(untried.len())
        ));
    }
    let only_b = found.only_b.into_iter();
    let only_b = only_b
        .map(|value| {
            let trouble = gone::trouble_of(&a, &value);
            only(value, trouble, &names)
        })
        .collect();
    Ok(Comparison {
        schema: SCHEMA,
        threshold,
        simulated,
        reservations: notes,
        rows,
        lost,
        untried,
        only_a,
        only_b,
        worse_peers: changes.worse(),
        a: side(a),
        b: side(b),
    })
}

impl Comparison {
    /// Whether a number or a peer access is worse, or lost.
    pub(super) fn is_worse(&self) -> bool {
        !self.lost.is_empty() || self.worse_peers > 0 || self.count(Verdict::Regression) > 0
    }

    /// Whether all that A has and B was asked for was judged, and that was something.
    pub(super) fn is_conclusive(&self) -> bool {
        self.untried.is_empty() && self.judged() > 0
    }

    /// The numbers that were judged.
    pub(super) fn judged(&self) -> usize {
        self.rows.len() - self.count(Verdict::NotJudged)
    }

    pub(super) fn count(&self, verdict: Verdict) -> usize {
        self.rows
            .iter()
            .filter(|row| row.verdict == verdict)
            .count()
    }
}

impl Row {
    /// Whether both sides say a size and not the same.
    pub(super) fn differs_in_size(&self) -> bool {
        self.bytes_a.zip(self.bytes_b).is_some_and(|(a, b)| a != b)
    }
}

/// A file's head, and what it says that a reader must know; what does not apply stands beside the numbers it concerns.
fn side(file: LinkFile) -> Side {
    let mut troubles: Vec<(String, usize)> = Vec::new();
    for trouble in &file.troubles {
        let is_absent = matches!(
            trouble.kind,
            TroubleKind::NotApplicable | TroubleKind::Absent
        );
        if is_absent && trouble.ends.is_some() {
            continue;
        }
        let words = match &trouble.test {
            Some(test) if trouble.ends.is_some() => format!("{test}: {}", trouble.words),
            // The words of another tool name its test.
            _ => trouble.words.clone(),
        };
        match troubles.iter_mut().find(|(known, _)| *known == words) {
            Some((_, count)) => *count += 1,
            None => troubles.push((words, 1)),
        }
    }
    let line = |(words, count): (String, usize)| match count {
        1 => words,
        count => format!("{words} ({count} points)"),
    };
    Side {
        troubles: troubles.into_iter().map(line).collect(),
        file: file.origin,
        made_by: file.made_by,
        host: file.host,
        started: file.started,
        driver: file.driver,
    }
}

/// Takes the verdict from what several devices did at once where they are not the same ones, and says so.
fn other_groups(
    pairs: &mut [Pair],
    (a, b): (&LinkFile, &LinkFile),
    names: &Names,
) -> Option<String> {
    let devices = |file: &LinkFile| -> BTreeSet<usize> {
        file.devices.iter().map(|device| device.ordinal).collect()
    };
    let (of_a, of_b) = (devices(a), devices(b));
    // A file that lists no devices says nothing of which they were.
    if of_a == of_b || of_a.is_empty() || of_b.is_empty() {
        return None;
    }
    let of_groups = pairs
        .iter_mut()
        .filter(|pair| [pair.a.ends.from, pair.a.ends.to].contains(&Endpoint::All));
    let count = of_groups.map(|pair| pair.a.is_judged = false).count();
    let listed = |devices: &BTreeSet<usize>| {
        let labels: Vec<String> = devices.iter().map(|device| names.device(*device)).collect();
        labels.join(", ")
    };
    (count > 0).then(|| {
        format!(
            "not judged, as it is {} in A and {} in B: {} of several devices at once",
            listed(&of_a),
            listed(&of_b),
            numbers(count)
        )
    })
}

fn row(pair: &Pair, threshold: Threshold, changes: &Changes, names: &Names) -> Row {
    let (a, b) = (&pair.a, &pair.b);
    let with_interval = ratio_of_medians(&b.samples, &a.samples);
    let ratio = b.value / a.value;
    let mut row = Row {
        number: a.ends.clone(),
        place: names.place(&a.ends),
        unit: a.unit,
        bytes_a: a.bytes,
        bytes_b: b.bytes,
        a: a.value,
        b: b.value,
        n_a: a.n,
        n_b: b.n,
        ratio,
        interval: with_interval.map(|ratio| ratio.interval),
        verdict: Verdict::NotJudged,
        behind: None,
    };
    if pair.is_judged() && !row.differs_in_size() && a.unit == b.unit {
        row.verdict = judge(ratio, row.interval, a.unit, threshold);
    }
    if row.verdict == Verdict::Regression {
        row.behind = changes.behind(&a.ends, names);
    }
    row
}

fn only(value: LinkValue, trouble: Option<&LinkTrouble>, names: &Names) -> Only {
    Only {
        place: names.place(&value.ends),
        number: value.ends,
        bytes: value.bytes,
        value: value.value,
        unit: value.unit,
        reason: trouble.map(|trouble| trouble.words.clone()),
    }
}
