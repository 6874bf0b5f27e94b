//! What differs between two files beside their times, and what is not judged for it: the reservations of a comparison.

use measure::import::collectives::{CallFile, CallValue};
use measure::quantity::TimeSource;

/// What differs between the files beside their times.
pub(super) fn differences(a: &CallFile, b: &CallFile) -> Vec<String> {
    let are_all = is_every_device_listed(a) && is_every_device_listed(b);
    let devices = |file: &CallFile| {
        let mut names = file.devices.clone();
        if !are_all {
            names.sort_unstable();
            names.dedup();
        }
        let names = names.join(", ");
        Some(names).filter(|names| !names.is_empty())
    };
    [
        ("transport", a.transport.clone(), b.transport.clone()),
        ("library", a.library.clone(), b.library.clone()),
        ("list of devices", devices(a), devices(b)),
        ("driver", a.driver.clone(), b.driver.clone()),
        ("backend", a.backend.clone(), b.backend.clone()),
        ("host", a.host.clone(), b.host.clone()),
        ("tool", Some(a.made_by.clone()), Some(b.made_by.clone())),
    ]
    .into_iter()
    .filter_map(|(what, of_a, of_b)| {
        let (of_a, of_b) = (of_a?, of_b?);
        (of_a != of_b).then(|| format!("another {what}: {of_a} in A, {of_b} in B"))
    })
    .collect()
}

/// Whether a file lists as many devices as its calls have ranks: the JSON of nccl-tests has the first of each process only, so
/// that it says which devices there are and not how many.
fn is_every_device_listed(file: &CallFile) -> bool {
    let mut ranks = file.values.iter().map(|value| value.series.ranks as usize);
    ranks.all(|ranks| ranks <= file.devices.len())
}

/// That a side says of its own times that they are not to be judged.
pub(super) fn not_judged(pairs: &[(CallValue, CallValue)]) -> Option<String> {
    let is_one =
        |(a, b): &&(CallValue, CallValue)| a.not_judged.is_some() || b.not_judged.is_some();
    let mut found = pairs.iter().filter(is_one).peekable();
    let (a, b) = found.peek()?;
    let why = a.not_judged.clone().or_else(|| b.not_judged.clone())?;
    Some(format!(
        "{} of {} pairs of numbers are not judged, as a side says of its own, such as: {why}",
        found.count(),
        pairs.len()
    ))
}

/// What differs in how pairs of times came about.
pub(super) fn of_pairs(pairs: &[(CallValue, CallValue)]) -> Vec<String> {
    type Differs = fn(&CallValue, &CallValue) -> bool;
    let all: [(Differs, &str); 3] = [
        (
            |a, b| a.over_launches != b.over_launches,
            "are over launches on one side and over samples of one launch on the other",
        ),
        (
            |a, b| a.clock.zip(b.clock).is_some_and(|(a, b)| other_clock(a, b)),
            "were timed by different clocks",
        ),
        (
            |a, b| a.samples.is_empty() || b.samples.is_empty(),
            "have no samples on one side or both, so no interval",
        ),
    ];
    all.into_iter()
        .filter_map(|(differs, words)| {
            let count = pairs.iter().filter(|(a, b)| differs(a, b)).count();
            (count > 0).then(|| format!("{count} of {} pairs of numbers {words}", pairs.len()))
        })
        .collect()
}

fn other_clock(a: TimeSource, b: TimeSource) -> bool {
    a != b
}
