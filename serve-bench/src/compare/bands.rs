//! The ratios of many loads in a few bands of sizes, beside what a control differs by: what a narrower link costs, at which load.

use std::collections::BTreeMap;

use stats::median;
use stats::{Threshold, Verdict, judge_by};

use super::cells::{Band, Cells};
use super::comparison::Comparison;

/// The last load of each band; a band begins after the one before it.
const ENDS: [f64; 9] = [1.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, f64::INFINITY];

/// A control with fewer loads than this in a band does not show how far it varies there.
const FLOOR_POINTS: usize = 8;

/// Times that are compared.
pub(super) const METRICS: [&str; 2] = ["TTFT mean", "TPOT mean"];

/// Ratios by load.
type Ratios = Vec<(f64, f64)>;

/// Every band that has loads.
pub(super) fn bands(
    cells: &Cells,
    control: Option<&Cells>,
    machine: Option<&Cells>,
    threshold: Threshold,
) -> Vec<Band> {
    METRICS
        .into_iter()
        .flat_map(|metric| {
            let control = control.map(|cells| ratios(cells, metric));
            let machine = machine.map(|cells| ratios(cells, metric));
            let mut by_end: BTreeMap<usize, Ratios> = BTreeMap::new();
            for one in ratios(cells, metric) {
                by_end.entry(end(one.0)).or_default().push(one);
            }
            by_end.into_iter().filter_map(move |(at, mut own)| {
                own.sort_by(|one, other| one.0.total_cmp(&other.0));
                let within = |all: &Ratios| all.iter().filter(|one| end(one.0) == at).count();
                let of_band = |all: &Ratios, is_all: bool| -> Vec<f64> {
                    let kept = all.iter().filter(|one| is_all || end(one.0) == at);
                    kept.map(|one| one.1).collect()
                };
                let floor = control.as_ref().and_then(|all| {
                    let found = of_band(all, within(all) < FLOOR_POINTS);
                    found
                        .iter()
                        .map(|ratio| (ratio - 1.0).abs())
                        .reduce(f64::max)
                });
                let machine = machine.as_ref().and_then(|all| {
                    let found = of_band(all, within(all) == 0);
                    median(&found)
                });
                let ratio = median(&of_band(&own, true))?;
                let beyond_machine = machine.map(|machine| ratio / machine);
                let judged = beyond_machine.unwrap_or(ratio);
                Some(Band {
                    metric,
                    from: own.first()?.0,
                    to: own.last()?.0,
                    loads: own.len(),
                    ratio,
                    floor,
                    beyond_machine,
                    verdict: match floor {
                        None => judge_by(judged, None, false, 0.0, threshold),
                        Some(floor) if (judged - 1.0).abs() <= floor => Verdict::Same,
                        Some(_) if judged > 1.0 => Verdict::Regression,
                        Some(_) => Verdict::Faster,
                    },
                })
            })
        })
        .collect()
}

fn end(load: f64) -> usize {
    ENDS.iter().position(|end| load <= *end).unwrap_or(0)
}

fn ratios(cells: &Cells, metric: &str) -> Ratios {
    let valid = cells.cells.iter().filter(|one| !one.is_refused());
    let ratio = |one: &Comparison| {
        let row = one.rows.iter().find(|row| row.metric == metric)?;
        Some((one.a.size, row.ratio))
    };
    valid.filter_map(ratio).collect()
}
