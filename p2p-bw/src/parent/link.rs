//! The links of the devices: what a reading says of a device, and what to say about it once all was measured.

use record::caveat::{Caveat, Condition};
use record::{LinkDevice, LinkReading};
use topology::PcieLink;

/// Assumed where the configuration space is closed: what most servers set.
const ASSUMED_PAYLOAD_BYTES: u32 = 256;

/// What a device's link can carry in one direction, in GB/s, and what that rests on; of the slot's link alone where the ends hang below
/// one switch (`at_card`), else of all links up to the root complex.
pub(super) fn carries(
    device: &LinkDevice,
    now: Option<&LinkReading>,
    at_card: bool,
) -> Result<(f64, String), String> {
    let limit = |reading: &LinkReading| match at_card {
        true => reading.limiting_at_card(),
        false => reading.limiting(),
    };
    let fell = |reading: &LinkReading| reading.narrowed_to.filter(|_| !at_card);
    let before = || {
        let loaded = device.loaded.as_ref()?;
        fell(loaded).or(limit(loaded))
    };
    let (link, when) = if let Some((now, link)) = now.and_then(|now| Some((now, limit(now)?))) {
        // Of what was read the fastest, so that no sample is above the ceiling.
        let fell = fell(now).map(|to| format!(" (fell to {to} meanwhile)"));
        (link, fell.unwrap_or_default())
    } else if let Some(link) = before() {
        (link, " (read under earlier load)".to_owned())
    } else if device.idle.as_ref().and_then(limit).is_some() {
        // An idle link trains down: its state says nothing of what it can carry.
        return Err("the link was not read under load".to_owned());
    } else {
        return Err("the link is unreadable".to_owned());
    };
    let (payload, assumed) = match device.max_payload_bytes {
        Some(bytes) => (bytes, ""),
        None => (ASSUMED_PAYLOAD_BYTES, " assumed"),
    };
    let basis = format!("{link}{when}, payload {payload} B{assumed}");
    Ok((link.payload_ceiling_gb_per_s(payload), basis))
}

/// Adds what was read of a link: the fastest state stays, since a link that idles trains down; a slower one that it fell to is told
/// beside it.
pub(super) fn merged(before: Option<&LinkReading>, now: LinkReading) -> LinkReading {
    let Some(before) = before else {
        return now;
    };
    let told = [before.narrowed_to, now.narrowed_to, fallen(before, &now)];
    let told = told.into_iter().flatten();
    // One reading may have met an idle moment: of one width the faster state, as it is under load.
    let narrowest = |a: &PcieLink, b: &PcieLink| {
        let width = a.width().cmp(&b.width());
        width.then_with(|| b.cmp_rate(*a))
    };
    LinkReading {
        device: faster(before.device, now.device),
        slot: faster(before.slot, now.slot),
        card: faster(before.card, now.card),
        slot_maximum: now.slot_maximum.or(before.slot_maximum),
        readings: before.readings + now.readings,
        narrowed_to: match now.readings {
            0 | 1 => told.min_by(narrowest),
            _ => told.reduce(PcieLink::slower),
        },
        unreadable: now.unreadable,
    }
}

/// The state that the link fell to, where what was read while copies of the last point and of this one ran says so together: one of each
/// may have met an idle moment, and a slow monitor gives no more.
pub(super) fn proven(
    before: Option<&LinkReading>,
    last: Option<&LinkReading>,
    now: Option<&LinkReading>,
) -> Option<PcieLink> {
    let both = merged(Some(last?), now?.clone());
    fallen(before?, &both)
}

/// The state that is slower than before; one reading alone may have met an idle moment, whose speed is lower and whose width is not.
fn fallen(before: &LinkReading, now: &LinkReading) -> Option<PcieLink> {
    let (before, after) = (before.limiting()?, now.limiting()?);
    let proven = now.readings >= 2 || after.width() < before.width();
    (after.cmp_rate(before).is_lt() && proven).then_some(after)
}

/// The faster of two states, or the one that is known.
fn faster(a: Option<PcieLink>, b: Option<PcieLink>) -> Option<PcieLink> {
    [a, b].into_iter().flatten().max_by(|a, b| a.cmp_rate(*b))
}

/// One caveat for all devices whose payload size is assumed.
pub(super) fn assumed_payload(devices: &[LinkDevice]) -> Option<Caveat> {
    let is_assumed = |device: &&LinkDevice| {
        let idle = device.idle.as_ref().and_then(LinkReading::limiting);
        device.max_payload_bytes.is_none() && idle.is_some()
    };
    let devices = devices.iter().filter(is_assumed);
    let labels: Vec<&str> = devices.map(|device| device.label.as_str()).collect();
    (!labels.is_empty()).then(|| Caveat::PayloadSizeAssumed {
        device: labels.join(", "),
        bytes: ASSUMED_PAYLOAD_BYTES,
    })
}

