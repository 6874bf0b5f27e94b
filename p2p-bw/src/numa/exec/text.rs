//! A [`Report`] as a table.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use measure::control;
use measure::unit::ByteCount;

use super::report::{ProcessReport, Report};
use super::target::Device;
use crate::numa::columns::columns;

const ABSENT: &str = "—";

/// Rows of the table at most: an engine that compiles starts hundreds of processes.
const ROWS: usize = 24;

/// What the printed command leaves out of `--per-rank`.
pub(super) fn without_ranks(devices: &[Device]) -> String {
    let places: Vec<String> = devices
        .iter()
        .map(|device| match device.node {
            Some(node) => format!("{} to node {node}", device.label),
            None => format!("{} nowhere, as its node is not known", device.label),
        })
        .collect();
    let places = match places.is_empty() {
        true => "whichever they are".to_owned(),
        false => places.join(", "),
    };
    format!(
        "numactl cannot do --per-rank: the command binds the whole program; without --dry-run, each process would also be moved \
         to the nodes of the GPUs that it opens ({places})"
    )
}

/// Where each process is or was.
pub(super) fn table(report: &Report) -> String {
    let mut text = match report.ended_after_s {
        Some(seconds) => {
            format!("numa exec: ended after {seconds:.1} s; as of the last look at each process:\n")
        }
        None => "numa exec: now:\n".to_owned(),
    };
    if report.processes.is_empty() {
        text.push_str("  no process was seen; it ended before the first look\n");
    } else {
        let head = [
            "PROCESS",
            "GPUS OPEN",
            "CPUS ALLOWED",
            "THREADS RAN ON",
            "OWN MEMORY BY NODE",
            "ON WANTED",
        ];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        let mut shown: Vec<&ProcessReport> = report.processes.iter().collect();
        // Those with GPUs, then those with the most memory.
        shown.sort_by_key(|process| {
            let own = process
                .memory
                .as_ref()
                .map(|memory| memory.own_bytes.values().sum());
            (
                process.gpus.is_empty(),
                Reverse(own.unwrap_or(0_u64)),
                process.pid,
            )
        });
        shown.truncate(ROWS);
        rows.extend(shown.iter().copied().map(row));
        text.push_str(&columns(&rows));
        shown
            .iter()
            .filter_map(|process| several(process))
            .for_each(|line| text.push_str(&line));
        if report.processes.len() > ROWS {
            let more = report.processes.len() - ROWS;
            text.push_str(&format!(
                "  and {more} more with less memory; --report lists all\n"
            ));
        }
    }
    for refusal in &report.not_bound {
        text.push_str(&format!("  not bound: {refusal}\n"));
    }
    for process in &report.processes {
        let own = process.not_bound.iter().chain(&process.memory_unknown);
        for reason in own {
            text.push_str(&format!("  process {}: {reason}\n", process.pid));
        }
    }
    if !report.still_running.is_empty() {
        let pids: Vec<String> = report.still_running.iter().map(u32::to_string).collect();
        text.push_str(&format!("  still running: {}\n", pids.join(", ")));
    }
    text
}

/// What several open GPUs of one process mean: which of them it uses is not seen.
fn several(process: &ProcessReport) -> Option<String> {
    let (pid, open) = (process.pid, process.gpus.len());
    let done = match process.moved {
        true => {
            let nodes = list(process.wanted_nodes.iter());
            format!("moved to the nodes of all of them together: {nodes}")
        }
        false => "not moved on its own".to_owned(),
    };
    (open > 1).then(|| {
        format!("  process {pid} has {open} GPUs open; which of these it uses is not seen, and it was {done}\n")
    })
}

fn row(process: &ProcessReport) -> Vec<String> {
    let nodes = list(process.wanted_nodes.iter());
    let memory = process.memory.as_ref();
    let fraction = memory.and_then(|memory| memory.on_wanted);
    let seconds = memory.map_or(process.looked_at_s, |memory| memory.looked_at_s);
    vec![
        format!("{} {}", process.pid, control::replaced(&process.command)),
        match process.gpus.len() {
            0 => ABSENT.to_owned(),
            1 => format!("has 1 GPU open: {}", list(process.gpus.iter())),
            open => format!("has {open} GPUs open: {}", list(process.gpus.iter())),
        },
        process.cpus_allowed.to_string(),
        by_node(&process.threads_on, |threads| threads.to_string()),
        memory.map_or_else(
            || ABSENT.to_owned(),
            |memory| by_node(&memory.own_bytes, |bytes| ByteCount(*bytes).to_string()),
        ),
        match fraction {
            Some(fraction) => format!("{:.1}% of node {nodes} at {seconds:.1} s", fraction * 100.0),
            None => ABSENT.to_owned(),
        },
    ]
}

