//! A [`Report`] as a document: which processes are not where they belong, then where each is.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Display;

use record::unit::ByteCount;
use view::{Block, Document, Item, Section, Table, Tone};

use super::report::{ProcessReport, Report};

const ABSENT: &str = "—";

/// Rows of the table at most: an engine that compiles starts hundreds of processes.
const ROWS: usize = 12;

/// Less of its own memory than this on its nodes, and a process is named.
const ON_WANTED: f64 = 0.95;

/// Where each process is or was.
pub(super) fn document(report: &Report) -> Document {
    let mut shown: Vec<&ProcessReport> = report.processes.iter().collect();
    // Those with GPUs, then those with the most memory.
    shown.sort_by_key(|process| {
        let memory = process.memory.as_ref();
        let own = memory.map(|memory| memory.own_bytes.values().sum());
        let own: u64 = own.unwrap_or(0);
        (process.gpus.is_empty(), Reverse(own), process.pid)
    });
    let mut table = Table::under([
        "process",
        "",
        "GPUs open",
        "CPUs",
        "threads by node",
        "memory by node",
        "on wanted",
    ]);
    shown.iter().take(ROWS).for_each(|one| table.row(row(one)));
    let findings = findings(report);
    // What it left running is no fault of a place.
    let are_home = findings.iter().all(|item| item.code.is_none());
    let all = report.processes.len();
    let when = match report.ended_after_s {
        Some(seconds) => format!("Ended after {seconds:.1} s"),
        None => "Running".to_owned(),
    };
    let answer = match (all, are_home) {
        (0, _) => format!("{when}; no process was seen."),
        (_, true) => format!("{when}; {all} processes on their nodes."),
        (_, false) => format!("{when}; {all} processes, not all of them on their nodes."),
    };
    Document {
        title: "Processes by NUMA node".to_owned(),
        tone: if are_home { Tone::Good } else { Tone::Warning },
        answer: vec![answer],
        findings,
        sections: match all {
            0 => Vec::new(),
            _ => vec![Section::new("", vec![Block::Table(table)])],
        },
        ..Document::default()
    }
}

fn findings(report: &Report) -> Vec<Item> {
    let unbound = |text: String| Item::of(Tone::Warning, text).coded("process-unbound");
    let mut all: Vec<Item> = report
        .not_bound
        .iter()
        .map(|why| unbound(format!("Not bound: {why}.")))
        .collect();
    for process in &report.processes {
        let refused = process.not_bound.iter().chain(&process.memory_unknown);
        all.extend(refused.map(|why| unbound(format!("Process {}: {why}.", process.pid))));
        let memory = process.memory.as_ref();
        if let Some(part) = memory.and_then(|memory| memory.on_wanted)
            && part < ON_WANTED
        {
            let nodes = list(&process.wanted_nodes);
            all.push(unbound(format!(
                "Process {} has {:.0}% of its memory on node {nodes}.",
                process.pid,
                part * 100.0
            )));
        }
    }
    if !report.still_running.is_empty() {
        let pids = list(&report.still_running);
        all.push(Item::of(Tone::Warning, format!("Still running: {pids}.")));
    }
    all
}

fn row(process: &ProcessReport) -> [String; 7] {
    let memory = process.memory.as_ref();
    let fraction = memory.and_then(|memory| memory.on_wanted);
    let absent = || ABSENT.to_owned();
    [
        process.pid.to_string(),
        process.command.clone(),
        match process.gpus.is_empty() {
            true => absent(),
            false => list(&process.gpus),
        },
        process.cpus_allowed.to_string(),
        by_node(&process.threads_on),
        memory.map_or_else(absent, |memory| {
            let bytes = memory.own_bytes.iter();
            by_node(
                &bytes
                    .map(|(node, bytes)| (*node, ByteCount(*bytes)))
                    .collect(),
            )
        }),
        fraction.map_or_else(absent, |part| format!("{:.1}%", part * 100.0)),
    ]
}

fn by_node<V: Display>(values: &BTreeMap<u32, V>) -> String {
    let parts = values
        .iter()
        .map(|(node, value)| format!("{node}: {value}"));
    let parts: Vec<String> = parts.collect();
    match parts.is_empty() {
        true => ABSENT.to_owned(),
        false => parts.join(", "),
    }
}

fn list<T: ToString>(values: &[T]) -> String {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    values.join(",")
}