/// What to say about the devices' links once all was measured.
pub(super) fn caveats(devices: &[LinkDevice]) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    for device in devices {
        let label = || device.label.clone();
        // Read under load or else idle.
        let Some(reading) = device.loaded.as_ref().or(device.idle.as_ref()) else {
            continue;
        };
        let Some(link) = reading.limiting() else {
            let why = reading.unreadable.as_deref();
            let why = why.unwrap_or("no reason was given");
            caveats.push(Condition::LinkUnreadable.with(format!("{}: {why}", label())));
            continue;
        };
        let loaded = device.loaded.as_ref();
        let fell = loaded.and_then(|loaded| loaded.narrowed_to);
        caveats.extend(fell.map(|narrow| Caveat::LinkNarrowed {
            device: label(),
            from: link.to_string(),
            to: narrow.to_string(),
        }));
        let maximum = loaded.and_then(|loaded| loaded.slot_maximum);
        let above = maximum.filter(|maximum| link.cmp_rate(*maximum).is_lt());
        caveats.extend(above.map(|maximum| Caveat::LinkBelowMaximum {
            device: label(),
            now: link.to_string(),
            maximum: maximum.to_string(),
        }));
    }
    caveats
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(generation: u8, width: u8) -> PcieLink {
        PcieLink::new(generation, width).unwrap()
    }

    fn read(link: PcieLink, readings: u32) -> LinkReading {
        LinkReading {
            slot: Some(link),
            readings,
            ..LinkReading::default()
        }
    }

    /// What several single readings come to.
    fn sum(readings: &[(u8, u8)]) -> (Option<String>, Option<String>) {
        let mut sum = None;
        for (generation, width) in readings {
            let now = read(link(*generation, *width), 1);
            sum = Some(merged(sum.as_ref(), now));
        }
        let sum = sum.unwrap();
        let text = |link: Option<PcieLink>| link.map(|link| link.to_string());
        (text(sum.limiting()), text(sum.narrowed_to))
    }

    #[test]
    fn a_link_that_idles_is_shown_as_under_load_and_one_that_gets_narrower_is_told() {
        let x16 = Some("Gen4 x16".to_owned());
        let x8 = Some("Gen4 x8".to_owned());
        assert_eq!(sum(&[(1, 16), (4, 16), (1, 16)]), (x16.clone(), None));
        assert_eq!(sum(&[(4, 16), (4, 16), (4, 8)]), (x16.clone(), x8.clone()));
        // A narrow link that idles is shown at its speed under load.
        assert_eq!(sum(&[(4, 16), (1, 8), (4, 8), (1, 8)]), (x16, x8));
    }

    #[test]
    fn a_card_wider_inside_than_its_slot_did_not_get_narrower() {
        let reading = || LinkReading {
            device: Some(link(5, 16)),
            ..read(link(5, 8), 1)
        };
        let sum = merged(Some(&reading()), reading());
        assert_eq!((sum.narrowed_to, sum.limiting()), (None, Some(link(5, 8))));
    }

    #[test]
    fn two_points_with_one_slow_reading_each_are_a_link_that_fell() {
        let (before, fast, slow) = (
            read(link(4, 16), 3),
            read(link(4, 16), 1),
            read(link(3, 16), 1),
        );
        // Of an idle link that is told of after the end nothing came while copies ran.
        for (last, now, told) in [
            (&slow, Some(&slow), Some(link(3, 16))),
            (&fast, Some(&slow), None),
            (&slow, None, None),
        ] {
            assert_eq!(proven(Some(&before), Some(last), now), told);
        }
    }

    #[test]
    fn a_slower_point_is_a_link_that_fell_unless_one_idle_reading_says_so() {
        let before = read(link(4, 16), 3);
        // Gen3 x16 is 15.75 GB/s and Gen4 x8 as well, Gen4 x16 is 31.51.
        for (now, readings, told) in [
            (link(3, 16), 2, Some(link(3, 16))),
            (link(3, 16), 1, None),
            (link(4, 8), 1, Some(link(4, 8))),
            (link(4, 16), 2, None),
            (link(5, 16), 2, None),
        ] {
            let merged = merged(Some(&before), read(now, readings));
            assert_eq!(merged.narrowed_to, told, "{now} read {readings} times");
        }
    }
}
