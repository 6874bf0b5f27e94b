//! Host memory by node as a document: what far memory costs, and the binding to use.

mod tables;

use record::near::{Difference, Penalty, penalties};
use record::{HostMemoryOutcome, Numa, NumaPoint, Outcome, Record};

use crate::document::{Block, Document, Item, Next, Section, Tone};
use crate::lines::{Missing, first_of, missing};
use tables::{direction_and_kind, label};

/// The document of a record of host memory by node.
pub(crate) fn document(record: &Record, numa: &Numa) -> Document {
    let all = penalties(numa);
    let mut findings = findings(numa);
    findings.extend(crate::run::ending(record));
    let tone = match findings.iter().any(|item| item.tone == Tone::Bad) {
        true => Tone::Bad,
        false if findings.is_empty() => Tone::Good,
        false => Tone::Warning,
    };
    findings.extend(inversions(numa, &all));
    findings.extend(crate::caveats(&numa.caveats));
    let points = numa.points.iter().flat_map(|point| &point.caveats);
    let minor = ["outliers", "wide-interval", "no-gate", "placement-unproven"];
    findings.extend(crate::caveats(
        points.filter(|caveat| !minor.contains(&caveat.code())),
    ));
    let devices = Block::Table(crate::lines::devices(&numa.devices));
    let sections = [
        tables::near_and_far(numa),
        tables::host(numa),
        Some(Section::detail("Devices", vec![devices])),
        crate::run::provenance(record, numa.backend.as_ref()),
    ];
    Document {
        title: "Host memory by NUMA node".to_owned(),
        simulated: record.soft_box(),
        tone,
        answer: answer(numa, &all),
        next: next(numa),
        findings,
        sections: sections.into_iter().flatten().collect(),
        made_by: crate::run::made_by(record),
    }
}

fn answer(numa: &Numa, all: &[Penalty<'_>]) -> Vec<String> {
    if !numa.points.iter().any(NumaPoint::is_proven) {
        return vec!["Nothing was measured at a proven place; the reasons are below.".to_owned()];
    }
    let loss = |pageable: bool| {
        let of = all
            .iter()
            .filter(|one| (direction_and_kind(one.far).1 == "pageable") == pageable)
            .filter(|one| one.difference() == Difference::Slower);
        let losses = of.map(|one| (1.0 - one.ratio.value) * 100.0);
        losses.reduce(f64::max)
    };
    let nodes = nodes(numa);
    let cost = match (loss(false), loss(true)) {
        _ if all.is_empty() && nodes < 2 => "One NUMA node: there is no far memory.".to_owned(),
        _ if all.is_empty() => "No far place could be compared with a near one.".to_owned(),
        (None, None) => "Far memory is as fast as near memory.".to_owned(),
        (Some(pinned), None) => format!("The wrong node costs pinned copies up to {pinned:.0}%."),
        (None, Some(pageable)) => {
            format!(
                "The wrong node costs pageable copies up to {pageable:.0}%, pinned ones nothing."
            )
        }
        (Some(pinned), Some(pageable)) => format!(
            "The wrong node costs pinned copies up to {pinned:.0}%, pageable ones up to {pageable:.0}%."
        ),
    };
    let near = numa.devices.iter();
    let near = near.filter_map(|device| Some(format!("{} to node {}", device.label, device.node?)));
    let near: Vec<String> = near.collect();
    let bind = (!near.is_empty()).then(|| format!("Bind {}.", near.join(", ")));
    std::iter::once(cost).chain(bind).collect()
}

/// NUMA nodes of the machine; 0 where nothing is known of it.
fn nodes(numa: &Numa) -> usize {
    let machine = numa.machine.as_ref();
    machine.map_or(0, |machine| machine.nodes.len())
}

fn next(numa: &Numa) -> Vec<Next> {
    let Some(binding) = numa.binding.as_ref().filter(|_| nodes(numa) > 1) else {
        return Vec::new();
    };
    let is_host = numa.backend.as_ref().is_some_and(|one| one.name == "host");
    let of_devices = match is_host {
        // Devices of host memory are none that a driver could be asked for.
        true => {
            let nodes: Vec<String> = binding.cpu_nodes.iter().map(u32::to_string).collect();
            format!("--node {}", nodes.join(","))
        }
        false => {
            let ordinals = numa.devices.iter().map(|device| device.ordinal.to_string());
            let by_rank = if binding.cpu_nodes.len() > 1 {
                " --per-rank"
            } else {
                ""
            };
            format!("--gpus {}{by_rank}", ordinals.collect::<Vec<_>>().join(","))
        }
    };
    let mut next = vec![Next::by(
        "Start workers bound to their nodes:",
        format!("tplens numa exec {of_devices} -- PROGRAM"),
    )];
    // One program is bound to no node where its GPUs are on several.
    if binding.cpu_nodes.len() == 1 {
        let command = format!("{} PROGRAM", binding.numactl);
        next.push(Next::by("Or as one program:", command));
    }
    next
}

/// What failed, was wrong, or was not where it was wanted.
fn findings(numa: &Numa) -> Vec<Item> {
    let place = |point: &NumaPoint| {
        let node = |node: Option<u32>| crate::cell::shown(node);
        let (memory, thread) = (node(point.memory_node), node(point.thread_node));
        let device = label(numa, point.device);
        format!("{} {device}, memory {memory}, thread {thread}", point.case)
    };
    let without = numa.points.iter().filter_map(|point| {
        let (why, seen) = point.outcome.unmeasured()?;
        Some((place(point), why, seen))
    });
    let without: Vec<Missing<'_>> = without.collect();
    let is_measured = |point: &&NumaPoint| matches!(point.outcome, Outcome::Measured { .. });
    let unproven = numa.points.iter().filter(is_measured);
    let unproven = unproven.filter(|point| !point.is_proven());
    let unproven: Vec<String> = unproven
        .map(|point| format!("{}: place not proven", place(point)))
        .collect();
    let host = numa.host.iter().filter_map(|point| match &point.outcome {
        HostMemoryOutcome::Failed { reason, .. } => {
            Some(format!("Host memory by CPUs failed: {reason}"))
        }
        HostMemoryOutcome::Measured { .. } => None,
    });
    let host: Vec<String> = host.collect();
    missing(&without)
        .chain(first_of(Tone::Warning, "node-unproven", &unproven))
        .chain(first_of(Tone::Warning, "not-measured", &host))
        .collect()
}

/// Far places that are faster than near ones, which nobody expects.
fn inversions(numa: &Numa, all: &[Penalty<'_>]) -> Option<Item> {
    let faster = all
        .iter()
        .filter(|one| one.difference() == Difference::Faster);
    let words = |one: &Penalty<'_>| {
        let percent = (one.ratio.value - 1.0) * 100.0;
        let device = label(numa, one.far.device);
        format!(
            "{} {device}: far memory is {percent:.0}% faster than near",
            one.far.case
        )
    };
    let words: Vec<String> = faster.map(words).collect();
    first_of(Tone::Warning, "near-far-inverted", &words)
}
