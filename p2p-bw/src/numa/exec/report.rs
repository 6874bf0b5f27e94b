//! [`Report`]: what was bound, what was refused, and where each process was; its JSON is an interface. Its document names first
//! which processes are not where they belong.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use record::unit::ByteCount;
use serde::Serialize;
use topology::{CpuSet, PciAddress};
use view::{Block, Document, Item, Section, Table, Tone};

/// Version of the JSON.
const SCHEMA: u32 = 3;

const ABSENT: &str = "—";

/// Rows of the table at most: an engine that compiles starts hundreds of processes.
const ROWS: usize = 12;

/// Less of its own memory than this on its nodes, and a process is named.
const ON_WANTED: f64 = 0.95;

/// A program from its start to its end.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Report {
    schema: u32,
    /// The command that binds the same way.
    numactl: String,
    /// What of the binding was refused; empty where all of it holds.
    not_bound: Vec<String>,
    pub(super) processes: Vec<ProcessReport>,
    /// Its exit code, 128 and the number where a signal ended it.
    pub(super) exit_code: u8,
    /// Processes that it left behind.
    pub(super) still_running: Vec<u32>,
}

/// One process, as of the last look at it.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct ProcessReport {
    pub(super) pid: u32,
    pub(super) command: String,
    /// GPUs whose device files it has opened.
    pub(super) gpus: Vec<PciAddress>,
    /// The nodes that it was to be on: those of its GPUs where each rank is moved, else those of the program.
    pub(super) wanted_nodes: Vec<u32>,
    /// Whether it was moved to them on its own.
    pub(super) moved: bool,
    /// What was refused of that.
    pub(super) not_bound: Vec<String>,
    /// CPUs that its threads may run on, all together.
    pub(super) cpus_allowed: CpuSet,
    /// Its memory; `None` before it was looked at.
    pub(super) memory: Option<MemoryReport>,
    /// Why there is none.
    pub(super) memory_unknown: Option<String>,
}

/// Memory of a process.
#[derive(Debug, Clone, Serialize)]
pub(super) struct MemoryReport {
    /// Bytes that it has made, by node. What a driver maps itself, as CUDA's pinned memory, is not among it.
    pub(super) own_bytes: BTreeMap<u32, u64>,
    /// The part of it on the nodes that were wanted, 0 to 1; `None` where it has none.
    pub(super) on_wanted: Option<f64>,
}

impl Report {
    pub(super) fn of(numactl: String, not_bound: Vec<String>) -> Self {
        Self {
            schema: SCHEMA,
            numactl,
            not_bound,
            processes: Vec::new(),
            exit_code: 0,
            still_running: Vec::new(),
        }
    }

    /// Where each process was.
    pub(super) fn document(&self) -> Document {
        let mut shown: Vec<&ProcessReport> = self.processes.iter().collect();
        // Those with GPUs, then those with the most memory.
        shown.sort_by_key(|process| {
            let memory = process.memory.as_ref();
            let own = memory.map_or(0, |memory| memory.own_bytes.values().sum::<u64>());
            (process.gpus.is_empty(), Reverse(own), process.pid)
        });
        let heads = ["process", "", "GPUs open", "CPUs", "memory", "on wanted"];
        let mut table = Table::under(heads);
        shown.iter().take(ROWS).for_each(|one| table.row(row(one)));
        let findings = self.findings();
        // What it left running is no fault of a place.
        let are_home = findings.iter().all(|item| item.code.is_none());
        let answer = match (self.processes.len(), are_home) {
            (0, _) => "No process was seen.".to_owned(),
            (all, true) => format!("{all} processes on their nodes."),
            (all, false) => format!("{all} processes, not all of them on their nodes."),
        };
        Document {
            title: "Processes by NUMA node".to_owned(),
            tone: if are_home { Tone::Good } else { Tone::Warning },
            answer: vec![answer],
            findings,
            sections: match table.rows.is_empty() {
                true => Vec::new(),
                false => vec![Section::new("", vec![Block::Table(table)])],
            },
            ..Document::default()
        }
    }

    fn findings(&self) -> Vec<Item> {
        let unbound = |text: String| Item::of(Tone::Warning, text).coded("process-unbound");
        let refused = self.not_bound.iter();
        let mut all: Vec<Item> = refused
            .map(|why| unbound(format!("Not bound: {why}.")))
            .collect();
        for process in &self.processes {
            let pid = process.pid;
            let refused = process.not_bound.iter().chain(&process.memory_unknown);
            all.extend(refused.map(|why| unbound(format!("Process {pid}: {why}."))));
            let memory = process.memory.as_ref();
            let part = memory.and_then(|memory| memory.on_wanted);
            if let Some(part) = part.filter(|part| *part < ON_WANTED) {
                let (nodes, percent) = (list(&process.wanted_nodes), part * 100.0);
                all.push(unbound(format!(
                    "Process {pid} has {percent:.0}% of its memory on node {nodes}."
                )));
            }
        }
        if !self.still_running.is_empty() {
            let text = format!("Still running: {}.", list(&self.still_running));
            all.push(Item::of(Tone::Warning, text));
        }
        all
    }
}

fn row(process: &ProcessReport) -> [String; 6] {
    let memory = process.memory.as_ref();
    let fraction = memory.and_then(|memory| memory.on_wanted);
    let own = memory.map(|memory| {
        let parts = memory.own_bytes.iter();
        let parts = parts.map(|(node, bytes)| format!("{node}: {}", ByteCount(*bytes)));
        parts.collect::<Vec<_>>().join(", ")
    });
    let or_absent = |text: Option<String>| text.unwrap_or_else(|| ABSENT.to_owned());
    [
        process.pid.to_string(),
        process.command.clone(),
        or_absent((!process.gpus.is_empty()).then(|| list(&process.gpus))),
        process.cpus_allowed.to_string(),
        or_absent(own),
        or_absent(fraction.map(|part| format!("{:.1}%", part * 100.0))),
    ]
}

fn list<T: ToString>(values: &[T]) -> String {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    values.join(",")
}
