//! What makes collectives slower than they need be: no peer access, a link below what it can do, another pair, the engine's own
//! all-reduce switched off.

use record::{LinkDevice, Links};
use topology::PcieLink;
use tp_plan::{CustomAllReduce, EngineFacts, OffCause, Vendor};

use super::advice::{Advice, Found, Rule, advice};
use crate::attribute::By;
use crate::inputs::{PeerState, copy_rate, library_told_off};

/// Cases that tell how fast one GPU's memory is reached by another, the one to go by first.
const CASES: [&str; 4] = ["d2d_write_ce", "d2d_read_ce", "d2d_write_sm", "d2d_read_sm"];

/// A pair is faster if it is so by more than this.
const FASTER: f64 = 1.1;

pub(super) fn is_mig_without_peers(found: &Found) -> bool {
    found.inputs.is_mig() && found.inputs.peer_state() != PeerState::Direct
}

pub(super) fn mig(found: &Found) -> Option<Advice> {
    if !is_mig_without_peers(found) {
        return None;
    }
    advice(Rule::MigWithoutPeers, found.by(&By::PeerAccess), None)
}

/// Everything goes through host memory: access is denied, or reported and not used.
pub(super) fn through_host(found: &Found) -> Option<Advice> {
    if found.inputs.is_mig() || !found.is_through_host() {
        return None;
    }
    let guest = found.inputs.known.guest == Some(true);
    let rule = Rule::ThroughHost { guest };
    let doctor = found.commands.doctor();
    advice(rule, found.by(&By::PeerAccess), Some(doctor))
}

/// A variable keeps the library from peer access.
pub(super) fn told_off(found: &Found) -> Option<Advice> {
    let (variable, value) = library_told_off(found.inputs).filter(|_| found.is_claimed())?;
    let rule = Rule::LibraryToldOff {
        variable: variable.to_owned(),
        value: value.to_owned(),
    };
    let timed = found.commands.collectives(found.attribution.batch);
    advice(rule, found.by(&By::PeerAccess), Some(timed))
}

/// The engine, where its own all-reduce is off and peer access may be had.
fn off<'a>(found: &'a Found) -> Option<&'a EngineFacts> {
    let engine = found.inputs.engine(found.attribution.tp)?;
    let is_off = engine.custom_all_reduce != CustomAllReduce::Active;
    (is_off && !found.is_through_host() && !found.inputs.is_mig()).then_some(engine)
}

/// Off for more than two GPUs on PCIe.
pub(super) fn gated(found: &Found) -> Option<Advice> {
    let tp = found.attribution.tp;
    if off(found)?.vendor != Vendor::Nvidia || tp <= 2 || found.inputs.around.full_nvlink {
        return None;
    }
    advice(Rule::CustomAllReduceGated { replicas: tp / 2 }, None, None)
}

/// Off because somebody said so.
pub(super) fn by_flag(found: &Found) -> Option<Advice> {
    let tp = found.attribution.tp;
    let is_by_flag = off(found)?.custom_all_reduce.is_off_by(OffCause::Flag);
    // Who switched it off for a demonstration knows that, and why.
    let can = (tp == 2 || found.inputs.around.full_nvlink) && !found.inputs.seen.off_by_us;
    if !is_by_flag || !can || !found.is_claimed() {
        return None;
    }
    advice(Rule::CustomAllReduceByFlag, found.bound(), None)
}

/// A card that runs below what it and its slot can do under load.
pub(super) fn trained_down(found: &Found) -> Option<Advice> {
    let inputs = found.inputs;
    // A guest is not shown the links of its host, and NVLinks carry what they connect.
    if inputs.known.guest == Some(true) || inputs.around.full_nvlink || !found.is_claimed() {
        return None;
    }
    let slow = |device: &LinkDevice| -> Option<(String, PcieLink, PcieLink)> {
        let reading = device.loaded.as_ref()?;
        let (now, most) = (reading.limiting()?, reading.slot_maximum?);
        let is_below = now.raw_gb_per_s() < most.raw_gb_per_s();
        is_below.then(|| (device.label.clone(), now, most))
    };
    let used = inputs.seen.used(found.attribution.tp);
    let slow = used.iter().filter_map(slow);
    let slowest = slow.min_by(|(_, a, _), (_, b, _)| a.raw_gb_per_s().total_cmp(&b.raw_gb_per_s()));
    let (device, now, most) = slowest?;
    let effect = found.by(&By::Link {
        old: Some(now),
        new: most,
    });
    let rule = Rule::LinkTrainedDown {
        device,
        now: now.to_string(),
        most: most.to_string(),
    };
    advice(rule, effect, Some(found.commands.links()))
}

/// A pair of the box that reaches each other's memory faster than the one that was used, by measured bandwidth.
pub(super) fn other_pair(found: &Found) -> Option<Advice> {
    let links = found.inputs.seen.links.as_ref()?;
    if found.attribution.tp != 2 || found.inputs.is_mig() || !found.is_claimed() {
        return None;
    }
    let cases = CASES.into_iter();
    let mut timed = cases.filter_map(|case| Some((case, gb_per_s(links, case, (0, 1))?)));
    let (case, now) = timed.next()?;
    let devices = links.devices.len();
    let pairs = (0..devices).flat_map(|a| (a + 1..devices).map(move |b| (a, b)));
    let ((a, b), best) = pairs
        .filter_map(|pair| Some((pair, gb_per_s(links, case, pair)?)))
        .max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    if (a, b) == (0, 1) || best / now < FASTER {
        return None;
    }
    let (a, b) = (&links.devices[a], &links.devices[b]);
    let gpus = format!("--gpus {},{}", a.ordinal, b.ordinal);
    let rule = Rule::OtherPair {
        a: a.label.clone(),
        b: b.label.clone(),
    };
    let ablate = found.commands.ablate(found.attribution.batch, &gpus);
    advice(rule, found.bound(), Some(ablate))
}

/// The slower direction of a pair.
fn gb_per_s(links: &Links, case: &str, (a, b): (usize, usize)) -> Option<f64> {
    let both = copy_rate(links, case, a, b)?.min(copy_rate(links, case, b, a)?);
    Some(both).filter(|rate| *rate > 0.0)
}
