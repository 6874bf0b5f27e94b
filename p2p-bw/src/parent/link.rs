//! The links of the devices: what a reading says of a device, and what to say about it once all was measured.

use record::caveat::{Caveat, Condition};
use record::{LinkDevice, LinkReading};
use topology::PcieLink;

use super::monitor::faster;

/// Assumed where the configuration space is closed: what most servers set.
pub(super) const ASSUMED_PAYLOAD_BYTES: u32 = 256;

/// The links of a device that a copy crosses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// From the card up to the root complex.
    Chain,
    /// The slot's alone: the ends hang below one switch.
    Card,
}

impl Part {
    fn limit(self, reading: &LinkReading) -> Option<PcieLink> {
        match self {
            Self::Chain => reading.limiting(),
            Self::Card => reading.limiting_at_card(),
        }
    }
}

/// What a device's link can carry in one direction, in GB/s, and what that rests on.
pub(super) fn carries(
    device: &LinkDevice,
    now: Option<&LinkReading>,
    part: Part,
) -> Result<(f64, String), String> {
    let (link, when) = link_of(device, now, part)?;
    let payload = device.max_payload_bytes.unwrap_or(ASSUMED_PAYLOAD_BYTES);
    let assumed = if device.max_payload_bytes.is_none() {
        " assumed"
    } else {
        ""
    };
    let basis = format!("{link}{when}, payload {payload} B{assumed}");
    Ok((link.payload_ceiling_gb_per_s(payload), basis))
}

/// The limiting link of a device, and a word where it is not simply what was read while the point ran.
fn link_of(
    device: &LinkDevice,
    now: Option<&LinkReading>,
    part: Part,
) -> Result<(PcieLink, String), String> {
    if let Some((reading, link)) = now.and_then(|now| Some((now, part.limit(now)?))) {
        // What some of the samples had, so that no sample is above the ceiling.
        let fell = match (part, reading.narrowed_to) {
            (Part::Chain, Some(to)) => format!(" (fell to {to} meanwhile)"),
            _ => String::new(),
        };
        return Ok((link, fell));
    }
    let before = |loaded: &LinkReading| match part {
        Part::Chain => loaded.narrowed_to.or(loaded.limiting()),
        Part::Card => loaded.limiting_at_card(),
    };
    if let Some(link) = device.loaded.as_ref().and_then(before) {
        return Ok((link, " (read under earlier load)".to_owned()));
    }
    // An idle link trains down: its state says nothing of what it can carry.
    let idle = device.idle.as_ref().and_then(|idle| part.limit(idle));
    Err(match idle {
        Some(_) => "the link was not read under load",
        None => "the link is unreadable",
    }
    .to_owned())
}

/// A device's summary with the readings of one more point: the fastest state stays, and a slower one that a point kept
/// to its end is told beside it.
pub(super) fn merged(device: &LinkDevice, now: &LinkReading) -> LinkReading {
    let Some(before) = &device.loaded else {
        return now.clone();
    };
    LinkReading {
        device: faster(before.device, now.device),
        slot: faster(before.slot, now.slot),
        card: faster(before.card, now.card),
        slot_maximum: now.slot_maximum.or(before.slot_maximum),
        readings: before.readings + now.readings,
        narrowed_to: [before.narrowed_to, now.narrowed_to, fallen(before, now)]
            .into_iter()
            .flatten()
            .reduce(PcieLink::slower),
        unreadable: now.unreadable.clone(),
    }
}

/// The fastest state of a point, where it is slower than before; one reading may have met an idle moment, whose speed
/// is lower and whose width is not.
fn fallen(before: &LinkReading, now: &LinkReading) -> Option<PcieLink> {
    let (before, after) = (before.limiting()?, now.limiting()?);
    let proven = now.readings >= 2 || after.width() < before.width();
    (after.cmp_rate(before).is_lt() && proven).then_some(after)
}

