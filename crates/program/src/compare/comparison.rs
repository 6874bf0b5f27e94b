//! The one comparison of two files of numbers: what stands in both, what is lost, and in what the runs differ.
//!
//! A program gives the rows of its kind and says which numbers are the same; pairs, verdicts and exit codes are made here.

use record::exit;
use record::quantity::Unit;
use serde::Serialize;
use stats::{Interval, Threshold, Verdict, judge_by, ratio_of_medians};

use super::flags::both_simulated;

/// Version of the JSON.
const SCHEMA: u32 = 2;

/// One file.
#[derive(Debug, Clone, Serialize)]
pub struct Side<K> {
    /// Its name in messages.
    pub file: String,
    /// UTC start, where it is said.
    pub started: Option<String>,
    /// The simulated machine behind it.
    #[serde(skip)]
    pub simulated: Option<String>,
    /// What is known of tool, host, devices and timing.
    pub facts: Vec<Fact>,
    /// What the file says of numbers that it lacks, each once.
    pub troubles: Vec<String>,
    /// Its numbers.
    #[serde(skip)]
    pub values: Vec<Value<K>>,
}

/// Something of a run that makes a difference where it differs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Fact {
    /// What it is, such as `driver`.
    pub what: &'static str,
    /// Of which device or pair; empty where it is of the whole run.
    pub of: String,
    /// What it is there.
    pub value: String,
}

/// One number of a file.
#[derive(Debug, Clone, Serialize)]
pub struct Value<K> {
    /// Which number it is.
    pub number: K,
    /// The same in words.
    pub of: String,
    /// Bytes of one copy or message, where they are known.
    pub bytes: Option<u64>,
    /// The number, above zero.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// How many samples are behind it, where it is said.
    pub n: Option<u64>,
    /// The samples, where they are in the file.
    #[serde(skip)]
    pub samples: Vec<f64>,
    /// Whether it says something of the devices.
    #[serde(skip)]
    pub is_judged: bool,
}

/// Why a number of A is not in B.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gone {
    /// B tried it and failed, or cannot do it any more.
    Lost(String),
    /// B did not try it.
    Untried(String),
    /// Nothing says that it was asked for.
    NotAsked,
}

/// What a program says of numbers of its kind.
pub struct Rules<'a, K> {
    /// The change that counts.
    pub threshold: Threshold,
    /// Whether two keys that are not equal stand for one number all the same.
    pub is_same: fn(&K, &K) -> bool,
    /// Why a number of A is not in B.
    pub gone: &'a dyn Fn(&Value<K>) -> Gone,
    /// Directions of peer access that are worse in B.
    pub worse_peers: usize,
}

/// Two files compared.
#[derive(Debug, Serialize)]
pub struct Comparison<K> {
    /// Version of this document.
    pub schema: u32,
    /// The change that counts.
    pub threshold: Threshold,
    /// The simulated machines behind A and B.
    pub simulated: Option<(String, String)>,
    /// The baseline.
    pub a: Side<K>,
    /// The file that is compared with it.
    pub b: Side<K>,
    /// Facts that differ.
    pub differences: Vec<Difference>,
    /// Numbers that both have, the worst first.
    pub rows: Vec<Row<K>>,
    /// Numbers of A that B tried and has not.
    pub lost: Vec<Missing<K>>,
    /// Numbers of A that B did not try.
    pub untried: Vec<Missing<K>>,
    /// Further numbers of A.
    pub only_a: Vec<Value<K>>,
    /// Further numbers of B.
    pub only_b: Vec<Value<K>>,
    /// Directions of peer access that are worse in B.
    pub worse_peers: usize,
    /// What else is worse in B, in words.
    pub worse: Vec<String>,
}

/// A fact that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What, and of which device or pair.
    #[serde(rename = "fact")]
    pub a: Fact,
    /// What it is in B.
    pub b: String,
}

/// A number that both files have.
#[derive(Debug, Clone, Serialize)]
pub struct Row<K> {
    /// Which number.
    pub number: K,
    /// The same in words.
    pub of: String,
    /// Bytes of one copy or message, where both files say so.
    pub bytes: Option<u64>,
    /// Its unit.
    pub unit: Unit,
    /// The number in A.
    pub a: f64,
    /// The number in B.
    pub b: f64,
    /// Samples behind A's.
    pub n_a: Option<u64>,
    /// Samples behind B's.
    pub n_b: Option<u64>,
    /// B / A.
    pub ratio: f64,
    /// 95% interval of the ratio, where both have samples.
    pub interval: Option<Interval>,
    /// What is made of it.
    pub verdict: Verdict,
}

/// A number of A that B has not, and why.
#[derive(Debug, Clone, Serialize)]
pub struct Missing<K> {
    /// The number.
    pub value: Value<K>,
    /// What B says of it.
    pub reason: String,
}

