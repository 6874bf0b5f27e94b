//! The lines that an engine and its library write while they come up: graphs, backends, all-reduces, caches, transports.

use super::facts::{Graphs, Library};
use super::pairs::small;
use super::reading::{Hit, Reading, count, set_variable, shown};
use super::rule::Rule;
use crate::engine::{CustomAllReduce, OffCause};

pub(super) fn eager(reading: &mut Reading, _: &Rule, hit: Hit<'_>) {
    let eager = matches!(
        reading.log.graphs.as_ref().map(|said| &said.value),
        Some(Graphs::Eager { .. })
    );
    if !eager {
        let reason = "eager mode".to_owned();
        reading.say(
            "graphs",
            |log| &mut log.graphs,
            hit.said(Graphs::Eager { reason }),
        );
    }
}

pub(super) fn custom_off(reading: &mut Reading, _: &Rule, hit: Hit<'_>) {
    let reason = hit.rest.split(". To silence").next().unwrap_or(hit.rest);
    let reason = shown(
        reason
            .trim()
            .trim_start_matches("of ")
            .trim_end_matches('.'),
    );
    reading.say(
        "custom all-reduce",
        |log| &mut log.custom_all_reduce,
        hit.said(CustomAllReduce::Off {
            cause: cause(&reason),
            reason,
        }),
    );
}

/// The cause by the engines' words for it.
fn cause(reason: &str) -> OffCause {
    let reason = reason.to_ascii_lowercase().replace('-', "_");
    if reason.contains("p2p") || reason.contains("peer access is not supported") {
        OffCause::NoPeers
    } else if reason.contains("disable_custom_all_reduce") {
        OffCause::Flag
    } else {
        OffCause::Rule
    }
}

pub(super) fn custom_on(reading: &mut Reading, hit: Hit<'_>) {
    reading.say(
        "custom all-reduce",
        |log| &mut log.custom_all_reduce,
        hit.said(CustomAllReduce::Active),
    );
}

/// `['CUSTOM', 'PYNCCL'] all-reduce backends (in dispatch order) for group 'tp:0' out of potential backends: ..`.
pub(super) fn all_reduce_backends(reading: &mut Reading, _: &Rule, hit: Hit<'_>) {
    let Some((list, after)) = hit.rest.split_once(" all-reduce backends") else {
        return;
    };
    let group = after
        .split_once(" out of ")
        .map_or(after, |(group, _)| group);
    if list.len() > 200 || (group.contains('\'') && !group.contains("'tp:")) {
        return;
    }
    let names: Vec<&str> = list.split('\'').skip(1).step_by(2).collect();
    // All but the library's own way are kernels of the engine.
    if names.iter().any(|name| *name != "PYNCCL") {
        custom_on(reading, hit);
    } else if names == ["PYNCCL"] {
        let off = CustomAllReduce::off("the engine names the library alone");
        // A line that says why came before.
        if reading.log.custom_all_reduce.is_none() {
            reading.log.custom_all_reduce = Some(hit.said(off));
        }
    }
}

pub(super) fn registered(reading: &mut Reading, _: &Rule, hit: Hit<'_>) {
    if let Some((buffers, after)) = hit.rest.split_once(" cuda graph addresses")
        && after.len() < 100
        && small(buffers).is_some()
    {
        custom_on(reading, hit);
    }
}

pub(super) fn library(reading: &mut Reading, name: &str, hit: Hit<'_>) {
    let version = hit.rest.trim_start_matches([':', ' ']);
    let version = version.split([' ', ',']).next().unwrap_or_default();
    if !version.starts_with(|sign: char| sign.is_ascii_digit()) || version.len() > 60 {
        return;
    }
    // The library itself says `2.21.5+cuda12.4`, the engine `2.21.5`.
    let same = reading.log.library.as_ref().is_some_and(|held| {
        let (held, said) = (&held.value.version, version);
        held.starts_with(said) || said.starts_with(held.as_str())
    });
    if !same {
        let library = Library {
            name: name.to_owned(),
            version: version.to_owned(),
        };
        reading.say("library", |log| &mut log.library, hit.said(library));
    }
}

/// What NCCL, RCCL or MCCL says with NCCL_DEBUG=INFO.
pub(super) fn library_says(reading: &mut Reading, _: &Rule, hit: Hit<'_>) {
    if let Some((_, way)) = hit.rest.split_once(" via ")
        && hit.rest.starts_with("Channel ")
    {
        count(&mut reading.log.transports, &transport(way), 1, hit);
    } else if let Some((name, set)) = hit.rest.split_once(" set by environment to ") {
        let name = name.rsplit(' ').next().unwrap_or(name);
        let set = set.trim_end().trim_end_matches('.');
        set_variable(
            &mut reading.log.environment,
            hit.said(shown(&format!("{name}={set}"))),
        );
    }
}

/// `P2P/IPC`, `P2P/direct pointer`, `SHM/direct/direct`, `NET/IB/GDRDMA`: without numbers of devices and what follows.
fn transport(way: &str) -> String {
    let way = way.split(" comm ").next().unwrap_or(way).trim();
    if way.starts_with("P2P/direct pointer") {
        return "P2P/direct pointer".to_owned();
    }
    let way = way.split_whitespace().next().unwrap_or_default();
    let named = way
        .split('/')
        .filter(|part| !part.starts_with(|sign: char| sign.is_ascii_digit()));
    shown(&named.collect::<Vec<_>>().join("/"))
}
