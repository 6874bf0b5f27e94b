//! Cases counted: how often intervals hold the truth, and how wide they are.

use serde::Serialize;

use super::judge::{Case, Judged};

/// A share of cases with its 95% interval by Wilson's score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Share {
    /// Cases that count.
    pub(super) n: usize,
    /// Those that do.
    pub(super) of: usize,
    /// The share, 0 to 1; 0 of none.
    pub(super) share: f64,
    /// Lower end of its interval.
    pub(super) low: f64,
    /// Upper end.
    pub(super) high: f64,
}

/// One bar over all cases.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Row {
    /// Its name.
    pub(super) bar: &'static str,
    /// Cases whose 90% interval holds the truth.
    pub(super) held: Share,
    /// Cases whose truth lies below the interval.
    pub(super) below: usize,
    /// Cases whose truth lies above it.
    pub(super) above: usize,
    /// Median width of the interval, ms.
    pub(super) width_ms: f64,
    /// Median width over the step on several GPUs, 0 to 1.
    pub(super) width_of_step: f64,
    /// Median truth, ms.
    pub(super) truth_ms: f64,
}

/// Cases of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Section {
    /// What is broken on purpose; `None` where nothing is.
    pub(super) broken: Option<super::assumption::Assumption>,
    /// Cases that could be run.
    pub(super) cases: usize,
    /// Cases in which nothing was attributed.
    pub(super) refused: usize,
    /// Cases in which bars were attributed and communication was not.
    pub(super) without_claim: usize,
    /// Of them, cases in which the curve was said not to fit what was measured.
    pub(super) misfits: usize,
    /// Bars.
    pub(super) rows: Vec<Row>,
    /// Reasons of refusals with how often each came, the commonest first.
    pub(super) reasons: Vec<(String, usize)>,
}

impl Share {
    #[expect(clippy::cast_precision_loss, reason = "thousands of cases")]
    pub(super) fn new(of: usize, n: usize) -> Self {
        let (count, all) = (of as f64, n as f64);
        let z = 1.959_964f64;
        let share = if n > 0 { count / all } else { 0.0 };
        let denominator = 1.0 + z * z / all;
        let middle = (share + z * z / (2.0 * all)) / denominator;
        let half =
            z / denominator * (share * (1.0 - share) / all + z * z / (4.0 * all * all)).sqrt();
        let (low, high) = match n {
            0 => (0.0, 1.0),
            _ => ((middle - half).max(0.0), (middle + half).min(1.0)),
        };
        Self {
            n,
            of,
            share,
            low,
            high,
        }
    }
}

impl Section {
    pub(super) fn new(broken: Option<super::assumption::Assumption>, cases: &[Case]) -> Self {
        let mut names: Vec<&'static str> = Vec::new();
        let mut all: Vec<Judged> = Vec::new();
        let (mut fit, mut refused, mut without_claim, mut misfits) = (0, 0, 0, 0);
        let mut reasons: Vec<(String, usize)> = Vec::new();
        for case in cases {
            match case {
                Case::Unfit => continue,
                Case::Refused(why) => {
                    refused += 1;
                    // Figures differ from case to case, words do not.
                    let why: String = why.chars().filter(|c| !c.is_ascii_digit()).collect();
                    match reasons.iter_mut().find(|(of, _)| *of == why) {
                        Some((_, count)) => *count += 1,
                        None => reasons.push((why, 1)),
                    }
                }
                Case::Judged {
                    bars,
                    claimed,
                    misfit,
                } => {
                    without_claim += usize::from(!claimed);
                    misfits += usize::from(*misfit);
                    for bar in bars {
                        if !names.contains(&bar.bar) {
                            names.push(bar.bar);
                        }
                    }
                    all.extend(bars);
                }
            }
            fit += 1;
        }
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        Self {
            broken,
            cases: fit,
            refused,
            without_claim,
            misfits,
            rows: names.iter().map(|name| row(name, &all)).collect(),
            reasons,
        }
    }

    pub(super) fn row(&self, bar: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.bar == bar)
    }
}

fn row(bar: &'static str, all: &[Judged]) -> Row {
    let of: Vec<&Judged> = all.iter().filter(|judged| judged.bar == bar).collect();
    let below = of.iter().filter(|j| j.truth_ms < j.said_ms.low).count();
    let above = of.iter().filter(|j| j.truth_ms > j.said_ms.high).count();
    let middle = |value: &dyn Fn(&Judged) -> f64| {
        let values: Vec<f64> = of.iter().map(|judged| value(judged)).collect();
        measure::stats::median(&values).unwrap_or(0.0)
    };
    let width = |j: &Judged| j.said_ms.high - j.said_ms.low;
    Row {
        bar,
        held: Share::new(of.len() - below - above, of.len()),
        below,
        above,
        width_ms: middle(&width),
        width_of_step: middle(&|j| width(j) / j.step_ms),
        truth_ms: middle(&|j| j.truth_ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_has_wilsons_interval() {
        // 450 of 500: centre (0.9 + 3.8415 / 1000) / (1 + 3.8415 / 500) = 0.89695, half width 1.96 / 1.00768 x
        // sqrt(0.09 / 500 + 3.8415 / 1e6) = 0.02637.
        let share = Share::new(450, 500);
        assert!((share.low - 0.8706).abs() < 1e-3 && (share.high - 0.9233).abs() < 1e-3);
        assert_eq!((Share::new(0, 0).low, Share::new(0, 0).high), (0.0, 1.0));
    }
}