fn by_node<V>(values: &BTreeMap<u32, V>, shown: impl Fn(&V) -> String) -> String {
    let parts: Vec<String> = values
        .iter()
        .map(|(node, value)| format!("node {node}: {}", shown(value)))
        .collect();
    match parts.is_empty() {
        true => ABSENT.to_owned(),
        false => parts.join(", "),
    }
}

fn list<T: ToString>(values: impl Iterator<Item = T>) -> String {
    values
        .map(|value| value.to_string())
        .collect::<Vec<_>>()
        .join(",")
}

#[cfg(test)]
mod tests {
    use topology::CpuSet;

    use super::*;
    use crate::numa::exec::report::{MemoryReport, SCHEMA};

    fn process(pid: u32, gpu: Option<&str>, own_kib: u64) -> ProcessReport {
        ProcessReport {
            pid,
            command: "py\u{1b}thon".to_owned(),
            gpus: gpu.iter().map(|gpu| gpu.parse().unwrap()).collect(),
            wanted_nodes: vec![1],
            moved: false,
            not_bound: Vec::new(),
            looked_at_s: 9.0,
            cpus_allowed: [4, 5, 6].into_iter().collect(),
            threads_on: BTreeMap::from([(1, 3)]),
            memory: Some(MemoryReport {
                looked_at_s: 8.0,
                own_bytes: BTreeMap::from([(0, own_kib * 256), (1, own_kib * 768)]),
                file_bytes: BTreeMap::new(),
                on_wanted: Some(0.75),
            }),
            memory_unknown: None,
        }
    }

    #[test]
    fn those_with_gpus_come_first_and_many_are_cut_and_said() {
        let mut processes: Vec<ProcessReport> = (0..30)
            .map(|index| process(100 + index, None, 4 * u64::from(index)))
            .collect();
        processes.push(process(7, Some("0000:21:00.0"), 4));
        processes[0]
            .not_bound
            .push("sched_setaffinity was refused".to_owned());
        let text = table(&Report {
            schema: SCHEMA,
            program: Vec::new(),
            devices: Vec::new(),
            numactl: String::new(),
            basis: String::new(),
            cpu_nodes: vec![1],
            memory_nodes: vec![1],
            cpus: CpuSet::default(),
            not_bound: vec!["memory policy was refused".to_owned()],
            per_rank: true,
            processes,
            ended_after_s: Some(10.0),
            exit_code: Some(0),
            still_running: vec![8],
        });
        assert!(!text.contains("GPUs open; which"), "{text}");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "numa exec: ended after 10.0 s; as of the last look at each process:"
        );
        // The name of a process is foreign text. 4 KiB: a quarter on node 0.
        assert_eq!(
            lines[2].split_whitespace().collect::<Vec<_>>().join(" "),
            "7 py\u{fffd}thon has 1 GPU open: 0000:21:00.0 4-6 node 1: 3 node 0: 1 KiB, node 1: 3 KiB 75.0% of node 1 at 8.0 s"
        );
        assert!(lines[3].trim_start().starts_with("129 "), "{text}");
        // 31 processes, 24 rows.
        for part in [
            "and 7 more",
            "not bound: memory policy was refused",
            "process 100: sched_setaffinity was refused",
            "still running: 8",
        ] {
            assert!(text.contains(part), "no `{part}` in {text}");
        }
    }

    #[test]
    fn several_open_gpus_are_said_not_to_be_used_ones() {
        let mut two = process(7, Some("0000:21:00.0"), 4);
        two.gpus.push("0000:61:00.0".parse().unwrap());
        let cells = row(&two);
        assert_eq!(cells[1], "has 2 GPUs open: 0000:21:00.0,0000:61:00.0");
        let told = several(&two).unwrap();
        assert!(told.contains("not moved on its own"), "{told}");
        two.moved = true;
        two.wanted_nodes = vec![0, 1];
        let told = several(&two).unwrap();
        let union = "which of these it uses is not seen, and it was moved to the nodes of all of them together: 0,1";
        assert!(told.contains(union), "{told}");
        assert_eq!(several(&process(8, Some("0000:21:00.0"), 4)), None);
    }
}
