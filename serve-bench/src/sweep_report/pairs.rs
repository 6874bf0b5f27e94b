//! Pairs of configurations that ran the same loads on the same model, the ratios of their times, and those in a few bands of sizes
//! beside what the control differs by.

use std::collections::BTreeMap;

use import::serve::{Latency, ServeResult};
use serde::Serialize;
use stats::median;

use super::gather::Gathered;
use super::place::Place;
use super::setups::{Known, Setups};
use crate::compare::differences::Difference;

/// The last number of prompts of each band; a band begins after the one before it.
const ENDS: [u32; 9] = [1, 4, 8, 16, 32, 64, 128, 256, u32::MAX];

/// A control with fewer numbers of prompts than this in a band does not show how far it varies there.
const FLOOR_POINTS: usize = 8;

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
    /// Two links and two machines: which of them makes a difference is not reported.
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
    /// Numbers of prompts that were not compared, with the reason; none where a side has no valid result.
    pub(super) refused: Vec<(u32, Option<Difference>)>,
    pub(super) ttft: Vec<Band>,
    pub(super) tpot: Vec<Band>,
}

/// A configuration of a pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Side {
    pub(super) config: String,
    pub(super) link: String,
    pub(super) machine: String,
}

/// The other's mean times over those of the base at one number of prompts, means over repeats.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Point {
    pub(super) num_prompts: u32,
    pub(super) ttft: Option<f64>,
    pub(super) tpot: Option<f64>,
}

/// Ratios of one band and metric.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Band {
    /// The first and last number of prompts that is there.
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) points: usize,
    /// The median over numbers of prompts.
    pub(super) ratio: f64,
    pub(super) least: f64,
    pub(super) most: f64,
    /// The largest difference of the control in the same band, as a fraction; of all bands where it has few points there.
    pub(super) floor: Option<f64>,
    /// The ratio less what one card on the two machines differs by at the same link; `None` in one machine, or where nothing tells.
    pub(super) beyond_machine: Option<f64>,
    pub(super) says: Says,
}

/// What a band's ratio says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Says {
    /// Slower by more than the floor.
    Slower,
    /// Faster by more than the floor.
    Faster,
    /// No further from 1 than the control.
    WithinFloor,
    /// There is no control.
    NoFloor,
}

/// A ratio of a point by the metric.
type Metric = fn(&Point) -> Option<f64>;

/// The results of a configuration by number of prompts.
type Series<'a> = BTreeMap<u32, &'a [ServeResult]>;

