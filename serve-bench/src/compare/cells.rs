//! Two sides of several results each: which result of the one is compared with which of the other.

use import::serve::ServeResult;
use serde::Serialize;
use stats::{Threshold, Verdict};

use super::comparison::{Comparison, compare};
use super::differences::Difference;

/// A result with the name of its cell, where it is of a sweep.
pub(super) type Named = (Option<String>, ServeResult);

/// Two sides compared load by load.
#[derive(Debug, Serialize)]
pub(super) struct Cells {
    /// The loads that both have, in A's order; of sides that share none the fastest of each.
    pub(super) cells: Vec<Comparison>,
    /// Whether the sides share no load.
    pub(super) best_of_each: bool,
    /// Ratios in bands of loads, where there are many.
    pub(super) bands: Vec<Band>,
    /// Results that only one side has.
    pub(super) only_a: usize,
    pub(super) only_b: usize,
}

/// Ratios of one band and metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Band {
    pub(super) metric: &'static str,
    /// The first and last load that is there: in flight, requests/s, or requests at once.
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) loads: usize,
    /// The median over loads of B's time over A's.
    pub(super) ratio: f64,
    /// The largest difference of the control in the same band, as a fraction; of all bands where it has few loads there.
    pub(super) floor: Option<f64>,
    /// The ratio over that of `--machine`: without what the machines differ by.
    pub(super) beyond_machine: Option<f64>,
    pub(super) verdict: Verdict,
}

impl Cells {
    /// Compares what was measured under the same load.
    ///
    /// # Errors
    /// Only one side is simulated.
    pub(super) fn of(a: &[Named], b: &[Named], threshold: Threshold) -> anyhow::Result<Self> {
        let mut left: Vec<&Named> = b.iter().collect();
        let mut cells = Vec::new();
        // Of two sweeps the configurations are what is compared, where none is in both.
        let shares = |(label, _): &Named| b.iter().any(|(other, _)| other == label);
        let is_by_label = a.iter().any(shares);
        for one in a {
            let fits = |other: &&Named| {
                (!is_by_label || one.0 == other.0) && is_same_load(&one.1, &other.1)
            };
            let fitting = left.iter().position(fits);
            if let Some(at) = fitting {
                cells.push(compare(&one.1, &left.remove(at).1, threshold)?);
            }
        }
        let matched = cells.len();
        let best_of_each = matched == 0;
        if best_of_each && let Some((a, b)) = fastest(a).zip(fastest(b)) {
            cells.push(compare(a, b, threshold)?);
        }
        Ok(Self {
            cells,
            bands: Vec::new(),
            best_of_each,
            only_a: a.len() - matched,
            only_b: b.len() - matched,
        })
    }
}

/// Whether nothing that was asked for tells two loads apart.
fn is_same_load(a: &ServeResult, b: &ServeResult) -> bool {
    let limits = a.run.concurrency_asked.zip(b.run.concurrency_asked);
    let differs = |one: &Difference| {
        matches!(one, Difference::ModelDiffers { .. })
            || match one {
                Difference::ClientLimited { .. } => false,
                // The same limit was asked for, whatever a short run made of it.
                Difference::BatchDiffers { .. } => limits.is_none(),
                _ => one.is_other_load(),
            }
    };
    // All at once their number is the load.
    let at_once = |one: &ServeResult| {
        let is_at_once = one.run.request_rate_asked.is_some_and(f64::is_infinite);
        is_at_once.then_some(one.run.completed + one.run.failed.unwrap_or(0))
    };
    let counts = at_once(a).zip(at_once(b));
    limits.is_none_or(|(a, b)| (a - b).abs() < 0.5)
        && counts.is_none_or(|(a, b)| a == b)
        && !Difference::all(a, b).iter().any(differs)
}

/// The result with the most output tokens, or requests, a second.
fn fastest(all: &[Named]) -> Option<&ServeResult> {
    let rate = |one: &ServeResult| one.output_tokens_per_s().unwrap_or(one.run.requests_per_s);
    let all = all.iter().map(|(_, one)| one);
    all.max_by(|one, other| rate(one).total_cmp(&rate(other)))
}
