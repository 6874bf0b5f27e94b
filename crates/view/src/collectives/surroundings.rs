//! Who did the collectives and by which way: transports, engine, launcher, devices.

use std::collections::{BTreeMap, BTreeSet};

use record::{Channel, Collectives};

use crate::document::{Block, Section};

/// Pairs of ranks that a line lists; more are counted.
const LISTED_PAIRS: usize = 8;

/// All of it, as details.
pub(super) fn sections(collectives: &Collectives) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut lines = Vec::new();
    for facts in &collectives.transports {
        let all = folded(&facts.channels).into_iter();
        let all = all.chain(facts.why.iter().cloned());
        let all = all.chain(facts.not_told.iter().map(|why| format!("unknown: {why}")));
        lines.extend(all);
    }
    if !lines.is_empty() {
        let heading = "Transport (from the library's log)";
        sections.push(Section::detail(heading, vec![Block::list(lines)]));
    }
    let mut who: Vec<String> = Vec::new();
    if let Some(engine) = &collectives.engine {
        let version = engine.version.as_deref().unwrap_or("");
        who.push(format!(
            "engine {} {version} by {}, tensors on {}",
            engine.name, engine.python, engine.device
        ));
        who.extend(engine.notes.iter().cloned());
    }
    if let Some(launcher) = &collectives.launcher {
        let mut hosts: BTreeMap<&str, u32> = BTreeMap::new();
        for host in &launcher.hosts {
            *hosts.entry(host).or_default() += 1;
        }
        let hosts = hosts
            .iter()
            .map(|(host, ranks)| format!("{ranks} on {host}"));
        let hosts: Vec<String> = hosts.collect();
        who.push(format!("ranks by {}: {}", launcher.name, hosts.join(", ")));
    }
    let mut blocks = vec![Block::Table(crate::lines::devices(&collectives.devices))];
    blocks.extend((!who.is_empty()).then(|| Block::list(who)));
    sections.push(Section::detail("Ranks", blocks));
    sections
}

/// Channels between the same ranks over the same transport, and pairs of ranks with as many of them, on one line.
pub(super) fn folded(channels: &[Channel]) -> Vec<String> {
    type Numbers = BTreeSet<u32>;
    type Pairs = Vec<(u32, u32)>;
    let mut ways: BTreeMap<(&str, u32, u32), Numbers> = BTreeMap::new();
    for channel in channels {
        let way = ways.entry((&channel.via, channel.from, channel.to));
        way.or_default().insert(channel.number);
    }
    let mut lines: BTreeMap<(&str, usize), Pairs> = BTreeMap::new();
    for ((via, from, to), numbers) in &ways {
        lines
            .entry((via, numbers.len()))
            .or_default()
            .push((*from, *to));
    }
    let line = |((via, count), pairs): ((&str, usize), Pairs)| {
        let shown = pairs.iter().take(LISTED_PAIRS);
        let shown: Vec<String> = shown.map(|(a, b)| format!("{a}->{b}")).collect();
        let more = match pairs.len().saturating_sub(LISTED_PAIRS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let channels = crate::lines::counted(count, "channel");
        format!("{via}, {channels}: {}{more}", shown.join(", "))
    };
    lines.into_iter().map(line).collect()
}