/// Every pair of configurations whose links or machines differ and are known.
pub(super) fn pairs(gathered: &Gathered, setups: &Setups) -> Vec<Pair> {
    let mut shapes: BTreeMap<Place, BTreeMap<&str, Series<'_>>> = BTreeMap::new();
    for (place, results) in &gathered.cells {
        let shape = Place {
            config: String::new(),
            num_prompts: 0,
            ..place.clone()
        };
        let configs = shapes.entry(shape).or_default();
        let series = configs.entry(&place.config).or_default();
        series.insert(place.num_prompts, results);
    }
    let mut pairs = Vec::new();
    for (shape, configs) in &shapes {
        let known: Vec<(&str, &Known, &Series<'_>)> = configs
            .iter()
            .filter_map(|(config, series)| Some((*config, setups.get(config)?, series)))
            .collect();
        for (index, one) in known.iter().enumerate() {
            for two in &known[index + 1..] {
                pairs.extend(pair(shape, one, two));
            }
        }
    }
    pairs.sort_by_key(|pair| pair.kind);
    let all = pairs.clone();
    for pair in &mut pairs {
        pair.ttft = bands(pair, |point| point.ttft, &all);
        pair.tpot = bands(pair, |point| point.tpot, &all);
    }
    pairs
}

/// The pair of two configurations; `None` where they are the same thing, or their links cannot be compared.
fn pair(
    shape: &Place,
    one: &(&str, &Known, &Series<'_>),
    two: &(&str, &Known, &Series<'_>),
) -> Option<Pair> {
    let over = one.1.over(two.1)?;
    let is_same_link = (over - 1.0).abs() < 1e-9;
    let kind = match (is_same_link, one.1.machine == two.1.machine) {
        (true, true) => return None,
        (true, false) => Kind::Machine,
        (false, true) if shape.tp == 1 => Kind::Control,
        (false, true) => Kind::Clean,
        (false, false) => Kind::Confounded,
    };
    let (base, other) = if over >= 1.0 { (one, two) } else { (two, one) };
    let (points, refused) = points(base.2, other.2);
    let side = |(config, known, _): &(&str, &Known, &Series<'_>)| Side {
        config: (*config).to_owned(),
        link: known.link.clone(),
        machine: known.machine.clone(),
    };
    Some(Pair {
        kind,
        model: shape.model.clone(),
        tp: shape.tp,
        input: shape.input,
        load: shape.load.clone(),
        base: side(base),
        other: side(other),
        points,
        refused,
        ttft: Vec::new(),
        tpot: Vec::new(),
    })
}

fn points(base: &Series<'_>, other: &Series<'_>) -> (Vec<Point>, Vec<(u32, Option<Difference>)>) {
    let (mut points, mut refused) = (Vec::new(), Vec::new());
    for (num_prompts, bases) in base {
        let Some(others) = other.get(num_prompts) else {
            continue;
        };
        let (bases, others) = (valid(bases), valid(others));
        if bases.is_empty() || others.is_empty() {
            refused.push((*num_prompts, None));
            continue;
        }
        let pairs = bases
            .iter()
            .flat_map(|a| others.iter().map(move |b| (a, b)));
        let mut reasons = pairs.flat_map(|(a, b)| Difference::all(a, b));
        if let Some(reason) = reasons.find(|one| one.refuses() || one.is_other_load()) {
            refused.push((*num_prompts, Some(reason)));
            continue;
        }
        let ratio = |metric| Some(mean(&others, metric)? / mean(&bases, metric)?);
        points.push(Point {
            num_prompts: *num_prompts,
            ttft: ratio(Latency::Ttft),
            tpot: ratio(Latency::Tpot),
        });
    }
    (points, refused)
}

/// The results whose times are the server's.
fn valid(results: &[ServeResult]) -> Vec<&ServeResult> {
    let is_valid = |one: &&ServeResult| one.invalid().next().is_none();
    results.iter().filter(is_valid).collect()
}

/// The mean of the means of several runs; `None` where one has none, or it is not above zero.
#[expect(clippy::cast_precision_loss, reason = "a few runs")]
fn mean(results: &[&ServeResult], metric: Latency) -> Option<f64> {
    let means = results.iter().map(|one| Some(one.spread(metric)?.mean));
    let means: Vec<f64> = means.collect::<Option<_>>()?;
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    (mean > 0.0).then_some(mean)
}

/// The bands of a pair that have points; `all` are all pairs.
fn bands(pair: &Pair, metric: Metric, all: &[Pair]) -> Vec<Band> {
    let mut begin = 0;
    let mut bands = Vec::new();
    for end in ENDS {
        let is_in = |n: u32| n > begin && n <= end;
        bands.extend(band(pair, metric, all, &is_in));
        begin = end;
    }
    bands
}

fn band(pair: &Pair, metric: Metric, all: &[Pair], is_in: &dyn Fn(u32) -> bool) -> Option<Band> {
    let points = pair.points.iter().filter(|one| is_in(one.num_prompts));
    let points: Vec<(u32, f64)> = points
        .filter_map(|point| Some((point.num_prompts, metric(point)?)))
        .collect();
    let ratios: Vec<f64> = points.iter().map(|(_, ratio)| *ratio).collect();
    let ratio = median(&ratios)?;
    let differences = |is_in: &dyn Fn(u32) -> bool| -> Vec<f64> {
        let controls = all.iter().filter(|one| one.kind == Kind::Control);
        let ratios = controls.flat_map(|one| ratios_of(one, metric, is_in));
        ratios.map(|ratio| (ratio - 1.0).abs()).collect()
    };
    let floor = match differences(is_in) {
        own if own.len() >= FLOOR_POINTS => own,
        _ => differences(&|_| true),
    };
    let floor = floor.into_iter().reduce(f64::max);
    let differs = pair.base.machine != pair.other.machine && pair.kind != Kind::Machine;
    let machine = differs.then(|| machine(pair, metric, all, is_in)).flatten();
    Some(Band {
        from: points.first()?.0,
        to: points.last()?.0,
        points: points.len(),
        ratio,
        least: ratios.iter().copied().fold(f64::INFINITY, f64::min),
        most: ratios.iter().copied().fold(0.0, f64::max),
        floor: floor.filter(|_| pair.kind != Kind::Control),
        beyond_machine: machine.map(|machine| ratio / machine),
        says: match floor {
            _ if pair.kind == Kind::Control => Says::WithinFloor,
            None => Says::NoFloor,
            Some(floor) if (ratio - 1.0).abs() <= floor => Says::WithinFloor,
            Some(_) if ratio > 1.0 => Says::Slower,
            Some(_) => Says::Faster,
        },
    })
}

fn ratios_of(pair: &Pair, metric: Metric, is_in: &dyn Fn(u32) -> bool) -> Vec<f64> {
    let points = pair.points.iter().filter(|one| is_in(one.num_prompts));
    points.filter_map(metric).collect()
}

/// The times of one card on the other's machine over those on the base's, at one link.
fn machine(pair: &Pair, metric: Metric, all: &[Pair], is_in: &dyn Fn(u32) -> bool) -> Option<f64> {
    let mut ratios = Vec::new();
    let cards = all.iter().filter(|one| one.tp == 1);
    for one in cards.filter(|one| one.kind == Kind::Machine) {
        let found = ratios_of(one, metric, is_in);
        let (base, other) = (&one.base.machine, &one.other.machine);
        if (base, other) == (&pair.base.machine, &pair.other.machine) {
            ratios.extend(found);
        } else if (other, base) == (&pair.base.machine, &pair.other.machine) {
            ratios.extend(found.into_iter().map(f64::recip));
        }
    }
    median(&ratios)
}
