//! A record of `tplens p2p` as values of links; positions on its command line become the backend's own numbers.

use std::collections::BTreeMap;

use super::value::{
    LinkEnds, LinkFacts, LinkFile, LinkTrouble, LinkValue, PeerState, TroubleKind, renumbered,
};
use crate::error::ImportError;
use record::control::replaced;
use record::{
    Endpoint, LinkDevice, LinkReading, Links, Outcome, Payload, Point, Record, judged, stream,
};

/// The flag with which a run leaves peer access off.
const WITHOUT_PEERS: &str = "--no-peer";

/// The values and troubles of a record.
pub(super) fn file(record: &Record, origin: &str) -> Result<LinkFile, ImportError> {
    let Payload::Links(links) = &record.payload else {
        let kind = record.payload.kind();
        let why = format!("holds {kind}; give a record of tplens p2p or a file of nvbandwidth");
        return Err(ImportError::unusable(origin, why));
    };
    let header = &record.header;
    let backend = links.backend.as_ref();
    let mut file = LinkFile {
        origin: origin.to_owned(),
        made_by: replaced(&format!("{} {}", header.program, header.version)),
        simulated: record.soft_box().map(|name| replaced(&name)),
        started: Some(replaced(&header.provenance.started)).filter(|text| !text.is_empty()),
        host: header.provenance.host.as_deref().map(replaced),
        backend: backend.map(|backend| replaced(&backend.name)),
        driver: backend.and_then(|backend| backend.driver.as_deref().map(replaced)),
        interface: backend.and_then(|backend| backend.interface.as_deref().map(replaced)),
        devices: links.devices.iter().map(facts).collect(),
        peers: peers(links),
        without_peers: links.probes.is_empty()
            && header
                .provenance
                .arguments
                .iter()
                .any(|argument| argument == WITHOUT_PEERS),
        paths: links
            .paths
            .iter()
            .map(|pair| {
                let (a, b) = (ordinal(links, pair.a), ordinal(links, pair.b));
                ((a.min(b), a.max(b)), pair.path)
            })
            .collect(),
        ..LinkFile::default()
    };
    for point in &links.points {
        add(&mut file, point, links);
    }
    // How the run ended, where it did not end by itself.
    let broken_off = TroubleKind::of_status(&record.status);
    let broken_off = broken_off.map(|(kind, detail)| LinkTrouble::of_file(kind, replaced(detail)));
    file.troubles.extend(broken_off);
    Ok(file)
}

fn facts(device: &LinkDevice) -> LinkFacts {
    let reading = device.loaded.as_ref();
    LinkFacts {
        ordinal: device.ordinal,
        label: replaced(&device.label),
        name: replaced(&device.name),
        address: device.address,
        link: reading.and_then(link),
    }
}

/// A link as it was read under load, and what it fell to while copies ran.
fn link(reading: &LinkReading) -> Option<String> {
    let link = reading.limiting()?;
    Some(match reading.narrowed_to {
        Some(narrowed) => format!("{link}, falling to {narrowed}"),
        None => link.to_string(),
    })
}

/// What was found of peer access; what was under way when a run broke has begun.
fn peers(links: &Links) -> BTreeMap<(usize, usize), PeerState> {
    let pair = |from, to| (ordinal(links, from), ordinal(links, to));
    let begun = links.pending.iter();
    let begun = begun.map(|(from, to)| (pair(*from, *to), PeerState::Begun));
    let probed = links.probes.iter().map(|probe| {
        let state = PeerState::Probed(probe.verdict);
        (pair(probe.from, probe.to), state)
    });
    begun.chain(probed).collect()
}

fn add(file: &mut LinkFile, point: &Point, links: &Links) {
    let number = |end| match end {
        Endpoint::Device(position) => Endpoint::Device(ordinal(links, position)),
        other => other,
    };
    let (from, to) = (number(point.from), number(point.to));
    let test = match point.case.as_str() {
        "" => "(no case)".to_owned(),
        case => replaced(case),
    };
    if let Some((why, seen)) = point.outcome.unmeasured() {
        file.troubles.push(LinkTrouble {
            test: Some(test.clone()),
            ends: Some((from, to)),
            bytes: Some(point.bytes),
            ..LinkTrouble::of_file(why.into(), replaced(seen))
        });
        return;
    }
    if let Outcome::Measured { quantities, .. } = &point.outcome {
        let all = quantities.iter().filter(|named| {
            let value = named.quantity.value;
            value.is_finite() && value > 0.0
        });
        file.values.extend(all.map(|named| LinkValue {
            ends: LinkEnds {
                test: test.clone(),
                from,
                to,
                name: name_of(point, &named.name, links),
            },
            value: named.quantity.value,
            unit: named.quantity.unit,
            interval: named.quantity.interval,
            n: Some(named.quantity.n as u64),
            samples: named.quantity.samples.clone(),
            bytes: Some(point.bytes),
            is_judged: judged(quantities).any(|judged| judged.name == named.name),
        }));
    }
}

/// The backend's number of the device at a position.
fn ordinal(links: &Links, position: usize) -> usize {
    links
        .devices
        .get(position)
        .map_or(position, |device| device.ordinal)
}

/// A name with the backend's numbers of devices in it, such as `share_3`, `share_0_1` or `back_2`. A stream of a ring names both
/// its devices, since which one is next depends on the order of the command line.
fn name_of(point: &Point, name: &str, links: &Links) -> String {
    let is_ring = (point.from, point.to) == (Endpoint::All, Endpoint::All);
    let ends = stream(name, point.from, point.to, links.devices.len());
    match ends.filter(|_| is_ring) {
        Some((Endpoint::Device(from), Endpoint::Device(to))) => {
            format!("share_{}_{}", ordinal(links, from), ordinal(links, to))
        }
        _ => replaced(&renumbered(name, |position| ordinal(links, position))),
    }
}
