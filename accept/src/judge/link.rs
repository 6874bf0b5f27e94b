//! The link of each device at its slot, under load.
//!
//! A device's own word can condemn a link and never clears it: a card with a switch of its own says x16 whatever the slot gives, and
//! what stands above the card is not in it.

use measure::record::LinkReading;
use topology::PcieLink;

use super::contradicts;
use super::inventory::seen;
use super::judging::Judging;
use super::pool::Device;
use crate::plural::plural;
use crate::report::{Check, Evidence, ReasonCode, Seen, Verdict};

/// Generation and width under load.
pub(super) fn link(judging: &Judging<'_>) -> Vec<Check> {
    let devices = judging.pool.devices.iter();
    devices.map(|device| of_device(judging, device)).collect()
}

/// Whether the link of this device is worse than the profile expects.
pub(super) fn is_failed(judging: &Judging<'_>, label: &str) -> bool {
    let device = judging.pool.device(label);
    device.is_some_and(|device| of_device(judging, device).verdict == Verdict::Fail)
}

/// Whether the link of this device was read under load and is as the profile expects.
pub(super) fn is_good(judging: &Judging<'_>, label: &str) -> bool {
    let device = judging.pool.device(label);
    device.is_some_and(|device| of_device(judging, device).verdict == Verdict::Pass)
}

fn of_device(judging: &Judging<'_>, device: &Device) -> Check {
    let about = [device.it.label.clone()];
    let subject = || judging.subject("link", about.clone());
    if judging.is_host() {
        let text = "host memory: no link between the ends".to_owned();
        return subject().skipped(ReasonCode::NotApplicable, text);
    }
    let expected = &judging.profile.link;
    let wanted = match (expected.generation, expected.width) {
        (None, None) => None,
        (generation, width) => Some(format!(
            "{}{}",
            generation.map_or("any generation".to_owned(), |generation| format!(
                "Gen{generation}"
            )),
            width.map_or(" of any width".to_owned(), |width| format!(" x{width}"))
        )),
    };
    let evidence = evidence(device, wanted.as_ref());
    let Some(wanted) = wanted else {
        let text = format!(
            "the profile does not state which link {} must have; extend it with [link] generation, width and source",
            device.it.label
        );
        return subject().inconclusive(ReasonCode::NotStated, text, None, evidence);
    };
    let is_short = |link: &PcieLink| {
        expected
            .generation
            .is_some_and(|generation| link.generation() < generation)
            || expected.width.is_some_and(|width| link.width() < width)
    };
    let read = || device.loaded.iter().map(|(reading, _)| reading);
    // The slowest that was seen: a link may have fallen in one of several runs.
    let slowest =
        |of: fn(&LinkReading) -> Option<PcieLink>| read().filter_map(of).reduce(PcieLink::slower);
    let fell = slowest(|reading| reading.narrowed_to);
    let limiting = slowest(LinkReading::limiting);
    let short = [fell, limiting]
        .into_iter()
        .flatten()
        .filter(is_short)
        .reduce(PcieLink::slower);
    // A link that fell for a while may have carried more before.
    if short.is_some()
        && fell.filter(is_short).is_none()
        && let Some(found) = contradicts::of_device(judging, device)
    {
        let advice = contradicts::advice(judging, device, &found);
        let check = subject().inconclusive(ReasonCode::Unreadable, found.text, None, evidence);
        return check.advised(advice);
    }
    if let (Some(short), [first, rest @ ..]) = (short, &evidence[..]) {
        let how = if Some(short) == fell { "fell to" } else { "is" };
        let own = read()
            .find_map(|reading| reading.device)
            .filter(|own| own.cmp_rate(short).is_gt());
        let trap = own.map_or_else(String::new, |own| {
            format!("; the device's own word is {own}, which says nothing of the slot")
        });
        let text = format!(
            "the link at the slot {how} {short} under load, {wanted} is expected ({}){trap}",
            expected.source
        );
        let came = (Verdict::Fail, ReasonCode::LinkDegraded, text);
        return judging.judged(
            "link",
            about,
            came,
            None,
            Seen::new(first.clone(), rest.to_vec()),
        );
    }
    let at_slot = read()
        .filter_map(|reading| reading.slot)
        .reduce(PcieLink::slower);
    match (at_slot, &evidence[..]) {
        (Some(slot), [first, rest @ ..]) => {
            let readings: u32 = read().map(|reading| reading.readings).sum();
            let text = format!(
                "{slot} at the slot under load, read {}; {wanted} is expected",
                plural(readings, "time")
            );
            let came = (Verdict::Pass, ReasonCode::AsExpected, text);
            judging.judged(
                "link",
                about,
                came,
                None,
                Seen::new(first.clone(), rest.to_vec()),
            )
        }
        _ if judging.is_guest() => {
            let text = format!(
                "a guest is not shown the link at the slot; read it on the host ({wanted} is expected)"
            );
            subject().skipped(ReasonCode::Virtualized, text)
        }
        _ => {
            let (code, text) = unknown(device);
            let check = subject().inconclusive(code, text, None, evidence);
            match code {
                ReasonCode::Unreadable => check.advised(advice(device)),
                _ => check,
            }
        }
    }
}

