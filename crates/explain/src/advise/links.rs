//! Links that are slower than they need be: trained down, or not the best pair of the box.

use record::{Endpoint, LinkDevice, Links, Outcome, Point};
use topology::PcieLink;

use super::advice::{Advice, Rule};
use super::found::Found;
use crate::commands::printed;
use crate::what_if::{By, LinkRate};

/// Cases that tell how fast one GPU's memory is reached by another, the one to go by first.
const CASES: [&str; 4] = ["d2d_write_ce", "d2d_read_ce", "d2d_write_sm", "d2d_read_sm"];

/// A pair is faster if it is so by more than this.
const FASTER: f64 = 1.1;

/// A card that runs below what it and its slot can do under load.
pub(super) fn trained_down(found: &Found) -> Vec<Advice> {
    let inputs = found.inputs;
    // A guest is not shown the links of its host, and NVLinks carry what they connect.
    if inputs.known.guest == Some(true) || inputs.around.full_nvlink || !found.is_claimed() {
        return Vec::new();
    }
    let slow = |device: &LinkDevice| -> Option<(String, PcieLink, PcieLink)> {
        let reading = device.loaded.as_ref()?;
        let (now, most) = (reading.limiting()?, reading.slot_maximum?);
        let is_below = now.raw_gb_per_s() < most.raw_gb_per_s();
        is_below.then(|| (device.label.clone(), now, most))
    };
    let used = inputs.seen.used(found.attribution.tp);
    let slowest = used.iter().filter_map(slow);
    let slowest =
        slowest.min_by(|(_, a, _), (_, b, _)| a.raw_gb_per_s().total_cmp(&b.raw_gb_per_s()));
    let Some((label, now, most)) = slowest else {
        return Vec::new();
    };
    let effect = found.by(By::Link {
        old: Some(LinkRate::Pcie(now)),
        new: LinkRate::Pcie(most),
    });
    vec![Advice {
        rule: Rule::LinkTrainedDown {
            device: label,
            now: now.to_string(),
            most: most.to_string(),
        },
        effect: effect.or_else(|| found.bound()),
        commands: printed([found.commands().links(), found.time_collectives()]),
    }]
}

/// A pair of the box that reaches each other's memory faster than the one that was used.
pub(super) fn other_pair(found: &Found) -> Vec<Advice> {
    let inputs = found.inputs;
    let Some(links) = &inputs.seen.links else {
        return Vec::new();
    };
    if found.attribution.tp != 2 || inputs.is_mig() || !found.is_claimed() {
        return Vec::new();
    }
    faster(found, links).into_iter().collect()
}

/// By measured bandwidth.
fn faster(found: &Found, links: &Links) -> Option<Advice> {
    let case = CASES
        .iter()
        .find(|case| gb_per_s(links, case, 0, 1).is_some())?;
    let now = gb_per_s(links, case, 0, 1)?;
    let (pair, best) = pairs(links)
        .filter_map(|(a, b)| Some(((a, b), gb_per_s(links, case, a, b)?)))
        .max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let ratio = best / now;
    if pair == (0, 1) || ratio < FASTER {
        return None;
    }
    Some(advice(found, links, pair))
}

fn advice(found: &Found, links: &Links, (a, b): (usize, usize)) -> Advice {
    let label = |index: usize| links.devices[index].label.clone();
    let ordinals = format!("{},{}", links.devices[a].ordinal, links.devices[b].ordinal);
    let gpus = format!("--gpus {ordinals}");
    Advice {
        rule: Rule::OtherPair {
            a: label(a),
            b: label(b),
        },
        effect: found.bound(),
        commands: printed([found.commands().ablate(found.attribution.batch, &gpus)]),
    }
}

/// Pairs of different devices of the record, each once.
fn pairs(links: &Links) -> impl Iterator<Item = (usize, usize)> {
    let devices = links.devices.len();
    (0..devices).flat_map(move |a| (a + 1..devices).map(move |b| (a, b)))
}

/// The slower direction of a pair at its fastest size.
fn gb_per_s(links: &Links, case: &str, a: usize, b: usize) -> Option<f64> {
    let direction = |from: usize, to: usize| {
        let ends = (Endpoint::Device(from), Endpoint::Device(to));
        let of = |point: &&Point| point.case == case && (point.from, point.to) == ends;
        let rates = links.points.iter().filter(of).filter_map(bandwidth);
        rates.reduce(f64::max)
    };
    Some(direction(a, b)?.min(direction(b, a)?))
}

fn bandwidth(point: &Point) -> Option<f64> {
    let Outcome::Measured { quantities, .. } = &point.outcome else {
        return None;
    };
    let named = quantities.iter().find(|named| named.name == "bandwidth")?;
    Some(named.quantity.value).filter(|value| *value > 0.0)
}
