//! The report as data.

use std::collections::{BTreeMap, BTreeSet};

use import::serve::{Latency, ServeResult};
use serde::Serialize;

use super::gather::{Gathered, Unplaced};
use super::pairs::{Pair, pairs};
use super::place::Place;
use super::setups::Setups;

/// The form of the JSON; it grows only when an older reader would misunderstand it.
const SCHEMA: u32 = 2;

/// The report.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) schema: u32,
    /// The simulated machines behind all results, where they are simulated.
    pub(super) simulated: BTreeSet<String>,
    pub(super) results: usize,
    pub(super) configurations: Vec<Configuration>,
    pub(super) pairs: Vec<Pair>,
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
    /// Each number of prompts, ascending.
    pub(super) cells: Vec<Figures>,
}

/// A result's figures.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Figures {
    pub(super) num_prompts: u32,
    pub(super) ttft_ms: Option<f64>,
    pub(super) tpot_ms: Option<f64>,
    pub(super) output_tokens_per_s: Option<f64>,
}

impl Report {
    /// The report of what was gathered.
    ///
    /// # Errors
    /// In words: some of it is simulated and some measured, or there is nothing.
    pub(super) fn of(gathered: &Gathered, setups: &Setups) -> Result<Self, String> {
        let results = || gathered.cells.values().flatten();
        let count = results().count();
        let machines = || results().filter_map(|one| one.run.simulated.clone());
        let simulated = machines().count();
        if simulated != 0 && simulated != count {
            return Err(format!(
                "{simulated} of {count} results are SIMULATED and the others measured; report them apart"
            ));
        }
        let labels = gathered.cells.keys().map(|place| &place.config);
        Ok(Self {
            schema: SCHEMA,
            simulated: machines().collect(),
            results: count,
            configurations: configurations(gathered, setups),
            pairs: pairs(gathered, setups),
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
            .any(|pair| !pair.ttft.is_empty() || !pair.tpot.is_empty())
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
    let mut found: BTreeMap<Place, Configuration> = BTreeMap::new();
    for (place, results) in &gathered.cells {
        let of = Place {
            num_prompts: 0,
            ..place.clone()
        };
        let known = setups.get(&place.config);
        let one = found.entry(of).or_insert_with_key(|of| Configuration {
            config: of.config.clone(),
            model: of.model.clone(),
            tp: of.tp,
            input: of.input,
            load: of.load.clone(),
            link: known.map(|known| known.link.clone()),
            machine: known.map(|known| known.machine.clone()),
            cells: Vec::new(),
        });
        one.cells.extend(results.iter().map(|result| Figures {
            num_prompts: place.num_prompts,
            ttft_ms: result.spread(Latency::Ttft).map(|of| of.mean),
            tpot_ms: result.spread(Latency::Tpot).map(|of| of.mean),
            output_tokens_per_s: result.output_tokens_per_s(),
        }));
    }
    found.into_values().collect()
}
