//! The server's side of a serving benchmark as text: its own counters beside ours, and what a monitor saw of its machine.

use std::collections::{BTreeMap, BTreeSet};

use super::cell::{ABSENT, significant};
use super::header::{indented, numbers_right, table};
use super::record::line;
use crate::record::{
    MonitorCpu, MonitorLine, MonitorSample, ServeServer, ServeSummary, ServerChange,
    ServerCounters, ServerMachine, ServerMean,
};

/// A line above all numbers for each contradiction.
pub(super) fn cautions(server: Option<&ServeServer>) -> String {
    let cautions = server.iter().flat_map(|server| &server.cautions);
    cautions
        .map(|caution| format!("CAUTION: {caution}\n"))
        .collect()
}

/// The counters and the machine, or why there are none.
pub(super) fn figures(
    server: Option<&ServeServer>,
    summary: Option<&ServeSummary>,
    mark: &str,
) -> String {
    let mut text = String::new();
    let Some(server) = server else {
        return text;
    };
    if let Some(counters) = &server.counters {
        text.push_str(&self::counters(counters, summary, mark));
    }
    if let Some(why) = &server.no_counters {
        let none = none(server);
        line(
            &mut text,
            &format!("\nserver's own counters: {none}, {why}"),
        );
    }
    if let Some(machine) = &server.machine {
        text.push_str(&self::machine(machine, summary));
    }
    if let Some(why) = &server.no_machine {
        line(
            &mut text,
            &format!("\nthe server's machine: not seen, {why}"),
        );
    }
    text
}

/// How many there are where it is said why.
fn none(server: &ServeServer) -> &'static str {
    match server.counters {
        Some(_) => "no more",
        None => "none",
    }
}

fn counters(counters: &ServerCounters, summary: Option<&ServeSummary>, mark: &str) -> String {
    let mut text = format!("\nServer's own counters beside ours{mark}\n");
    let readings = counters.readings.len();
    let missed = match counters.missed {
        0 => String::new(),
        missed => format!(", {missed} without an answer in time"),
    };
    let Some(change) = &counters.change else {
        line(
            &mut text,
            &format!(
                "  {readings} readings of {} ({}){missed}: no difference can be taken, the server began anew or was read once",
                counters.url, counters.engine
            ),
        );
        return text;
    };
    let mut table = table();
    table.set_header(["", "by the server", "here"]);
    for row in serve_beside(change, summary) {
        table.add_row(row);
    }
    numbers_right(&mut table);
    text.push_str(&indented(&table));
    let most =
        |value: Option<f64>| value.map_or_else(|| ABSENT.to_owned(), |most| format!("{most:.0}"));
    let kv = change.kv_used_most.map_or_else(String::new, |part| {
        format!(", {:.0}% of the KV cache", part * 100.0)
    });
    line(
        &mut text,
        &format!(
            "  at most {} running, {} waiting{kv}, as seen in {readings} readings over {} s of {} ({} names){missed}",
            most(change.running_most),
            most(change.waiting_most),
            significant(change.seconds),
            counters.url,
            counters.engine
        ),
    );
    text
}

/// Name, the server's number and ours; without what the server does not count.
#[must_use]
pub fn serve_beside(change: &ServerChange, summary: Option<&ServeSummary>) -> Vec<[String; 3]> {
    let count = |value: Option<f64>| value.map(|count| format!("{count:.0}"));
    let mean = |mean: Option<ServerMean>| mean.map(|mean| significant(mean.mean_ms));
    let ours = |of: fn(&ServeSummary) -> Option<f64>| summary.and_then(of).map(significant);
    let counted =
        |of: fn(&ServeSummary) -> Option<u64>| summary.and_then(of).map(|n| n.to_string());
    let rows = [
        (
            "Requests that ended",
            count(change.requests),
            counted(|s| Some(u64::from(s.completed))),
        ),
        (
            "Prompt tokens",
            count(change.prompt_tokens),
            counted(|s| s.input_tokens),
        ),
        (
            "Prompt tokens from a cache",
            count(change.cached_tokens),
            None,
        ),
        (
            "Tokens generated",
            count(change.generated_tokens),
            counted(|s| s.output_tokens),
        ),
        (
            "Mean TTFT (ms)",
            mean(change.ttft),
            ours(|s| Some(s.ttft_ms.as_ref()?.mean)),
        ),
        ("Mean time in the queue (ms)", mean(change.queue), None),
        (
            "Mean ITL (ms)",
            mean(change.itl),
            ours(ServeSummary::token_gap_ms),
        ),
        (
            "Mean TPOT (ms)",
            mean(change.tpot),
            ours(|s| Some(s.tpot_ms.as_ref()?.mean)),
        ),
        (
            "Mean time generating a token (ms)",
            mean(change.generation),
            None,
        ),
        (
            "Mean E2EL (ms)",
            mean(change.e2el),
            ours(|s| Some(s.e2el_ms.as_ref()?.mean)),
        ),
        ("Preemptions", count(change.preemptions), None),
    ];
    rows.into_iter()
        .filter_map(|(name, theirs, ours)| {
            let ours = ours.unwrap_or_else(|| ABSENT.to_owned());
            Some([name.to_owned(), theirs?, ours])
        })
        .collect()
}