/// Compares two files.
///
/// # Errors
/// Where only one of them is simulated.
pub fn compare<K: Clone + PartialEq + Serialize>(
    mut a: Side<K>,
    mut b: Side<K>,
    rules: &Rules<'_, K>,
) -> anyhow::Result<Comparison<K>> {
    let simulated = both_simulated(
        (&a.file, a.simulated.as_deref()),
        (&b.file, b.simulated.as_deref()),
    )?;
    // Where a file does not say its size, it is compared with the largest one.
    let (mut of_a, mut left) = (std::mem::take(&mut a.values), std::mem::take(&mut b.values));
    of_a.sort_by_key(|value| std::cmp::Reverse(value.bytes));
    left.sort_by_key(|value| std::cmp::Reverse(value.bytes));
    let (mut rows, mut only_a) = (Vec::new(), Vec::new());
    let (mut lost, mut untried) = (Vec::new(), Vec::new());
    for value in of_a {
        if let Some(at) = partner(&value, &left, rules.is_same) {
            rows.push(row(&value, &left.remove(at), rules.threshold));
            continue;
        }
        match (rules.gone)(&value) {
            Gone::Lost(reason) => lost.push(Missing { value, reason }),
            Gone::Untried(reason) => untried.push(Missing { value, reason }),
            Gone::NotAsked => only_a.push(value),
        }
    }
    rows.sort_by(|one, other| {
        let is_judged = |row: &Row<K>| row.verdict != Verdict::NotJudged;
        let gain = |row: &Row<K>| match row.unit.more_is_better() {
            true => row.ratio,
            false => row.ratio.recip(),
        };
        let of_gain = || gain(one).total_cmp(&gain(other));
        is_judged(other).cmp(&is_judged(one)).then_with(of_gain)
    });
    Ok(Comparison {
        schema: SCHEMA,
        threshold: rules.threshold,
        simulated,
        differences: differences(&a.facts, &b.facts),
        rows,
        lost,
        untried,
        only_a,
        only_b: left,
        worse_peers: rules.worse_peers,
        worse: Vec::new(),
        a,
        b,
    })
}

fn partner<K: PartialEq>(
    value: &Value<K>,
    among: &[Value<K>],
    is_same: fn(&K, &K) -> bool,
) -> Option<usize> {
    let fits = |other: &Value<K>| {
        let sizes = value.bytes.zip(other.bytes);
        value.unit == other.unit && sizes.is_none_or(|(one, other)| one == other)
    };
    let equal = |other: &Value<K>| value.number == other.number && fits(other);
    let same = |other: &Value<K>| is_same(&value.number, &other.number) && fits(other);
    among
        .iter()
        .position(equal)
        .or_else(|| among.iter().position(same))
}

fn row<K: Clone>(a: &Value<K>, b: &Value<K>, threshold: Threshold) -> Row<K> {
    let ratio = b.value / a.value;
    let interval = ratio_of_medians(&b.samples, &a.samples).map(|ratio| ratio.interval);
    Row {
        number: a.number.clone(),
        of: a.of.clone(),
        bytes: a.bytes.filter(|bytes| Some(*bytes) == b.bytes),
        unit: a.unit,
        a: a.value,
        b: b.value,
        n_a: a.n,
        n_b: b.n,
        ratio,
        interval,
        verdict: match a.is_judged && b.is_judged {
            true => judge_by(ratio, interval, a.unit.more_is_better(), threshold),
            false => Verdict::NotJudged,
        },
    }
}

fn differences(a: &[Fact], b: &[Fact]) -> Vec<Difference> {
    let differs = |a: &Fact| {
        let same = |b: &&Fact| (a.what, &a.of) == (b.what, &b.of);
        let b = b.iter().find(same).filter(|b| b.value != a.value)?;
        Some(Difference {
            a: a.clone(),
            b: b.value.clone(),
        })
    };
    a.iter().filter_map(differs).collect()
}

