//! The report as data.

use std::collections::{BTreeMap, BTreeSet};

use measure::import::serve::{Latency, ServeResult};
use serde::Serialize;

use super::bands::{Band, bands};
use super::gather::{Gathered, Unplaced};
use super::pairs::{METRICS, Pair, pairs};
use super::place::Place;
use super::setups::Setups;

/// The form of the JSON; it grows only when an older reader would misunderstand it.
const SCHEMA: u32 = 1;

/// The report.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) schema: u32,
    /// The soft boxes behind all results, where they are simulated.
    pub(super) simulated: Option<BTreeSet<String>>,
    pub(super) results: usize,
    pub(super) configurations: Vec<Configuration>,
    pub(super) pairs: Vec<Compared>,
    /// Labels of which nobody said what they are.
    pub(super) unknown: BTreeSet<String>,
    /// Results whose times are the load generator's own; they are in no ratio.
    pub(super) invalid: Vec<Unplaced>,
    pub(super) unplaced: Vec<Unplaced>,
}

/// A configuration under one load of several sizes.
#[derive(Debug, Serialize)]
pub(super) struct Configuration {
    pub(super) config: String,
    pub(super) model: String,
    pub(super) tp: u32,
    pub(super) input: u32,
    pub(super) load: String,
    pub(super) link: Option<String>,
    pub(super) machine: Option<String>,
    pub(super) results: usize,
    /// Results with failed requests.
    pub(super) with_failures: usize,
    /// Each number of prompts, ascending.
    pub(super) cells: Vec<Figures>,
}

/// A cell's figures, means over its repeats.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Figures {
    pub(super) num_prompts: u32,
    pub(super) repeats: usize,
    pub(super) ttft_ms: Option<f64>,
    pub(super) tpot_ms: Option<f64>,
    pub(super) output_tokens_per_s: Option<f64>,
}

/// A pair with its bands by metric.
#[derive(Debug, Serialize)]
pub(super) struct Compared {
    pub(super) pair: Pair,
    pub(super) ttft: Vec<Band>,
    pub(super) tpot: Vec<Band>,
}

impl Report {
    /// The report of what was gathered.
    ///
    /// # Errors
    /// In words: some of it is simulated and some measured, or there is nothing.
    pub(super) fn of(gathered: &Gathered, setups: &Setups) -> Result<Self, String> {
        let results = || gathered.cells.values().flatten();
        let count = results().count();
        let soft: BTreeSet<String> = results()
            .filter_map(|one| one.run.simulated.clone())
            .collect();
        let simulated = results().filter(|one| one.run.simulated.is_some()).count();
        if simulated != 0 && simulated != count {
            return Err(format!(
                "{simulated} of {count} results are SIMULATED and the others measured; report them apart"
            ));
        }
        let pairs = pairs(gathered, setups);
        let compared = |pair: &Pair| Compared {
            ttft: bands(pair, METRICS[0], &pairs),
            tpot: bands(pair, METRICS[1], &pairs),
            pair: pair.clone(),
        };
        let labels = gathered.cells.keys().map(|place| &place.config);
        Ok(Self {
            schema: SCHEMA,
            simulated: (!soft.is_empty()).then_some(soft),
            results: count,
            configurations: configurations(gathered, setups),
            pairs: pairs.iter().map(compared).collect(),
            unknown: labels
                .filter(|label| setups.get(label).is_none())
                .cloned()
                .collect(),
            invalid: results().filter_map(invalid).collect(),
            unplaced: gathered.unplaced.clone(),
        })
    }

    /// Whether a pair has a ratio.
    pub(super) fn has_ratios(&self) -> bool {
        self.pairs
            .iter()
            .any(|one| !one.ttft.is_empty() || !one.tpot.is_empty())
    }
}

/// A result whose times are the load generator's own, with the reasons.
fn invalid(result: &ServeResult) -> Option<Unplaced> {
    let reasons: Vec<&str> = result.invalid().collect();
    (!reasons.is_empty()).then(|| Unplaced {
        file: result.run.origin.clone(),
        reason: reasons.join("; "),
    })
}

fn configurations(gathered: &Gathered, setups: &Setups) -> Vec<Configuration> {
    let mut found: BTreeMap<(&str, &str, u32, u32, &str), Configuration> = BTreeMap::new();
    for (place, results) in &gathered.cells {
        let Place {
            config,
            model,
            tp,
            input,
            load,
            num_prompts,
        } = place;
        let known = setups.get(config);
        let one = found
            .entry((config, model, *tp, *input, load))
            .or_insert_with(|| Configuration {
                config: config.clone(),
                model: model.clone(),
                tp: *tp,
                input: *input,
                load: load.clone(),
                link: known.map(|known| known.link.clone()),
                machine: known.map(|known| known.machine.clone()),
                results: 0,
                with_failures: 0,
                cells: Vec::new(),
            });
        one.results += results.len();
        one.with_failures += results
            .iter()
            .filter(|one| one.run.failed > Some(0))
            .count();
        one.cells.push(Figures {
            num_prompts: *num_prompts,
            repeats: results.len(),
            ttft_ms: mean(results, |one| Some(one.spread(Latency::Ttft)?.mean)),
            tpot_ms: mean(results, |one| Some(one.spread(Latency::Tpot)?.mean)),
            output_tokens_per_s: mean(results, ServeResult::output_tokens_per_s),
        });
    }
    found.into_values().collect()
}

/// The mean over results; `None` where one has no value.
#[expect(clippy::cast_precision_loss, reason = "a few repeats")]
fn mean(results: &[ServeResult], of: impl Fn(&ServeResult) -> Option<f64>) -> Option<f64> {
    let values: Option<Vec<f64>> = results.iter().map(of).collect();
    let values = values.filter(|values| !values.is_empty())?;
    Some(values.iter().sum::<f64>() / values.len() as f64)
}
