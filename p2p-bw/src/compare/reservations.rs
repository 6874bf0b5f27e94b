//! What differs between two files beside their numbers, so that a difference of numbers may not be the links'.

use std::collections::BTreeSet;

use measure::import::links::{LinkFile, LinkValue};
use measure::quantity::{Gate, TimeSource};

use super::causes::Changes;
use super::names::Names;
use super::pairs::Pair;

/// What a reader must know about two files before believing their ratios.
pub(super) fn of(
    a: &LinkFile,
    b: &LinkFile,
    pairs: &[Pair],
    changes: &Changes,
    names: &Names,
) -> Vec<String> {
    let mut all = changes.words(names);
    for (what, of_a, of_b) in [
        ("tool", Some(&a.made_by), Some(&b.made_by)),
        ("host", a.host.as_ref(), b.host.as_ref()),
        ("backend", a.backend.as_ref(), b.backend.as_ref()),
        ("driver", a.driver.as_ref(), b.driver.as_ref()),
        ("interface", a.interface.as_ref(), b.interface.as_ref()),
    ] {
        if let (Some(of_a), Some(of_b)) = (of_a, of_b)
            && of_a != of_b
        {
            all.push(format!("another {what}: {of_a} in A, {of_b} in B"));
        }
    }
    all.extend(devices(a, b, names));
    all.extend(timing(pairs));
    let count = |is: fn(&LinkValue, &LinkValue) -> bool| {
        pairs.iter().filter(|pair| is(&pair.a, &pair.b)).count()
    };
    let nodes = count(|a, b| a.node.zip(b.node).is_some_and(|(a, b)| a != b));
    let unknown = count(|a, b| a.bytes.is_none() || b.bytes.is_none());
    let bare = count(|a, b| a.samples.is_empty() || b.samples.is_empty());
    let total = pairs.len();
    for (count, words) in [
        (nodes, "had their host memory on another NUMA node"),
        (
            unknown,
            "have a size on one side or none only; the largest size of the other side is taken",
        ),
        (bare, "have no samples on one side or both, so no interval"),
    ] {
        if count > 0 {
            all.push(format!("{count} of {total} pairs of numbers {words}"));
        }
    }
    all
}

/// Other devices of the same number.
fn devices(a: &LinkFile, b: &LinkFile, names: &Names) -> Vec<String> {
    let mut all = Vec::new();
    for of_a in &a.devices {
        let same = b.devices.iter().find(|of_b| of_b.ordinal == of_a.ordinal);
        if let Some(of_b) = same.filter(|of_b| of_b.name != of_a.name) {
            let label = names.device(of_a.ordinal);
            all.push(format!("{label} is {} in A, {} in B", of_a.name, of_b.name));
        }
    }
    if !a.devices.is_empty() && !b.devices.is_empty() && a.devices.len() != b.devices.len() {
        let (of_a, of_b) = (a.devices.len(), b.devices.len());
        all.push(format!(
            "{of_a} devices in A, {of_b} in B: what runs on all of them at once is not the same"
        ));
    }
    all
}

/// Other clocks or gates.
fn timing(pairs: &[Pair]) -> Vec<String> {
    let differing = |is: fn(&Pair) -> Option<(String, String)>| {
        let differing: BTreeSet<(String, String)> = pairs.iter().filter_map(is).collect();
        differing
            .into_iter()
            .map(|(a, b)| format!("timed otherwise: {a} in A, {b} in B"))
    };
    let clocks = differing(|pair| {
        let (a, b) = (pair.a.timing?.source, pair.b.timing?.source);
        (a != b).then(|| (clock(a).to_owned(), clock(b).to_owned()))
    });
    let gates = differing(|pair| {
        let (a, b) = (pair.a.timing?.gate, pair.b.timing?.gate);
        (a != b).then(|| (gate(a).to_owned(), gate(b).to_owned()))
    });
    clocks.chain(gates).collect()
}

fn clock(source: TimeSource) -> &'static str {
    match source {
        TimeSource::DeviceEvent => "device events",
        TimeSource::HostMonotonic => "the host's clock",
        TimeSource::VirtualClock => "a virtual clock",
    }
}

fn gate(gate: Gate) -> &'static str {
    match gate {
        Gate::None => "no gate",
        Gate::SpinKernel => "a spin kernel as gate",
        Gate::HeldQueue => "a held queue as gate",
    }
}
