//! A comparison as data: the times of both files with their ratios, the worst first, and what is in one file only.

use measure::calls::Series;
use measure::import::collectives::{CallFile, CallTrouble, CallValue};
use measure::import::links::TroubleKind;
use measure::quantity::Unit;
use measure::stats::{Interval, ratio_of_medians};
use program::compare::{Threshold, Verdict, both_simulated, gain, judge, numbers};
use serde::Serialize;

use super::differences::{differences, not_judged, of_pairs};

/// The form of the JSON; it grows only when an older reader would misunderstand it.
const SCHEMA: u32 = 1;

/// Two files against each other.
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
    /// The times of both, the worst first.
    pub(super) rows: Vec<Row>,
    /// What A has and B tried without a time.
    pub(super) lost: Vec<Only>,
    /// What A has and B was asked for without trying it, or ended before.
    pub(super) untried: Vec<Only>,
    pub(super) only_a: Vec<Only>,
    pub(super) only_b: Vec<Only>,
}

/// One of the files.
#[derive(Debug, Serialize)]
pub(super) struct Side {
    pub(super) file: String,
    pub(super) made_by: String,
    pub(super) host: Option<String>,
    pub(super) started: Option<String>,
    pub(super) driver: Option<String>,
    pub(super) library: Option<String>,
    pub(super) transport: Option<String>,
    /// What it says beside times.
    pub(super) troubles: Vec<String>,
}

/// A time of both files, in microseconds.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) call: Series,
    pub(super) bytes_per_rank: u64,
    pub(super) a: f64,
    pub(super) b: f64,
    pub(super) n_a: Option<u64>,
    pub(super) n_b: Option<u64>,
    /// B over A.
    pub(super) ratio: f64,
    /// 95% interval of the ratio, where both have samples or launches enough.
    pub(super) interval: Option<Interval>,
    pub(super) verdict: Verdict,
}

/// A time of one file, in microseconds.
#[derive(Debug, Serialize)]
pub(super) struct Only {
    pub(super) call: Series,
    pub(super) bytes_per_rank: u64,
    pub(super) us: f64,
    /// What the other file says of it, where it does.
    pub(super) reason: Option<String>,
}

/// Compares two files, A being the baseline.
///
/// # Errors
/// Only one of them is simulated: such numbers are no baseline of real ones.
pub(super) fn compare(
    mut a: CallFile,
    mut b: CallFile,
    threshold: Threshold,
) -> anyhow::Result<Comparison> {
    let simulated = both_simulated(
        (&a.origin, a.simulated.as_deref()),
        (&b.origin, b.simulated.as_deref()),
    )?;
    if a.first_arm.is_none() || b.first_arm.is_none() {
        without_first_arm(&mut a);
        without_first_arm(&mut b);
    }
    let mut left: Vec<CallValue> = std::mem::take(&mut b.values);
    let mut reservations = differences(&a, &b);
    let (mut pairs, mut only) = (Vec::new(), Vec::new());
    for value in std::mem::take(&mut a.values) {
        match left.iter().position(|other| is_same(&value, other)) {
            Some(at) => pairs.push((value, left.swap_remove(at))),
            None => only.push(value),
        }
    }
    reservations.extend(of_pairs(&pairs));
    reservations.extend(not_judged(&pairs));
    let mut rows: Vec<Row> = pairs.iter().map(|(a, b)| row(a, b, threshold)).collect();
    let of_gain = |row: &Row| gain(row.ratio, Unit::Microseconds);
    rows.sort_by(|one, other| of_gain(one).total_cmp(&of_gain(other)));
    let (mut lost, mut untried, mut only_a) = (Vec::new(), Vec::new(), Vec::new());
    for value in only {
        let trouble = trouble_of(&b, &value);
        let list = match trouble.map(|trouble| trouble.kind) {
            Some(TroubleKind::Failed | TroubleKind::WrongData | TroubleKind::NotApplicable) => {
                &mut lost
            }
            Some(TroubleKind::Absent | TroubleKind::File) => &mut untried,
            None => &mut only_a,
        };
        list.push(only_of(value, trouble));
    }
    if !untried.is_empty() {
        reservations.push(format!(
            "{} of A were not tried in B: a part of A is not compared",
            numbers(untried.len())
        ));
    }
    left.sort_by(|a, b| (&a.series, a.bytes_per_rank).cmp(&(&b.series, b.bytes_per_rank)));
    let only_b = left.into_iter().map(|value| {
        let trouble = trouble_of(&a, &value);
        only_of(value, trouble)
    });
    Ok(Comparison {
        schema: SCHEMA,
        threshold,
        simulated,
        reservations,
        rows,
        lost,
        untried,
        only_a,
        only_b: only_b.collect(),
        a: side(a),
        b: side(b),
    })
}