impl<K> Comparison<K> {
    /// How many rows have this verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        let has = |row: &&Row<K>| row.verdict == verdict;
        self.rows.iter().filter(has).count()
    }

    /// How many rows have a verdict.
    #[must_use]
    pub fn judged(&self) -> usize {
        self.rows.len() - self.count(Verdict::NotJudged)
    }

    /// Whether anything is slower or lost in B.
    #[must_use]
    pub fn is_worse(&self) -> bool {
        !self.lost.is_empty()
            || !self.worse.is_empty()
            || self.worse_peers > 0
            || self.count(Verdict::Regression) > 0
    }

    /// The exit code: something is worse, all of A was compared, or not.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match (
            self.is_worse(),
            self.untried.is_empty() && self.judged() > 0,
        ) {
            (true, _) => exit::REJECTED,
            (false, true) => exit::DONE,
            (false, false) => exit::INCONCLUSIVE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIVE: Threshold = Threshold(0.05);

    fn value(number: &'static str, bytes: u64, us: f64) -> Value<&'static str> {
        Value {
            number,
            of: number.to_owned(),
            bytes: Some(bytes),
            value: us,
            unit: Unit::Microseconds,
            n: Some(6),
            samples: vec![us; 6],
            is_judged: true,
        }
    }

    fn side(values: Vec<Value<&'static str>>) -> Side<&'static str> {
        Side {
            file: "file".to_owned(),
            started: None,
            simulated: None,
            facts: Vec::new(),
            troubles: Vec::new(),
            values,
        }
    }

    fn compared(
        a: Side<&'static str>,
        b: Side<&'static str>,
        gone: &dyn Fn(&Value<&'static str>) -> Gone,
    ) -> Comparison<&'static str> {
        let rules = Rules {
            threshold: FIVE,
            is_same: |_, _| false,
            gone,
            worse_peers: 0,
        };
        compare(a, b, &rules).unwrap()
    }

    #[test]
    fn more_time_is_a_regression_and_the_worst_stands_first() {
        // 11 / 10 = 1.1 is beyond 5%, 20.2 / 20 = 1.01 within, 25 / 30 faster.
        let a = [(8, 10.0), (16, 20.0), (32, 30.0)].map(|(bytes, us)| value("x", bytes, us));
        let b = [(32, 25.0), (8, 11.0), (16, 20.2)].map(|(bytes, us)| value("x", bytes, us));
        let made = compared(side(a.to_vec()), side(b.to_vec()), &|_| Gone::NotAsked);
        let seen: Vec<_> = made
            .rows
            .iter()
            .map(|row| (row.bytes.unwrap(), row.verdict))
            .collect();
        let expected = [
            (8, Verdict::Regression),
            (16, Verdict::Same),
            (32, Verdict::Faster),
        ];
        assert_eq!(seen, expected);
        assert_eq!(made.exit_code(), exit::REJECTED);
    }

    #[test]
    fn what_is_not_to_be_judged_has_no_verdict() {
        let mut b = value("x", 8, 20.0);
        b.is_judged = false;
        let made = compared(side(vec![value("x", 8, 10.0)]), side(vec![b]), &|_| {
            Gone::NotAsked
        });
        assert_eq!((made.count(Verdict::NotJudged), made.judged()), (1, 0));
        assert_eq!(made.exit_code(), exit::INCONCLUSIVE);
    }

    #[test]
    fn a_size_that_is_not_said_is_compared_with_the_largest() {
        let mut unsized_value = value("x", 0, 30.0);
        unsized_value.bytes = None;
        let a = side(vec![value("x", 8, 10.0), value("x", 32, 30.0)]);
        let made = compared(a, side(vec![unsized_value]), &|_| Gone::NotAsked);
        assert_eq!((made.rows.len(), made.rows[0].verdict), (1, Verdict::Same));
        assert_eq!(made.only_a[0].bytes, Some(8));
        // Other sizes and other numbers are never put together.
        let b = side(vec![value("x", 16, 10.0), value("y", 8, 10.0)]);
        let made = compared(side(vec![value("x", 8, 10.0)]), b, &|_| Gone::NotAsked);
        assert_eq!((made.rows.len(), made.only_b.len()), (0, 2));
    }

    #[test]
    fn what_failed_is_lost_and_what_was_not_tried_is_not_compared() {
        let a = side(vec![value("x", 8, 10.0), value("x", 16, 10.0)]);
        let gone = |value: &Value<&'static str>| match value.bytes {
            Some(8) => Gone::Lost("failed".to_owned()),
            _ => Gone::Untried("left out".to_owned()),
        };
        let made = compared(a, side(Vec::new()), &gone);
        assert_eq!((made.lost.len(), made.untried.len()), (1, 1));
        assert_eq!(made.exit_code(), exit::REJECTED);
    }

    #[test]
    fn facts_that_both_say_and_that_differ_are_differences() {
        let fact = |what, value: &str| Fact {
            what,
            of: String::new(),
            value: value.to_owned(),
        };
        let (mut a, mut b) = (side(Vec::new()), side(Vec::new()));
        a.facts = vec![fact("driver", "1"), fact("host", "h"), fact("tool", "t")];
        b.facts = vec![fact("driver", "2"), fact("host", "h")];
        let made = compared(a, b, &|_| Gone::NotAsked);
        assert_eq!(made.differences.len(), 1);
        assert_eq!(made.differences[0].a.what, "driver");
    }
}
