//! Which device of one file is which of the other: by PCI address, MIG instances by UUID, and by number where neither tells.

use std::collections::{BTreeMap, BTreeSet};

use import::links::{LinkFacts, LinkFile, renumbered as renumbered_name};
use record::Endpoint;

/// The file with its devices numbered as `like` numbers them; it is B, and `like` is A. Devices that one file alone has keep
/// apart.
pub(super) fn renumbered(mut file: LinkFile, like: &LinkFile) -> LinkFile {
    let (Some(theirs), Some(ours)) = (identities(&file.devices), identities(&like.devices)) else {
        return file;
    };
    let mut known: BTreeMap<usize, usize> = theirs
        .iter()
        .filter_map(|(identity, number)| Some((*number, *ours.get(identity)?)))
        .collect();
    let matched: BTreeSet<usize> = known.values().copied().collect();
    // Of the devices whose identity only one file has, those of the same number are taken for one.
    for number in theirs.values() {
        let is_free = !matched.contains(number) && ours.values().any(|other| other == number);
        if !known.contains_key(number) && is_free {
            known.insert(*number, *number);
        }
    }
    if known.iter().any(|(from, to)| from != to) || known.len() < theirs.len() {
        renumber(&mut file, &known, ours.values().max().copied());
    }
    file
}

/// Gives devices their new numbers; one without gets a number above `highest`, and a label that says whose it is.
fn renumber(file: &mut LinkFile, known: &BTreeMap<usize, usize>, highest: Option<usize>) {
    let free = highest.map_or(0, |number| number.saturating_add(1));
    let number = |number: usize| {
        known
            .get(&number)
            .copied()
            .unwrap_or(free.saturating_add(number))
    };
    let end = |end| match end {
        Endpoint::Device(device) => Endpoint::Device(number(device)),
        other => other,
    };
    for value in &mut file.values {
        let ends = &mut value.ends;
        (ends.from, ends.to) = (end(ends.from), end(ends.to));
        ends.name = renumbered_name(&ends.name, number);
    }
    for trouble in &mut file.troubles {
        trouble.ends = trouble.ends.map(|(from, to)| (end(from), end(to)));
    }
    let peers = std::mem::take(&mut file.peers).into_iter();
    file.peers = peers
        .map(|((from, to), state)| ((number(from), number(to)), state))
        .collect();
    let paths = std::mem::take(&mut file.paths).into_iter();
    file.paths = paths
        .map(|((a, b), path)| {
            let (a, b) = (number(a), number(b));
            ((a.min(b), a.max(b)), path)
        })
        .collect();
    for device in &mut file.devices {
        if !known.contains_key(&device.ordinal) {
            device.label = format!("B's {}", device.label);
        }
        device.ordinal = number(device.ordinal);
    }
}

/// The devices by what tells them apart on any day; `None` where one has nothing, or two have the same.
fn identities(devices: &[LinkFacts]) -> Option<BTreeMap<String, usize>> {
    let addresses: BTreeSet<_> = devices.iter().map(|device| device.address).collect();
    let by_address = addresses.len() == devices.len();
    let identity = |device: &LinkFacts| {
        if by_address {
            device.address.map(|address| address.to_string())
        } else {
            device.uuid.clone()
        }
    };
    let all: Option<BTreeMap<String, usize>> = devices
        .iter()
        .map(|device| Some((identity(device)?, device.ordinal)))
        .collect();
    all.filter(|all| !all.is_empty() && all.len() == devices.len())
}
