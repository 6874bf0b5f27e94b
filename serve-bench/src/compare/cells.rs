//! Two sides of several results each: which result of the one is compared with which of the other, and their ratios in a few bands of
//! loads, beside what a control differs by: what a narrower link costs, at which load.

use import::serve::ServeResult;
use program::compare::exit_code;
use serde::Serialize;
use stats::{Threshold, Verdict, judge_by, median};

use super::comparison::{Comparison, Row, compare};
use super::differences::{Difference, Grade};
use crate::show::Named;

/// The last load of each band; a band begins after the one before it.
const ENDS: [f64; 9] = [1.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, f64::INFINITY];

/// A control with fewer loads than this in a band does not show how far it varies there.
const FLOOR_POINTS: usize = 8;

/// Times that are compared in bands.
pub(super) const METRICS: [&str; 2] = ["TTFT mean", "TPOT mean"];

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
            if let Some(at) = left.iter().position(fits) {
                cells.push(compare(&one.1, &left.remove(at).1, threshold)?);
            }
        }
        let matched = cells.len();
        if matched == 0
            && let Some((a, b)) = fastest(a).zip(fastest(b))
        {
            cells.push(compare(a, b, threshold)?);
        }
        Ok(Self {
            cells,
            bands: Vec::new(),
            best_of_each: matched == 0,
            only_a: a.len() - matched,
            only_b: b.len() - matched,
        })
    }

    /// The only load, where there is one.
    pub(super) fn alone(&self) -> Option<&Comparison> {
        Some(&self.cells[..])
            .filter(|of| of.len() == 1 && self.bands.is_empty())?
            .first()
    }

    /// The exit code: whether something is worse, and whether all was judged under one load.
    pub(super) fn code(&self) -> u8 {
        let is_told = |row: &Row| !matches!(row.verdict, Verdict::Unclear | Verdict::NotJudged);
        let is_told = self.cells.iter().flat_map(|one| &one.rows).any(is_told);
        if !self.bands.is_empty() {
            let is_slower = |band: &Band| band.verdict == Verdict::Regression;
            return exit_code(self.bands.iter().any(is_slower), is_told);
        }
        let is_of_load = |one: &Comparison| one.has_worse() && !one.is_worse();
        let is_conclusive = is_told && !self.cells.iter().any(is_of_load);
        exit_code(self.cells.iter().any(Comparison::is_worse), is_conclusive)
    }

    /// A metric's ratios with their loads, by ascending load.
    fn ratios(&self, metric: &str) -> Vec<(f64, f64)> {
        // Of another load a ratio is no verdict on B.
        let valid = self.cells.iter();
        let valid = valid.filter(|one| one.grade.is_some_and(|grade| grade != Grade::C));
        let ratio = |one: &Comparison| Some((one.a.size, one.row(metric)?.ratio));
        let mut ratios: Vec<(f64, f64)> = valid.filter_map(ratio).collect();
        ratios.sort_by(|one, other| one.0.total_cmp(&other.0));
        ratios
    }

    /// Every band that has loads.
    pub(super) fn in_bands(
        &self,
        control: Option<&Self>,
        machine: Option<&Self>,
        threshold: Threshold,
    ) -> Vec<Band> {
        let mut bands = Vec::new();
        for metric in METRICS {
            let of = |cells: &Self| cells.ratios(metric);
            let (all, control, machine) = (of(self), control.map(of), machine.map(of));
            for own in all.chunk_by(|one, other| band(one.0) == band(other.0)) {
                // Of the same band, or all where there are fewer than so many.
                let beside = |all: &[(f64, f64)], fewest| {
                    let within = |is_all: bool| {
                        let own = all
                            .iter()
                            .filter(|of| is_all || band(of.0) == band(own[0].0));
                        own.map(|of| of.1).collect::<Vec<f64>>()
                    };
                    Some(within(false))
                        .filter(|own| own.len() >= fewest)
                        .unwrap_or(within(true))
                };
                let Some(ratio) = median(&beside(own, 1)) else {
                    continue;
                };
                let floor = control.as_ref().and_then(|all| {
                    let beside = beside(all, FLOOR_POINTS).into_iter();
                    beside.map(|ratio| (ratio - 1.0).abs()).reduce(f64::max)
                });
                let machine = machine.as_ref().and_then(|all| median(&beside(all, 1)));
                let beyond_machine = machine.map(|machine| ratio / machine);
                let judged = beyond_machine.unwrap_or(ratio);
                bands.push(Band {
                    metric,
                    from: own[0].0,
                    to: own[own.len() - 1].0,
                    loads: own.len(),
                    ratio,
                    floor,
                    beyond_machine,
                    verdict: match floor {
                        None => judge_by(judged, None, false, threshold),
                        Some(floor) if (judged - 1.0).abs() <= floor => Verdict::Same,
                        Some(_) if judged > 1.0 => Verdict::Regression,
                        Some(_) => Verdict::Faster,
                    },
                });
            }
        }
        bands
    }
}

fn band(load: f64) -> usize {
    ENDS.iter().position(|end| load <= *end).unwrap_or(0)
}

/// Whether nothing that was asked for tells two loads apart.
fn is_same_load(a: &ServeResult, b: &ServeResult) -> bool {
    let limits = a.run.concurrency_asked.zip(b.run.concurrency_asked);
    let differs = |one: &Difference| match one {
        Difference::ModelDiffers { .. } => true,
        Difference::ClientLimited { .. } => false,
        // The same limit was asked for, whatever a short run made of it.
        Difference::BatchDiffers { .. } => limits.is_none(),
        _ => one.grade() == Some(Grade::C),
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
