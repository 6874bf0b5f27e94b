//! Peer access as a table: the verdict on each pair, what it rests on, and what lies around the path.

use record::{KernelAccess, Links, PeerProbe, StepOutcome};

use crate::cell::{or_absent, significant};
use crate::document::{Block, Section, Table};

/// The probes, as a detail; none where no pair was probed.
pub(super) fn section(links: &Links) -> Option<Section> {
    if links.probes.is_empty() {
        return None;
    }
    let label = |at: usize| links.devices.get(at).map_or("?", |one| one.label.as_str());
    let mut table = Table::under(["pair", "path", "P2P", "16 B us", "kernels", "seen"]);
    let mut around: Vec<(String, Vec<String>)> = Vec::new();
    for probe in &links.probes {
        let pair = format!("{}->{}", label(probe.from), label(probe.to));
        table.row([
            pair.clone(),
            links.path(probe.from, probe.to).name().into_owned(),
            probe.verdict.to_string(),
            or_absent(small_copy_us(probe).map(significant)),
            match &probe.kernels {
                KernelAccess::Usable => "usable".to_owned(),
                KernelAccess::Unusable { reason } => format!("FAILED: {reason}"),
                KernelAccess::Untested { reason } => format!("not tried: {reason}"),
            },
            probe.rests_on.clone(),
        ]);
        // Both directions of a pair have the same surroundings.
        if let Some(facts) = probe
            .surroundings
            .as_ref()
            .filter(|_| probe.from < probe.to)
        {
            for fact in facts.to_string().lines() {
                match around.iter_mut().find(|(known, _)| known == fact) {
                    Some((_, pairs)) => pairs.push(pair.clone()),
                    None => around.push((fact.to_owned(), vec![pair.clone()])),
                }
            }
        }
    }
    let facts = around
        .into_iter()
        .map(|(fact, pairs)| match pairs.as_slice() {
            [one] => format!("{one}: {fact}"),
            [first, rest @ ..] => format!("{first} and {} more: {fact}", rest.len()),
            [] => fact,
        });
    let facts = Block::list(facts);
    let blocks = vec![Block::Table(table), facts];
    Some(Section::detail("Peer access", blocks))
}

/// The time of a small copy with access, as the probe of a pair found it.
pub(super) fn small_copy_us(probe: &PeerProbe) -> Option<f64> {
    let step = probe
        .steps
        .iter()
        .find(|step| step.name == "small_copies")?;
    match &step.outcome {
        StepOutcome::Timed { quantity } => Some(quantity.value),
        _ => None,
    }
}
