//! Ratios of many numbers of prompts in a few bands, beside what the control differs by.

use measure::import::serve::Latency;
use measure::stats::median;
use serde::Serialize;

use super::pairs::{By, Kind, Pair};

/// The last number of prompts of each band; a band begins after the one before it.
const ENDS: [u32; 9] = [1, 4, 8, 16, 32, 64, 128, 256, u32::MAX];

/// A control with fewer numbers of prompts than this in a band does not show how far it varies there.
const FLOOR_POINTS: usize = 8;

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
    /// How many of the points have an interval of their own, and over what.
    pub(super) with_interval: usize,
    pub(super) by: Option<By>,
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

impl Says {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::WithinFloor => "within the floor",
            Self::NoFloor => "no control",
        }
    }
}

/// The bands of a pair that have points; `all` are all pairs.
pub(super) fn bands(pair: &Pair, metric: Latency, all: &[Pair]) -> Vec<Band> {
    let mut begin = 0;
    let mut bands = Vec::new();
    for end in ENDS {
        let is_in = |n: u32| n > begin && n <= end;
        bands.extend(band(pair, metric, all, is_in));
        begin = end;
    }
    bands
}

fn band(pair: &Pair, metric: Latency, all: &[Pair], is_in: impl Fn(u32) -> bool) -> Option<Band> {
    let points: Vec<_> = pair
        .points
        .iter()
        .filter(|point| is_in(point.num_prompts))
        .filter_map(|point| Some((point.num_prompts, point.of(metric)?)))
        .collect();
    let ratios: Vec<f64> = points.iter().map(|(_, ratio)| ratio.ratio).collect();
    let ratio = median(&ratios)?;
    let mut withins = points.iter().filter_map(|(_, ratio)| ratio.within);
    let with_interval = withins.clone().count();
    let floor = match differences(all, metric, &is_in) {
        own if own.len() >= FLOOR_POINTS => own,
        _ => differences(all, metric, &|_| true),
    };
    let floor = floor.into_iter().reduce(f64::max);
    let machine = (pair.base.machine != pair.other.machine && pair.kind != Kind::Machine)
        .then(|| machine(pair, metric, all, &is_in))
        .flatten();
    Some(Band {
        from: points.first()?.0,
        to: points.last()?.0,
        points: points.len(),
        ratio,
        least: ratios.iter().copied().fold(f64::INFINITY, f64::min),
        most: ratios.iter().copied().fold(0.0, f64::max),
        with_interval,
        by: withins.next().map(|(_, _, by)| by),
        floor: floor.filter(|_| pair.kind != Kind::Control),
        beyond_machine: machine.map(|machine| ratio / machine),
        says: says(ratio, floor, pair.kind),
    })
}

fn says(ratio: f64, floor: Option<f64>, kind: Kind) -> Says {
    match floor {
        _ if kind == Kind::Control => Says::WithinFloor,
        None => Says::NoFloor,
        Some(floor) if (ratio - 1.0).abs() <= floor => Says::WithinFloor,
        Some(_) if ratio > 1.0 => Says::Slower,
        Some(_) => Says::Faster,
    }
}

/// How far the controls lie from 1, over these numbers of prompts.
fn differences(all: &[Pair], metric: Latency, is_in: &dyn Fn(u32) -> bool) -> Vec<f64> {
    let controls = all.iter().filter(|pair| pair.kind == Kind::Control);
    let points = controls.flat_map(|pair| &pair.points);
    points
        .filter(|point| is_in(point.num_prompts))
        .filter_map(|point| Some((point.of(metric)?.ratio - 1.0).abs()))
        .collect()
}

/// The times of one card on the other's machine over those on the base's, at one link.
fn machine(pair: &Pair, metric: Latency, all: &[Pair], is_in: &dyn Fn(u32) -> bool) -> Option<f64> {
    let machines = (&pair.base.machine, &pair.other.machine);
    let ratios: Vec<f64> = all
        .iter()
        .filter(|one| one.kind == Kind::Machine && one.tp == 1)
        .filter_map(|one| match (&one.base.machine, &one.other.machine) {
            own if own == machines => Some((one, false)),
            (base, other) if (other, base) == machines => Some((one, true)),
            _ => None,
        })
        .flat_map(|(one, is_turned)| {
            let points = one.points.iter().filter(|point| is_in(point.num_prompts));
            points.filter_map(move |point| {
                let ratio = point.of(metric)?.ratio;
                Some(if is_turned { ratio.recip() } else { ratio })
            })
        })
        .collect();
    median(&ratios)
}
