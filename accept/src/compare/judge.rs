//! What B came to against A: figure by figure by the interval of a ratio, check by check by its verdict.
//!
//! A figure is worse only where its whole interval says so; one that may be worse is told as that, and never as equal.

use std::collections::HashMap;

use record::exit;
use serde::Serialize;
use stats::{median, ratio_of_medians};

use super::differences::{Difference, differences};
use super::side::{Judged, Kept, Side};
use crate::report::{ReasonCode, Side as GoodSide, Verdict};

/// Everything that a comparison came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Compared {
    /// Version of this form.
    pub(crate) schema: u32,
    /// The simulated machine behind both sides; nothing is of real hardware then.
    pub(crate) simulated: Option<String>,
    /// The earlier run.
    pub(crate) a: Head,
    /// The run that is compared with it.
    pub(crate) b: Head,
    /// What a figure may be worse by, in percent.
    pub(crate) tolerance_percent: f64,
    /// What of the boxes differs that must be equal.
    pub(crate) differences: Vec<Difference>,
    /// `None` where the boxes may not be compared.
    pub(crate) rows: Option<Rows>,
    /// 0 nothing is worse, 1 something is, 3 that is unknown.
    pub(crate) exit_code: u8,
}

/// What the two sides have to do with each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Rows {
    /// The figures of both, those that are worse first.
    pub(crate) figures: Vec<Row>,
    /// Figures of A that B does not have.
    pub(crate) only_in_a: Vec<String>,
    /// Checks whose verdict is worse than it was, or is no longer given.
    pub(crate) checks: Vec<Change>,
}

/// A side's head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Head {
    /// The file or folder.
    pub(crate) path: String,
    /// `report` or `baseline`.
    pub(crate) kind: &'static str,
    /// When the run began.
    pub(crate) started: String,
    /// Name of its profile.
    pub(crate) profile: String,
    /// Its sha256.
    pub(crate) profile_sha256: String,
}

/// A figure on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Row {
    /// Id of the check.
    pub(crate) check: String,
    /// What it is.
    pub(crate) what: String,
    /// Unit of the medians.
    pub(crate) unit: String,
    /// Median of A.
    pub(crate) a: f64,
    /// Samples of A.
    pub(crate) a_n: usize,
    /// Median of B.
    pub(crate) b: f64,
    /// Samples of B.
    pub(crate) b_n: usize,
    /// How fast B is as a part of A: for a rate B over A, for a time A over B, with its 95% interval.
    pub(crate) speed: Speed,
    /// What it came to.
    pub(crate) came_to: CameTo,
}

/// A ratio with its interval; `None` where there are too few samples for one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Speed {
    /// The ratio of the medians.
    pub(crate) value: f64,
    /// Lower and upper end of its 95% interval.
    pub(crate) interval: Option<(f64, f64)>,
}

/// What a figure came to, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CameTo {
    /// The whole interval lies below what is borne.
    Regression,
    /// The median does, and the interval lies across.
    MaybeWorse,
    /// Too few samples for an interval.
    NotTold,
    /// The median is within what is borne.
    Held,
    /// The whole interval lies above 1 by more than what is borne below it.
    Faster,
}

/// A check whose verdict changed for the worse.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Change {
    /// Its id.
    pub(crate) check: String,
    /// Its verdict in A.
    pub(crate) a: Verdict,
    /// Its verdict in B; `None` where B does not have it.
    pub(crate) b: Option<Verdict>,
    /// Why, by B's code; `None` where B does not have it.
    pub(crate) why: Option<ReasonCode>,
    /// Whether it is a worse verdict, and not only none.
    pub(crate) is_worse: bool,
}

/// The part that a figure may be worse by.
pub(crate) fn tolerance(percent: f64) -> Result<f64, String> {
    if (0.0..100.0).contains(&percent) {
        Ok(percent / 100.0)
    } else {
        Err(format!(
            "--tolerance {percent}: give percent of at least 0 and below 100"
        ))
    }
}

/// Holds B against A.
pub(crate) fn compare(
    a: &Side,
    b: &Side,
    tolerance: f64,
    allowed: &[&str],
) -> Result<Compared, String> {
    if a.soft_box.is_some() != b.soft_box.is_some() {
        let (soft, real) = if a.soft_box.is_some() { (a, b) } else { (b, a) };
        if real.figures.is_empty() {
            return Err(format!(
                "{} holds no figure: nothing was measured in it",
                real.path
            ));
        }
        return Err(format!(
            "{} is simulated and {} is not; compare like with like",
            soft.path, real.path
        ));
    }
    let mut found = differences(&a.fingerprint, &b.fingerprint, allowed);
    if let (Some(a), Some(b)) = (&a.soft_box, &b.soft_box)
        && a != b
    {
        found.push(Difference {
            part: "simulated machine".to_owned(),
            a: Some(a.clone()),
            b: Some(b.clone()),
            allowed: false,
        });
    }
    let rows = found
        .iter()
        .all(|difference| difference.allowed)
        .then(|| rows(a, b, tolerance));
    Ok(Compared {
        schema: 1,
        simulated: b.soft_box.clone(),
        a: head(a),
        b: head(b),
        tolerance_percent: tolerance * 100.0,
        differences: found,
        exit_code: rows.as_ref().map_or(exit::INCONCLUSIVE, exit_code),
        rows,
    })
}