impl Comparison {
    /// Whether a time is worse, or lost.
    pub(super) fn is_worse(&self) -> bool {
        !self.lost.is_empty() || self.count(Verdict::Regression) > 0
    }

    /// Whether all that A has and B was asked for was tried, and something of it judged.
    pub(super) fn is_conclusive(&self) -> bool {
        self.untried.is_empty() && self.judged() > 0
    }

    /// How many pairs of times have a verdict.
    pub(super) fn judged(&self) -> usize {
        self.rows.len() - self.count(Verdict::NotJudged)
    }

    pub(super) fn count(&self, verdict: Verdict) -> usize {
        let has = |row: &&Row| row.verdict == verdict;
        self.rows.iter().filter(has).count()
    }
}

/// Takes the name from the first arm: a file without arms has that one.
fn without_first_arm(file: &mut CallFile) {
    let Some(first) = file.first_arm.clone() else {
        return;
    };
    let of_values = file.values.iter_mut().map(|value| &mut value.series);
    let troubles = file.troubles.iter_mut();
    let of_troubles = troubles.filter_map(|trouble| trouble.series.as_mut());
    for series in of_values.chain(of_troubles) {
        if series.arm.as_ref() == Some(&first) {
            series.arm = None;
        }
    }
}

/// Whether two values are of the same call; what a file does not say agrees with anything.
fn is_same(a: &CallValue, b: &CallValue) -> bool {
    a.bytes_per_rank == b.bytes_per_rank && agrees(&a.series, &b.series)
}

fn agrees(a: &Series, b: &Series) -> bool {
    let whole = Series {
        element: a.element.or(b.element),
        mode: a.mode.or(b.mode),
        ..b.clone()
    };
    let other = Series {
        element: b.element.or(a.element),
        mode: b.mode.or(a.mode),
        ..a.clone()
    };
    whole == other
}

/// What a file says about a value that it does not have; that a run ended early or failed holds for all that it lacks.
fn trouble_of<'a>(file: &'a CallFile, value: &CallValue) -> Option<&'a CallTrouble> {
    let is_its = |trouble: &&CallTrouble| {
        trouble.bytes_per_rank == Some(value.bytes_per_rank)
            && trouble
                .series
                .as_ref()
                .is_some_and(|series| agrees(series, &value.series))
    };
    let of_file = |trouble: &&CallTrouble| trouble.series.is_none();
    let mut troubles = file.troubles.iter();
    let own = troubles.find(is_its);
    own.or_else(|| file.troubles.iter().find(of_file))
}

fn only_of(value: CallValue, trouble: Option<&CallTrouble>) -> Only {
    Only {
        call: value.series,
        bytes_per_rank: value.bytes_per_rank,
        us: value.us,
        reason: trouble.map(|trouble| trouble.words.clone()),
    }
}

fn row(a: &CallValue, b: &CallValue, threshold: Threshold) -> Row {
    let with_interval = ratio_of_medians(&b.samples, &a.samples);
    let ratio = b.us / a.us;
    let interval = with_interval.map(|ratio| ratio.interval);
    Row {
        call: a.series.clone(),
        bytes_per_rank: a.bytes_per_rank,
        a: a.us,
        b: b.us,
        n_a: a.n,
        n_b: b.n,
        ratio,
        interval,
        verdict: if a.not_judged.is_some() || b.not_judged.is_some() {
            Verdict::NotJudged
        } else {
            judge(ratio, interval, Unit::Microseconds, threshold)
        },
    }
}