/// What to say about a device's link once all was measured.
pub(super) fn caveats(devices: &[LinkDevice]) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    for device in devices {
        let Some(loaded) = &device.loaded else {
            continue;
        };
        let Some(link) = loaded.limiting() else {
            continue;
        };
        if let Some(narrow) = loaded.narrowed_to {
            caveats.push(Caveat::LinkNarrowed {
                device: device.label.clone(),
                from: link.to_string(),
                to: narrow.to_string(),
            });
        }
        if let Some(maximum) = loaded
            .slot_maximum
            .filter(|maximum| link.cmp_rate(*maximum).is_lt())
        {
            caveats.push(Caveat::LinkBelowMaximum {
                device: device.label.clone(),
                now: link.to_string(),
                maximum: maximum.to_string(),
            });
        }
    }
    caveats.extend(devices.iter().filter_map(unreadable));
    caveats
}

/// The state of a device's link, read under load or else idle.
fn reading(device: &LinkDevice) -> Option<&LinkReading> {
    device.loaded.as_ref().or(device.idle.as_ref())
}

/// Why a device's numbers have no ceiling.
fn unreadable(device: &LinkDevice) -> Option<Caveat> {
    let reading = reading(device).filter(|reading| reading.limiting().is_none())?;
    let why = reading
        .unreadable
        .as_deref()
        .unwrap_or("no reason was given");
    Some(Condition::LinkUnreadable.with(format!("{}: {why}", device.label)))
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

    fn device(idle: Option<LinkReading>, loaded: Option<LinkReading>) -> LinkDevice {
        LinkDevice {
            label: "GPU0".to_owned(),
            ordinal: 0,
            name: "a device of a test".to_owned(),
            uuid: None,
            address: None,
            node: None,
            memory_bytes: None,
            mig: None,
            idle,
            loaded,
            max_payload_bytes: None,
            busy: None,
        }
    }

    #[test]
    fn a_slower_point_is_a_link_that_fell_unless_one_idle_reading_says_so() {
        let device = device(None, Some(read(link(4, 16), 3)));
        // Gen3 x16 is 15.75 GB/s and Gen4 x8 as well, Gen4 x16 is 31.51.
        for (now, readings, told) in [
            (link(3, 16), 2, Some(link(3, 16))),
            (link(3, 16), 1, None),
            (link(4, 8), 1, Some(link(4, 8))),
            (link(4, 16), 2, None),
            (link(5, 16), 2, None),
        ] {
            let merged = merged(&device, &read(now, readings));
            assert_eq!(merged.narrowed_to, told, "{now} read {readings} times");
            assert_eq!(merged.limiting(), Some(faster_of(now, link(4, 16))));
        }
    }

    fn faster_of(a: PcieLink, b: PcieLink) -> PcieLink {
        if a.cmp_rate(b).is_gt() { a } else { b }
    }

    #[test]
    fn a_link_that_fell_is_told_with_both_states() {
        let mut fell = read(link(4, 16), 4);
        fell.narrowed_to = Some(link(3, 16));
        let told = caveats(&[device(None, Some(fell))]);
        let expected = Caveat::LinkNarrowed {
            device: "GPU0".to_owned(),
            from: "Gen4 x16".to_owned(),
            to: "Gen3 x16".to_owned(),
        };
        assert_eq!(told, [expected]);
    }

    #[test]
    fn an_idle_link_gives_no_ceiling_and_an_earlier_load_does() {
        let idle = Some(read(link(1, 16), 1));
        let why = link_of(&device(idle.clone(), None), None, Part::Chain).unwrap_err();
        assert_eq!(why, "the link was not read under load");
        let why = link_of(&device(None, None), None, Part::Chain).unwrap_err();
        assert_eq!(why, "the link is unreadable");
        let loaded = Some(read(link(4, 16), 1));
        let (found, when) = link_of(&device(idle, loaded), None, Part::Chain).unwrap();
        assert_eq!(
            (found, when.as_str()),
            (link(4, 16), " (read under earlier load)")
        );
    }
}