fn head(side: &Side) -> Head {
    Head {
        path: side.path.clone(),
        kind: if side.checks.is_some() {
            "report"
        } else {
            "baseline"
        },
        started: side.started.clone(),
        profile: side.profile.0.clone(),
        profile_sha256: side.profile.1.clone(),
    }
}

/// Worse is 1; what may be worse, is no longer measured, or was never both times, is 3.
fn exit_code(rows: &Rows) -> u8 {
    let came_to = |wanted: CameTo| rows.figures.iter().any(|row| row.came_to == wanted);
    if came_to(CameTo::Regression) || rows.checks.iter().any(|change| change.is_worse) {
        return exit::REJECTED;
    }
    let is_told = |row: &Row| row.came_to != CameTo::NotTold;
    let is_open =
        came_to(CameTo::MaybeWorse) || !rows.checks.is_empty() || !rows.figures.iter().any(is_told);
    if is_open {
        exit::INCONCLUSIVE
    } else {
        exit::DONE
    }
}

fn rows(a: &Side, b: &Side, tolerance: f64) -> Rows {
    let key = |figure: &Kept| {
        (
            figure.check.clone(),
            figure.what.clone(),
            figure.unit.clone(),
        )
    };
    let of_b: HashMap<_, &Kept> = b
        .figures
        .iter()
        .map(|figure| (key(figure), figure))
        .collect();
    let (mut figures, mut only_in_a) = (Vec::new(), Vec::new());
    for figure in &a.figures {
        match of_b.get(&key(figure)) {
            Some(other) => figures.extend(row(figure, other, tolerance)),
            None => only_in_a.push(format!("{}: {}", figure.check, figure.what)),
        }
    }
    figures.sort_by_key(|row: &Row| row.came_to);
    let checks = match (&a.checks, &b.checks) {
        (Some(a), Some(b)) => changes(a, b),
        _ => Vec::new(),
    };
    Rows {
        figures,
        only_in_a,
        checks,
    }
}

/// Holds one figure against the other; `None` where one has no samples and was worked out of others.
fn row(a: &Kept, b: &Kept, tolerance: f64) -> Option<Row> {
    let (a_median, b_median) = (median(&a.samples)?, median(&b.samples)?);
    let (top, bottom) = match a.good {
        GoodSide::AtLeast => (&b.samples, &a.samples),
        GoodSide::AtMost => (&a.samples, &b.samples),
    };
    let ratio = ratio_of_medians(top, bottom);
    let value = median(top)? / median(bottom)?;
    let (floor, interval) = (
        1.0 - tolerance,
        ratio.map(|ratio| (ratio.interval.low, ratio.interval.high)),
    );
    Some(Row {
        check: a.check.clone(),
        what: a.what.clone(),
        unit: a.unit.clone(),
        a: a_median,
        a_n: a.samples.len(),
        b: b_median,
        b_n: b.samples.len(),
        speed: Speed { value, interval },
        came_to: match interval {
            None => CameTo::NotTold,
            Some((_, high)) if high < floor => CameTo::Regression,
            Some(_) if value < floor => CameTo::MaybeWorse,
            Some((low, _)) if low > 1.0 / floor => CameTo::Faster,
            Some(_) => CameTo::Held,
        },
    })
}

/// Checks that were good in A and are worse, or not told any more, in B. What this level or command line did not ask for is left out.
fn changes(a: &[Judged], b: &[Judged]) -> Vec<Change> {
    let of_b: HashMap<&str, &Judged> = b
        .iter()
        .map(|check| (check.check.as_str(), check))
        .collect();
    let changed = a.iter().filter_map(|before| {
        let was = rank(before.verdict)?;
        let now = of_b.get(before.check.as_str());
        let is_worse = match now {
            Some(now) => match rank(now.verdict) {
                Some(is) if is > was => true,
                Some(_) => return None,
                None if now.code == ReasonCode::LeftOut => return None,
                None => false,
            },
            None => false,
        };
        Some(Change {
            check: before.check.clone(),
            a: before.verdict,
            b: now.map(|now| now.verdict),
            why: now.map(|now| now.code),
            is_worse,
        })
    });
    let mut changes: Vec<Change> = changed.collect();
    changes.sort_by_key(|change| !change.is_worse);
    changes
}

/// The order of the verdicts that were given on something measured.
fn rank(verdict: Verdict) -> Option<u8> {
    match verdict {
        Verdict::Pass => Some(0),
        Verdict::Warn => Some(1),
        Verdict::Fail => Some(2),
        Verdict::Inconclusive | Verdict::Skip => None,
    }
}
