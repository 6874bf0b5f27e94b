//! Which device of one file is which of the other: by PCI address, MIG instances by UUID, and by number where neither tells.

use std::collections::{BTreeMap, BTreeSet};

use measure::import::links::{LinkFacts, LinkFile, renumbered as renumbered_name};
use measure::record::Endpoint;

use program::compare::listed;

/// The file with its devices numbered as `like` numbers them; it is B, and `like` is A. Says what was done where numbers changed
/// or an identity is in one file only.
pub(super) fn renumbered(mut file: LinkFile, like: &LinkFile) -> (LinkFile, Vec<String>) {
    let (Some(theirs), Some(ours)) = (identities(&file.devices), identities(&like.devices)) else {
        return (file, Vec::new());
    };
    let mut known: BTreeMap<usize, usize> = theirs
        .iter()
        .filter_map(|(identity, number)| Some((*number, *ours.get(identity)?)))
        .collect();
    let matched: BTreeSet<usize> = known.values().copied().collect();
    let is_moved = known.iter().any(|(from, to)| from != to);
    // Of the devices whose identity only one file has, those of the same number are taken for one.
    let (mut by_number, mut strangers) = (Vec::new(), Vec::new());
    for (identity, number) in &theirs {
        if known.contains_key(number) {
            continue;
        }
        let label = label(&file, *number);
        let same = ours.iter().find(|(_, other)| *other == number);
        match same.filter(|(_, other)| !matched.contains(other)) {
            Some((other, _)) => {
                by_number.push(format!("{label} ({other} in A, {identity} in B)"));
                known.insert(*number, *number);
            }
            None => strangers.push(format!("{label} of B ({identity})")),
        }
    }
    let taken: BTreeSet<usize> = known.values().copied().collect();
    strangers.extend(ours.iter().filter_map(|(identity, number)| {
        let label = label(like, *number);
        (!taken.contains(number)).then(|| format!("{label} of A ({identity})"))
    }));
    let notes = [
        is_moved.then(|| {
            "devices have other numbers in B; they are told by their addresses and carry A's numbers here"
                .to_owned()
        }),
        (!by_number.is_empty()).then(|| {
            let devices = listed(&by_number, ", ");
            format!("told by their numbers alone, since their addresses differ: {devices}")
        }),
        (!strangers.is_empty()).then(|| {
            let devices = listed(&strangers, ", ");
            format!("in one of the files only, and not compared: {devices}")
        }),
    ];
    if known.iter().any(|(from, to)| from != to) || known.len() < theirs.len() {
        renumber(&mut file, &known, ours.values().max().copied());
    }
    (file, notes.into_iter().flatten().collect())
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

fn label(file: &LinkFile, number: usize) -> String {
    let mut devices = file.devices.iter();
    devices
        .find(|device| device.ordinal == number)
        .map_or_else(|| format!("GPU{number}"), |device| device.label.clone())
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
