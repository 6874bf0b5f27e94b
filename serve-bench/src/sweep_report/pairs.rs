//! Pairs of configurations that ran the same load on the same model, and the ratios of their times.

use std::collections::BTreeMap;

use measure::import::serve::{Latency, ServeResult};
use serde::Serialize;

use super::gather::Gathered;
use super::place::Place;
use super::setups::{Known, Setups};
use crate::compare::ratio;
use crate::compare::refusal;

/// The latencies that are reported.
pub(super) const METRICS: [Latency; 2] = [Latency::Ttft, Latency::Tpot];

/// Why a pair has no ratio where one side has no valid result.
const INVALID: &str = "no valid result of one of them, see below";

/// What a pair can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// One card, two links, one machine: nothing goes from card to card, so that what differs is noise and the host's link.
    Control,
    /// Several cards, two links, one machine.
    Clean,
    /// One link, two machines.
    Machine,
    /// Two links and two machines: which of them makes a difference is not told.
    Confounded,
}

/// Two configurations under the same loads.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Pair {
    pub(super) kind: Kind,
    pub(super) model: String,
    pub(super) tp: u32,
    pub(super) input: u32,
    /// What is of the load beside its size; empty where all came at once.
    pub(super) load: String,
    /// That of the wider link.
    pub(super) base: Side,
    /// That whose times are divided by those of the base.
    pub(super) other: Side,
    /// By number of prompts, ascending.
    pub(super) points: Vec<Point>,
    /// Numbers of prompts that were not compared, with the reasons.
    pub(super) refused: Vec<(u32, String)>,
}

/// A configuration of a pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Side {
    pub(super) config: String,
    pub(super) link: String,
    pub(super) machine: String,
}

/// Both at one number of prompts.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Point {
    pub(super) num_prompts: u32,
    pub(super) ttft: Option<Ratio>,
    pub(super) tpot: Option<Ratio>,
}

/// The other's mean over that of the base.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Ratio {
    pub(super) base_ms: f64,
    pub(super) other_ms: f64,
    pub(super) ratio: f64,
    /// From where to where it may lie, and by what; `None` where one value a side is all there is.
    pub(super) within: Option<(f64, f64, By)>,
}

/// What an interval is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum By {
    /// 95% bootstrap over the requests of both runs: nothing that varies from run to run.
    Requests,
    /// Least and most of any run of one over any run of the other.
    Repeats,
}

impl Point {
    pub(super) fn of(&self, metric: Latency) -> Option<Ratio> {
        match metric {
            Latency::Ttft => self.ttft,
            Latency::Tpot => self.tpot,
            Latency::Itl | Latency::E2el => None,
        }
    }
}

/// A load but for its size, and the configuration that ran it.
type Series<'a> = BTreeMap<u32, &'a [ServeResult]>;