fn side(file: CallFile) -> Side {
    let mut troubles: Vec<(String, usize)> = Vec::new();
    for trouble in &file.troubles {
        if trouble.series.is_some() && trouble.kind == TroubleKind::NotApplicable {
            continue;
        }
        let words = match &trouble.series {
            Some(series) => format!("{series}: {}", trouble.words),
            None => trouble.words.clone(),
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
        library: file.library,
        transport: file.transport,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::record::{BufferCache, BufferPlacement, CallMode, CollectiveKind, ElementType};

    const FIVE: Threshold = Threshold(0.05);

    fn value(bytes: u64, arm: Option<&str>, us: f64) -> CallValue {
        CallValue {
            series: Series {
                kind: CollectiveKind::AllReduce,
                element: Some(ElementType::Bf16),
                ranks: 2,
                mode: Some(CallMode::Graph),
                placement: BufferPlacement::OutOfPlace,
                cache: BufferCache::Hot,
                engine: None,
                arm: arm.map(str::to_owned),
            },
            bytes_per_rank: bytes,
            us,
            interval: None,
            n: Some(6),
            over_launches: false,
            samples: vec![us; 6],
            clock: None,
            library: None,
            not_judged: None,
        }
    }

    fn file(values: Vec<CallValue>) -> CallFile {
        CallFile {
            values,
            ..CallFile::default()
        }
    }

    #[test]
    fn more_time_is_a_regression_and_the_worst_stands_first() {
        // 11 / 10 = 1.1 is beyond 5%, 20.2 / 20 = 1.01 within, 25 / 30 faster.
        let a = [(8, 10.0), (16, 20.0), (32, 30.0)].map(|(bytes, us)| value(bytes, None, us));
        let b = [(32, 25.0), (8, 11.0), (16, 20.2)].map(|(bytes, us)| value(bytes, None, us));
        let made = compare(file(a.to_vec()), file(b.to_vec()), FIVE).unwrap();
        let seen: Vec<_> = made
            .rows
            .iter()
            .map(|row| (row.bytes_per_rank, row.verdict))
            .collect();
        assert_eq!(
            seen,
            [
                (8, Verdict::Regression),
                (16, Verdict::Same),
                (32, Verdict::Faster)
            ]
        );
        assert!(made.is_worse() && made.is_conclusive());
    }

    #[test]
    fn a_time_that_a_side_says_is_not_to_be_judged_has_no_verdict() {
        let mut played = value(8, None, 20.0);
        played.not_judged = Some("others had the CPU".to_owned());
        let a = || file(vec![value(8, None, 10.0), value(16, None, 10.0)]);
        let b = file(vec![played.clone(), value(16, None, 10.0)]);
        let made = compare(a(), b, FIVE).unwrap();
        assert_eq!((made.count(Verdict::NotJudged), made.judged()), (1, 1));
        assert!(!made.is_worse() && made.is_conclusive());
        // Twice the time, and nothing beside it.
        let made = compare(file(vec![value(8, None, 10.0)]), file(vec![played]), FIVE).unwrap();
        assert!(!made.is_worse() && !made.is_conclusive());
        assert!(made.reservations[0].contains("others had the CPU"));
    }

    #[test]
    fn different_calls_are_never_put_together() {
        let mut other = value(8, None, 10.0);
        other.series.placement = BufferPlacement::InPlace;
        let mut engine = value(8, None, 10.0);
        engine.series.engine = Some("vllm".to_owned());
        let a = file(vec![value(8, None, 10.0)]);
        let made = compare(a, file(vec![other, engine]), FIVE).unwrap();
        assert_eq!((made.rows.len(), made.only_b.len()), (0, 2));
        assert!(!made.is_conclusive());
    }

    #[test]
    fn a_file_that_says_less_is_compared_by_what_it_says() {
        let mut plain = value(8, None, 10.0);
        plain.series.element = None;
        plain.series.mode = None;
        let mut arms = file(vec![
            value(8, Some("baseline"), 10.0),
            value(8, Some("off"), 99.0),
        ]);
        arms.first_arm = Some("baseline".to_owned());
        let made = compare(file(vec![plain]), arms, FIVE).unwrap();
        assert_eq!(made.rows.len(), 1);
        assert_eq!(made.rows[0].verdict, Verdict::Same);
    }

    #[test]
    fn what_failed_is_lost_and_what_was_not_tried_is_not_compared() {
        let a = file(vec![value(8, None, 10.0), value(16, None, 10.0)]);
        let mut b = file(Vec::new());
        let trouble = |bytes, kind| CallTrouble {
            kind,
            series: Some(value(bytes, None, 1.0).series),
            bytes_per_rank: Some(bytes),
            words: "w".to_owned(),
        };
        b.troubles = vec![
            trouble(8, TroubleKind::Failed),
            trouble(16, TroubleKind::Absent),
        ];
        let made = compare(a, b, FIVE).unwrap();
        assert_eq!((made.lost.len(), made.untried.len()), (1, 1));
        assert!(made.is_worse() && !made.is_conclusive());
    }

    #[test]
    fn simulated_times_are_no_baseline_of_measured_ones() {
        let mut soft = file(vec![value(8, None, 10.0)]);
        soft.simulated = Some("l40x4".to_owned());
        let error = compare(soft, file(vec![value(8, None, 10.0)]), FIVE).unwrap_err();
        assert!(error.to_string().contains("SIMULATED on soft box l40x4"));
    }
}