fn machine(machine: &ServerMachine, summary: Option<&ServeSummary>) -> String {
    let end_ms = summary.map_or(f64::INFINITY, |summary| summary.duration_s * 1e3);
    let within = |ns: u64| (0.0..=end_ms).contains(&machine.at_ms(ns));
    let header = &machine.header;
    let soft = header.soft_box.as_ref().map_or_else(String::new, |name| {
        format!(", SIMULATED on soft box {name}")
    });
    let mut text = format!(
        "\nThe machine during the load, by {} {} ({}{soft})\n",
        header.program, header.version, header.backend.name
    );
    let samples: Vec<&MonitorSample> = machine
        .lines
        .iter()
        .filter_map(|line| match line {
            MonitorLine::Sample(sample) if within(sample.answered_ns) => Some(&**sample),
            _ => None,
        })
        .collect();
    let mut table = table();
    table.set_header([
        "",
        "power (W)",
        "SM clock (MHz)",
        "busy (%)",
        "PCIe in (GB/s)",
        "PCIe out (GB/s)",
        "memory (GiB)",
        "held down by",
        "n",
    ]);
    let mut any = false;
    for (index, device) in header.devices.iter().enumerate() {
        let of = |value: fn(&MonitorSample) -> Option<f64>| -> Vec<f64> {
            let own = samples.iter().filter(|sample| sample.device == index);
            own.filter_map(|sample| value(sample)).collect()
        };
        let n = samples
            .iter()
            .filter(|sample| sample.device == index)
            .count();
        let clock = of(|s| s.values.sm_clock_mhz.map(f64::from));
        let clock = match (least(&clock), greatest(&clock)) {
            (Some(least), Some(most)) => format!("{least:.0} .. {most:.0}"),
            _ => ABSENT.to_owned(),
        };
        let causes: BTreeSet<&str> = samples
            .iter()
            .filter(|sample| sample.device == index)
            .filter_map(|sample| sample.values.throttle.as_ref())
            .flatten()
            .map(String::as_str)
            .collect();
        let row = [
            device.label.clone(),
            averaged(&of(|s| s.values.power_w)),
            clock,
            averaged(&of(|s| s.values.utilisation_percent.map(f64::from))),
            averaged(&of(|s| {
                s.values.pcie_rx_kb_per_s.map(|rate| f64::from(rate) / 1e6)
            })),
            averaged(&of(|s| {
                s.values.pcie_tx_kb_per_s.map(|rate| f64::from(rate) / 1e6)
            })),
            averaged(&of(|s| {
                #[expect(clippy::cast_precision_loss, reason = "bytes of a device's memory")]
                s.values
                    .memory_used_bytes
                    .map(|bytes| bytes as f64 / f64::from(1 << 30))
            })),
            causes.into_iter().collect::<Vec<_>>().join(", "),
            n.to_string(),
        ];
        // A device that gives nothing, such as host memory, has no row.
        if row[1..8]
            .iter()
            .any(|cell| cell != ABSENT && !cell.is_empty())
        {
            any = true;
            table.add_row(row);
        }
    }
    if any {
        numbers_right(&mut table);
        text.push_str(&indented(&table));
        line(
            &mut text,
            "  means over the measured part; the clock from least to most",
        );
    } else {
        line(&mut text, "  no device gave power, clocks or counters");
    }
    line(
        &mut text,
        &format!("  server's processes: {}", machine.processes),
    );
    for (pid, command, cpus) in cpu_use(machine, within) {
        line(&mut text, &format!("  {command} ({pid}): {cpus}"));
    }
    text
}

/// CPUs in use by NUMA node, the mean over the measured part, of each process.
fn cpu_use(machine: &ServerMachine, within: impl Fn(u64) -> bool) -> Vec<(u32, String, String)> {
    let process = |process: &crate::record::MonitorProcess| {
        let used: Vec<&MonitorCpu> = machine
            .lines
            .iter()
            .filter_map(|line| match line {
                MonitorLine::Cpu(cpu) if cpu.pid == process.pid && within(cpu.at_ns) => Some(cpu),
                _ => None,
            })
            .collect();
        #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a run")]
        let seconds = |cpu: &MonitorCpu| cpu.over_ns as f64 / 1e9;
        let all: f64 = used.iter().map(|cpu| seconds(cpu)).sum();
        if all <= 0.0 {
            return None;
        }
        let mut nodes: BTreeMap<u32, f64> = BTreeMap::new();
        for cpu in &used {
            for node in &cpu.by_node {
                *nodes.entry(node.node).or_default() += node.cpus * seconds(cpu);
            }
        }
        let unplaced: f64 = used.iter().map(|cpu| cpu.unplaced * seconds(cpu)).sum();
        let mut words: Vec<String> = nodes
            .iter()
            .map(|(node, spent)| format!("{} CPUs on node {node}", significant(spent / all)))
            .collect();
        if unplaced > 0.0 {
            words.push(format!("{} on no known node", significant(unplaced / all)));
        }
        Some((process.pid, process.command.clone(), words.join(", ")))
    };
    machine
        .header
        .processes
        .iter()
        .filter_map(process)
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "readings of a run")]
fn averaged(values: &[f64]) -> String {
    if values.is_empty() {
        return ABSENT.to_owned();
    }
    significant(values.iter().sum::<f64>() / values.len() as f64)
}

fn least(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::min)
}

fn greatest(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::max)
}

#[cfg(test)]
mod tests;
