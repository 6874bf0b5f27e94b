//! Lines about who did the collectives: library, engine, launcher, arms.

use std::collections::BTreeMap;

use crate::record::{Arm, Collectives, EngineRunFacts, LauncherFacts, allowed_environment};

/// A line for each thing that is known.
pub(super) fn lines(collectives: &Collectives) -> Vec<String> {
    let engine = collectives.engine.as_ref().map(engine);
    let launcher = collectives.launcher.as_ref().map(launcher);
    library(collectives)
        .into_iter()
        .chain(engine.into_iter().flatten())
        .chain(launcher)
        .chain(collectives.arms.iter().map(arm))
        .collect()
}

fn engine(facts: &EngineRunFacts) -> Vec<String> {
    let name = facts
        .version
        .iter()
        .fold(facts.name.clone(), |name, version| {
            format!("{name} {version}")
        });
    let first = format!(
        "engine {name}, its own all-reduce timed by {}, tensors on {}",
        facts.python, facts.device
    );
    let notes = facts.notes.iter();
    std::iter::once(first)
        .chain(notes.map(|note| format!("  the engine says: {note}")))
        .collect()
}

fn launcher(facts: &LauncherFacts) -> String {
    let mut hosts: Vec<(&str, u32)> = Vec::new();
    for host in &facts.hosts {
        match hosts.iter_mut().find(|(known, _)| known == host) {
            Some((_, ranks)) => *ranks += 1,
            None => hosts.push((host, 1)),
        }
    }
    let hosts: Vec<String> = hosts
        .into_iter()
        .map(|(host, ranks)| format!("{ranks} on {host}"))
        .collect();
    format!("started by {}; ranks: {}", facts.name, hosts.join(", "))
}

/// `arm p2p-off: NCCL_P2P_DISABLE=1`. Of a variable that no record keeps the name alone is shown.
fn arm(arm: &Arm) -> String {
    let shown: BTreeMap<String, String> = allowed_environment(arm.variables.iter().cloned());
    let variables: Vec<String> = arm
        .variables
        .iter()
        .map(|(name, _)| match shown.get(name) {
            Some(value) => format!("{name}={value}"),
            None => format!("{name} (value not shown)"),
        })
        .collect();
    if variables.is_empty() {
        return format!("arm {}: nothing set besides", arm.name);
    }
    format!("arm {}: {}", arm.name, variables.join(" "))
}

/// The library and the ranks with the path between them.
fn library(collectives: &Collectives) -> Option<String> {
    let library = collectives.library.as_ref()?;
    let mut words = format!("library {}", library.name);
    if let Some(version) = &library.version {
        words = format!("{words} {version}");
    }
    // Where a logged run told it, it has lines of its own.
    match library.transport.as_deref() {
        Some(transport) => words = format!("{words}, transport {transport}"),
        None if collectives.transports.is_empty() => {
            words.push_str(", transport not said by the library");
        }
        None => {}
    }
    let labels: Vec<&str> = collectives
        .devices
        .iter()
        .map(|device| device.label.as_str())
        .collect();
    words = format!("{words}; {} ranks", labels.len());
    if !labels.is_empty() {
        words = format!("{words} on {}", labels.join(", "));
    }
    let mut paths = Vec::new();
    for path in collectives.paths.iter().map(|pair| pair.path.name()) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    Some(if paths.is_empty() {
        words
    } else {
        format!("{words}, path {}", paths.join(" and "))
    })
}
