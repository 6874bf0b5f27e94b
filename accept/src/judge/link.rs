//! The link of each device at its slot while copies ran, against the one that the profile asks for.

use record::LinkReading;
use topology::PcieLink;

use super::copies::contradicts_link;
use super::judging::{Judging, seen_times};
use super::pool::Device;
use crate::report::{Check, Evidence, ReasonCode, Seen, Subject, Verdict};

const KIND: &str = "link";

/// One check for each device.
pub(super) fn link(judging: &Judging<'_>) -> Vec<Check> {
    let devices = judging.pool.devices.iter();
    devices.map(|device| of_device(judging, device)).collect()
}

fn of_device(judging: &Judging<'_>, device: &Device) -> Check {
    let label = &device.it.label;
    if judging.is_host() {
        return judging.skip(KIND, label, ReasonCode::NotApplicable);
    }
    let expected = &judging.profile.link;
    let wanted = match (expected.generation, expected.width) {
        (None, None) => None,
        (Some(generation), None) => Some(format!("Gen{generation}")),
        (None, Some(width)) => Some(format!("x{width}")),
        (Some(generation), Some(width)) => Some(format!("Gen{generation} x{width}")),
    };
    let mut evidence = evidence(device, wanted.as_ref());
    let subject = || judging.subject(KIND, [label.clone()]);
    if wanted.is_none() {
        let detail = "the profile states no [link]";
        return subject().open(ReasonCode::Unreadable, detail, None, evidence);
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
    let short = fell.into_iter().chain(limiting).reduce(PcieLink::slower);
    // Of a link that fell for a while copies may have been faster before; else the reading is wrong, and nothing is known.
    if fell.is_none() && contradicts_link(judging, device) {
        let detail = "copies are faster than the link that was read";
        let subject = Subject::new(KIND, [label.clone()], true);
        return subject.open(ReasonCode::Unreadable, detail, None, evidence);
    }
    // What decides stands first.
    let decides = |piece: &Evidence| match (piece, short) {
        (Evidence::Seen { value, .. }, Some(short)) => *value == short.to_string(),
        _ => false,
    };
    if let Some(at) = evidence.iter().position(decides) {
        evidence.swap(0, at);
    }
    let is_read = slowest(|reading| reading.slot).is_some();
    let verdict = match short {
        Some(_) => Some((Verdict::Fail, ReasonCode::LinkDegraded)),
        None if is_read => Some((Verdict::Pass, ReasonCode::AsExpected)),
        None => None,
    };
    match (verdict, &evidence[..]) {
        (Some((verdict, code)), [first, rest @ ..]) => {
            let seen = Seen::new(first.clone(), rest.to_vec());
            let best = slowest(|reading| reading.slot_maximum).filter(|_| short.is_some());
            let best = best.map_or_else(String::new, |best| format!("slot and card can do {best}"));
            judging.judged(KIND, [label.clone()], (verdict, code, best), None, seen)
        }
        _ if judging.is_guest() => judging.skip(KIND, label, ReasonCode::Unreadable),
        _ => {
            let last = device.loaded.last();
            let why = last.and_then(|(reading, _)| reading.unreadable.clone());
            let why = why.unwrap_or_default();
            subject().open(ReasonCode::Unreadable, &why, None, evidence)
        }
    }
}

fn evidence(device: &Device, wanted: Option<&String>) -> Vec<Evidence> {
    let mut evidence = Vec::new();
    for (reading, source) in &device.loaded {
        let n = reading.readings as usize;
        let links = [
            ("link at the slot under load", reading.slot, wanted, n),
            ("slowest link under load", reading.narrowed_to, wanted, n),
            ("link as the device reports it", reading.device, None, n),
            (
                "the best that slot and card can do",
                reading.slot_maximum,
                None,
                1,
            ),
        ];
        evidence.extend(links.into_iter().filter_map(|(what, link, wanted, n)| {
            let value = link?.to_string();
            Some(seen_times(n, what, value, wanted.cloned(), source))
        }));
    }
    evidence
}
