//! Peer access above the tables: the verdicts, what they rest on, and where kernels are not as welcome as copies.

use std::fmt::Write as _;

use super::cell::ABSENT;
use super::header::{indented, table};
use super::record::line;
use crate::record::{KernelAccess, Links, PeerProbe, PeerVerdict, StepOutcome};

/// Verdicts with path classes as a matrix, and what those that are not direct rest on.
pub(super) fn peers(links: &Links) -> String {
    let mut text = String::from("\nPeer access (row reaches memory of column) and path class\n");
    let mut table = table();
    let labels = || links.devices.iter().map(|device| device.label.clone());
    table.set_header(std::iter::once(String::new()).chain(labels()));
    for (from, label) in labels().enumerate() {
        let cell = |to: usize| match links
            .probes
            .iter()
            .find(|probe| (probe.from, probe.to) == (from, to))
        {
            _ if from == to => ABSENT.to_owned(),
            Some(probe) => format!("{} {}", probe.verdict, links.path(from, to)),
            None if links.pending.contains(&(from, to)) => {
                format!("BEGUN, NO VERDICT {}", links.path(from, to))
            }
            None => ABSENT.to_owned(),
        };
        table.add_row(std::iter::once(label).chain((0..links.devices.len()).map(cell)));
    }
    text.push_str(&indented(&table));
    let name = |position: usize| {
        links
            .devices
            .get(position)
            .map_or("?", |device| device.label.as_str())
    };
    if let Some(direct) = direct(links, &name) {
        line(&mut text, &direct);
    }
    let bad = links
        .probes
        .iter()
        .filter(|probe| probe.verdict != PeerVerdict::Direct);
    let reasons = bad.map(|probe| (probe, format!("{}: {}", probe.verdict, probe.rests_on)));
    for (reason, probes) in grouped(reasons) {
        line(&mut text, &format!("  {} {reason}", pairs(&probes, &name)));
    }
    for (reason, probes) in grouped(links.probes.iter().filter_map(kernels)) {
        let whose = whose(&probes, links.probes.len(), &name);
        line(&mut text, &format!("  {whose} {reason}"));
    }
    text.push_str(&surroundings(links, &name));
    text
}

/// What lies around the paths: each fact once with the pairs that share it. Both directions of a pair have the same facts, so
/// one of them is shown.
fn surroundings<'a>(links: &'a Links, name: &dyn Fn(usize) -> &'a str) -> String {
    let one_way: Vec<(&PeerProbe, String)> = links
        .probes
        .iter()
        .filter(|probe| probe.from < probe.to)
        .filter_map(|probe| Some((probe, probe.surroundings.as_ref()?.to_string())))
        .collect();
    let mut text = String::new();
    let most = one_way.iter().map(|(_, facts)| facts.lines().count()).max();
    for row in 0..most.unwrap_or(0) {
        let facts = one_way
            .iter()
            .filter_map(|(probe, facts)| Some((*probe, facts.lines().nth(row)?.to_owned())));
        for (fact, probes) in grouped(facts) {
            let whose = whose(&probes, one_way.len(), name).replace("->", "-");
            line(&mut text, &format!("  {whose} {fact}"));
        }
    }
    text
}

/// What is the same for several pairs, once.
fn grouped<'a>(
    of_probes: impl Iterator<Item = (&'a PeerProbe, String)>,
) -> Vec<(String, Vec<&'a PeerProbe>)> {
    let mut groups: Vec<(String, Vec<&PeerProbe>)> = Vec::new();
    for (probe, reason) in of_probes {
        match groups.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, probes)) => probes.push(probe),
            None => groups.push((reason, vec![probe])),
        }
    }
    groups
}

fn pairs<'a>(probes: &[&PeerProbe], name: &dyn Fn(usize) -> &'a str) -> String {
    let pair = |probe: &&PeerProbe| format!("{}->{}", name(probe.from), name(probe.to));
    probes.iter().map(pair).collect::<Vec<_>>().join(" ")
}

/// The same, in two words where it is all of several.
fn whose<'a>(probes: &[&PeerProbe], all: usize, name: &dyn Fn(usize) -> &'a str) -> String {
    match probes.len() {
        n if n > 1 && n == all => "all pairs:".to_owned(),
        _ => pairs(probes, name),
    }
}

/// Why kernels do not use a path that copies use.
fn kernels(probe: &PeerProbe) -> Option<(&PeerProbe, String)> {
    if !matches!(probe.verdict, PeerVerdict::Direct | PeerVerdict::Staged) {
        return None;
    }
    Some(match &probe.kernels {
        KernelAccess::Usable => return None,
        KernelAccess::Unusable { reason } => {
            (probe, format!("for copies only, KERNELS FAILED: {reason}"))
        }
        KernelAccess::Untested { reason } => (probe, format!("kernels not tried: {reason}")),
    })
}

/// What the direct verdicts rest on: one pair in full, and how the others compare.
fn direct<'a>(links: &'a Links, name: &dyn Fn(usize) -> &'a str) -> Option<String> {
    let direct: Vec<&PeerProbe> = links
        .probes
        .iter()
        .filter(|probe| probe.verdict == PeerVerdict::Direct)
        .collect();
    let first = direct.first()?;
    let mut text = format!(
        "  {}->{} direct: {}",
        name(first.from),
        name(first.to),
        first.rests_on
    );
    let times: Vec<f64> = direct
        .iter()
        .skip(1)
        .filter_map(|probe| small_copy_us(probe))
        .collect();
    let (least, most) = times
        .iter()
        .fold((f64::INFINITY, 0.0f64), |(least, most), us| {
            (least.min(*us), most.max(*us))
        });
    if !times.is_empty() {
        let _ = write!(
            text,
            "; {} more direct pairs: {least:.2} to {most:.2} us with access",
            times.len()
        );
    }
    Some(text)
}

/// The time of a small copy with access, as the probe of a pair found it.
fn small_copy_us(probe: &PeerProbe) -> Option<f64> {
    let step = probe
        .steps
        .iter()
        .find(|step| step.name == "small_copies")?;
    match &step.outcome {
        StepOutcome::Timed { quantity } => Some(quantity.value),
        _ => None,
    }
}