/// Why the link at the slot is not known.
fn unknown(device: &Device) -> (ReasonCode, String) {
    let label = &device.it.label;
    let last = device.loaded.last().map(|(reading, _)| reading);
    match (last, &device.it.idle) {
        (Some(reading), _) if reading.device.is_some() => {
            let why = reading
                .unreadable
                .as_deref()
                .unwrap_or("no reason was given");
            (
                ReasonCode::Unreadable,
                format!(
                    "only {label}'s own word of its link is known, which says nothing of the slot: {why}"
                ),
            )
        }
        (Some(reading), _) => {
            let why = reading
                .unreadable
                .as_deref()
                .unwrap_or("no reason was given");
            (
                ReasonCode::Unreadable,
                format!("the link of {label} cannot be read: {why}"),
            )
        }
        (None, Some(_)) => {
            let text = format!(
                "the link of {label} was read idle only, which says nothing: no copy ran on it"
            );
            (ReasonCode::CannotLoadLink, text)
        }
        (None, None) => (
            ReasonCode::Unreadable,
            format!("the link of {label} was not read"),
        ),
    }
}

/// What to do about a link that cannot be read.
fn advice(device: &Device) -> String {
    let port = match device.it.address {
        Some(address) => format!("the port above {address}"),
        None => "the port above the card".to_owned(),
    };
    format!(
        "run on the host itself and not in a container or guest, where /sys shows current_link_speed and current_link_width of {port} \
         (`p2p-bw topo` names it, `p2p-bw doctor` says what is not shown); where it is not shown there either, read LnkSta of that port \
         with `lspci -vv` as root while copies run, and take the link by hand"
    )
}

fn evidence(device: &Device, wanted: Option<&String>) -> Vec<Evidence> {
    let mut evidence = Vec::new();
    for (reading, source) in &device.loaded {
        let state = |what: &str, link: Option<PcieLink>, expected: Option<&String>| {
            link.map(|link| Evidence::Seen {
                what: what.to_owned(),
                value: link.to_string(),
                expected: expected.cloned(),
                n: reading.readings as usize,
                source: source.clone(),
            })
        };
        evidence.extend(state("link at the slot under load", reading.slot, wanted));
        evidence.extend(state(
            "state that it fell to under load",
            reading.narrowed_to,
            wanted,
        ));
        evidence.extend(state(
            "the device's own word under load",
            reading.device,
            None,
        ));
        let maximum = reading.slot_maximum.map(|maximum| {
            seen(
                "the best that slot and card can do",
                maximum.to_string(),
                None,
                source,
            )
        });
        evidence.extend(maximum);
    }
    evidence
}