/// Every pair of configurations whose links or machines differ and are known.
pub(super) fn pairs(gathered: &Gathered, setups: &Setups) -> Vec<Pair> {
    let mut shapes: BTreeMap<(&str, u32, u32, &str), BTreeMap<&str, Series<'_>>> = BTreeMap::new();
    for (place, results) in &gathered.cells {
        let Place {
            config,
            model,
            tp,
            input,
            load,
            num_prompts,
        } = place;
        shapes
            .entry((model, *tp, *input, load))
            .or_default()
            .entry(config)
            .or_default()
            .insert(*num_prompts, results);
    }
    let mut pairs = Vec::new();
    for ((model, tp, input, load), configs) in &shapes {
        let known: Vec<(&str, &Known, &Series<'_>)> = configs
            .iter()
            .filter_map(|(config, series)| Some((*config, setups.get(config)?, series)))
            .collect();
        for (index, one) in known.iter().enumerate() {
            for two in &known[index + 1..] {
                let Some((kind, is_wider)) = kind(one.1, two.1, *tp) else {
                    continue;
                };
                let (base, other) = if is_wider { (one, two) } else { (two, one) };
                let (points, refused) = points(base.2, other.2);
                pairs.push(Pair {
                    kind,
                    model: (*model).to_owned(),
                    tp: *tp,
                    input: *input,
                    load: (*load).to_owned(),
                    base: Side::of(base.0, base.1),
                    other: Side::of(other.0, other.1),
                    points,
                    refused,
                });
            }
        }
    }
    pairs.sort_by_key(|pair| pair.kind);
    pairs
}

impl Side {
    fn of(config: &str, known: &Known) -> Self {
        Self {
            config: config.to_owned(),
            link: known.link.clone(),
            machine: known.machine.clone(),
        }
    }
}

/// What two configurations can tell, and whether the first has the wider link; `None` where they are the same thing, or their links
/// cannot be compared.
fn kind(one: &Known, two: &Known, tp: u32) -> Option<(Kind, bool)> {
    let over = one.over(two)?;
    let is_same_link = (over - 1.0).abs() < 1e-9;
    let kind = match (is_same_link, one.machine == two.machine) {
        (true, true) => return None,
        (true, false) => Kind::Machine,
        (false, true) if tp == 1 => Kind::Control,
        (false, true) => Kind::Clean,
        (false, false) => Kind::Confounded,
    };
    Some((kind, over >= 1.0))
}

fn points(base: &Series<'_>, other: &Series<'_>) -> (Vec<Point>, Vec<(u32, String)>) {
    let (mut points, mut refused) = (Vec::new(), Vec::new());
    for (num_prompts, bases) in base {
        let Some(others) = other.get(num_prompts) else {
            continue;
        };
        let (bases, others) = (valid(bases), valid(others));
        if bases.is_empty() || others.is_empty() {
            refused.push((*num_prompts, INVALID.to_owned()));
            continue;
        }
        let reasons: Vec<String> = bases
            .iter()
            .flat_map(|a| others.iter().flat_map(|b| refusal::reasons(a, b)))
            .collect();
        if let Some(reason) = reasons.into_iter().next() {
            refused.push((*num_prompts, reason));
            continue;
        }
        points.push(Point {
            num_prompts: *num_prompts,
            ttft: ratio_of(&bases, &others, Latency::Ttft),
            tpot: ratio_of(&bases, &others, Latency::Tpot),
        });
    }
    (points, refused)
}

/// The results whose times are the server's.
fn valid(results: &[ServeResult]) -> Vec<&ServeResult> {
    let is_valid = |one: &&ServeResult| one.invalid().next().is_none();
    results.iter().filter(is_valid).collect()
}

fn ratio_of(bases: &[&ServeResult], others: &[&ServeResult], metric: Latency) -> Option<Ratio> {
    let means = |results: &[&ServeResult]| -> Option<Vec<f64>> {
        let means = results.iter().map(|one| Some(one.spread(metric)?.mean));
        means
            .collect::<Option<Vec<f64>>>()
            .filter(|means| means.iter().all(|mean| *mean > 0.0))
    };
    let (a, b) = (means(bases)?, means(others)?);
    let within = match (bases, others) {
        ([base], [other]) => ratio::interval(&base.values(metric), &other.values(metric))
            .map(|interval| (interval.low, interval.high, By::Requests)),
        _ if a.len() > 1 && b.len() > 1 => {
            let ratios = || b.iter().flat_map(|b| a.iter().map(move |a| b / a));
            let low = ratios().fold(f64::INFINITY, f64::min);
            Some((low, ratios().fold(0.0, f64::max), By::Repeats))
        }
        _ => None,
    };
    let (base_ms, other_ms) = (mean(&a), mean(&b));
    Some(Ratio {
        base_ms,
        other_ms,
        ratio: other_ms / base_ms,
        within,
    })
}

#[expect(clippy::cast_precision_loss, reason = "a few runs")]
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
