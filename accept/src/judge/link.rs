//! The link of each device at its slot while copies ran, against the one that the profile asks for.

use record::LinkReading;
use topology::PcieLink;

use super::copies::contradicts_link;
use super::judging::Judging;
use super::pool::Device;
use crate::report::{Came, Check, Evidence, ReasonCode, Verdict};

const KIND: &str = "link";

/// What to do where no link was ordered.
const STATE: &str = "State the link that was ordered in a profile of your own: extends = this one, [link] generation, width, source.";

/// The link that the profile asks for, in words; empty where it asks for none.
fn wanted(judging: &Judging<'_>) -> String {
    let expected = &judging.profile.link;
    let parts = [
        expected
            .generation
            .map(|generation| format!("Gen{generation}")),
        expected.width.map(|width| format!("x{width}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// One check for each device.
pub(super) fn link(judging: &Judging<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    for device in &judging.pool.devices {
        let (came, is_contradicted) = of_device(judging, device);
        let mut check = judging.check(KIND, &[&device.it.label], came);
        if !judging.is_host() && wanted(judging).is_empty() {
            check.advice = Some(STATE.to_owned());
        }
        check.required |= is_contradicted;
        checks.push(check);
    }
    checks
}

/// What the link comes to, and whether copies contradict what was read.
fn of_device(judging: &Judging<'_>, device: &Device) -> (Came, bool) {
    if judging.is_host() {
        return (Came::skip(ReasonCode::NotApplicable), false);
    }
    let expected = &judging.profile.link;
    let wanted = wanted(judging);
    let mut evidence = evidence(device, &wanted);
    let open = |detail: &str| Came::open(ReasonCode::Unreadable).saying(detail);
    if wanted.is_empty() {
        let came = open("the profile states no [link]").with(evidence);
        return (came, false);
    }
    let is_short = |link: &PcieLink| {
        let is_slow = |generation: u8| link.generation() < generation;
        expected.generation.is_some_and(is_slow)
            || expected.width.is_some_and(|width| link.width() < width)
    };
    // The slowest that was seen: a link may have fallen in one of several runs.
    let slowest = |of: fn(&LinkReading) -> Option<PcieLink>| {
        let read = device.loaded.iter().filter_map(|(reading, _)| of(reading));
        read.reduce(PcieLink::slower)
    };
    let fell = slowest(|reading| reading.narrowed_to).filter(is_short);
    let limiting = slowest(LinkReading::limiting).filter(is_short);
    // Of a link that fell for a while copies may have been faster before; else the reading is wrong, and nothing is known.
    if fell.is_none() && contradicts_link(judging, device) {
        let came = open("copies are faster than the link that was read").with(evidence);
        return (came, true);
    }
    let came = match fell.into_iter().chain(limiting).reduce(PcieLink::slower) {
        Some(short) => {
            // What decides stands first.
            let (short, best) = (short.to_string(), slowest(|reading| reading.slot_maximum));
            evidence
                .sort_by_key(|one| !matches!(one, Evidence::Seen { value, .. } if *value == short));
            let best = best.map_or_else(String::new, |best| format!("slot and card can do {best}"));
            Came::new(Verdict::Fail, ReasonCode::LinkDegraded).saying(best)
        }
        None if slowest(|reading| reading.slot).is_some() => {
            Came::new(Verdict::Pass, ReasonCode::AsExpected)
        }
        None => {
            let last = device.loaded.last();
            let why = last.and_then(|(reading, _)| reading.unreadable.clone());
            judging.unreadable().saying(why.unwrap_or_default())
        }
    };
    (came.with(evidence), false)
}

fn evidence(device: &Device, wanted: &str) -> Vec<Evidence> {
    let mut evidence = Vec::new();
    for (reading, source) in &device.loaded {
        let n = reading.readings as usize;
        let links = [
            ("link at the slot under load", reading.slot, true, n),
            ("slowest link under load", reading.narrowed_to, true, n),
            ("link as the device reports it", reading.device, false, n),
            (
                "the best that slot and card can do",
                reading.slot_maximum,
                false,
                1,
            ),
        ];
        evidence.extend(links.into_iter().filter_map(|(what, link, is_wanted, n)| {
            let seen = Evidence::seen(what, link?, source).times(n);
            Some(match is_wanted && !wanted.is_empty() {
                true => seen.expecting(wanted),
                false => seen,
            })
        }));
    }
    evidence
}
