//! Host memory as CPUs see it: a row for each node of CPUs, a column for each node of memory.

use super::super::cell::{ABSENT, quantity};
use super::super::header::{indented, numbers_right, table};
use super::super::record::line;
use crate::record::{HostMemoryOutcome, HostMemoryPoint, Numa};
use crate::unit::ByteCount;

/// What is shown: the number's name and what it is.
const SHOWN: [(&str, &str); 2] = [
    (
        "bandwidth",
        "GB/s of a copy by one thread, payload counted once",
    ),
    ("latency", "ns of a load that waits for the one before it"),
];

/// Of memory so many times the cache's size little is found there.
const ENOUGH: u64 = 2;

/// Both tables, or why there are none.
pub(super) fn tables(numa: &Numa) -> String {
    let mut text = String::new();
    if let Some(reason) = &numa.host_left_out {
        line(
            &mut text,
            &format!("\nHost memory by CPUs: not measured, {reason}"),
        );
    }
    if numa.host.is_empty() {
        return text;
    }
    for (name, what) in SHOWN {
        line(
            &mut text,
            &format!(
                "\nHost memory by CPUs: {what}{}, median ± wider side of its 95% interval{}",
                size(numa, name),
                counts(&numa.host, name)
            ),
        );
        text.push_str(&matrix(&numa.host, name));
    }
    for point in &numa.host {
        if let HostMemoryOutcome::Failed { reason } = &point.outcome {
            line(
                &mut text,
                &format!(
                    "  CPUs of {}, memory of {}: {reason}",
                    node(point.cpu_node),
                    node(point.memory_node)
                ),
            );
        }
    }
    text
}

fn matrix(points: &[HostMemoryPoint], name: &str) -> String {
    let (mut cpus, mut memory) = (Vec::new(), Vec::new());
    for point in points {
        if !cpus.contains(&point.cpu_node) {
            cpus.push(point.cpu_node);
        }
        if !memory.contains(&point.memory_node) {
            memory.push(point.memory_node);
        }
    }
    let mut table = table();
    let columns = memory.iter().map(|of| format!("memory of {}", node(*of)));
    table.set_header(std::iter::once(String::new()).chain(columns));
    for cpu in cpus {
        let cell = |of: &Option<u32>| {
            let is_it =
                |point: &&HostMemoryPoint| (point.cpu_node, point.memory_node) == (cpu, *of);
            let point = points.iter().find(is_it);
            point.map_or_else(|| ABSENT.to_owned(), |point| cell(point, name))
        };
        let title = format!("CPUs of {}", node(cpu));
        table.add_row(std::iter::once(title).chain(memory.iter().map(cell)));
    }
    numbers_right(&mut table);
    indented(&table)
}

fn cell(point: &HostMemoryPoint, name: &str) -> String {
    match &point.outcome {
        HostMemoryOutcome::Measured {
            quantities,
            placement,
            thread,
            ..
        } => {
            let proven = placement.proven == point.memory_node && thread.proven == point.cpu_node;
            let is_it = |named: &&crate::record::NamedQuantity| named.name == name;
            match (quantities.iter().find(is_it), proven) {
                (Some(named), true) => quantity(&named.quantity),
                (Some(_), false) => "not proven".to_owned(),
                (None, _) => ABSENT.to_owned(),
            }
        }
        HostMemoryOutcome::Failed { .. } => "FAILED".to_owned(),
    }
}

/// Bytes behind a number, and the pages of the chain.
fn size(numa: &Numa, name: &str) -> String {
    let cache = numa
        .machine
        .as_ref()
        .and_then(|machine| machine.cpus.last_level_cache_bytes);
    let mut sizes: Vec<String> = Vec::new();
    for point in &numa.host {
        if let HostMemoryOutcome::Measured {
            copy_bytes,
            chain_bytes,
            huge_pages,
            ..
        } = &point.outcome
        {
            let size = match (name, huge_pages) {
                ("bandwidth", _) => format!(", buffers of {}", ByteCount(*copy_bytes)),
                (_, true) => format!(", a chain of {} in huge pages", ByteCount(*chain_bytes)),
                (_, false) => format!(
                    ", a chain of {} in small pages, so waits for page tables are in it",
                    ByteCount(*chain_bytes)
                ),
            };
            let bytes = if name == "bandwidth" {
                copy_bytes
            } else {
                chain_bytes
            };
            let held = cache.filter(|cache| *bytes < cache.saturating_mul(ENOUGH));
            let size = match held {
                Some(cache) => format!(
                    "{size}, less than {ENOUGH} times the last-level cache of {}: some of it is the cache's time",
                    ByteCount(cache)
                ),
                None => size,
            };
            if !sizes.contains(&size) {
                sizes.push(size);
            }
        }
    }
    sizes.concat()
}

fn counts(points: &[HostMemoryPoint], name: &str) -> String {
    let of = |point: &HostMemoryPoint| match &point.outcome {
        HostMemoryOutcome::Measured { quantities, .. } => quantities
            .iter()
            .find(|named| named.name == name)
            .map(|named| named.quantity.n),
        HostMemoryOutcome::Failed { .. } => None,
    };
    let counts: Vec<usize> = points.iter().filter_map(of).collect();
    match (counts.iter().min(), counts.iter().max()) {
        (Some(least), Some(most)) if least == most => format!("; n={least}"),
        (Some(least), Some(most)) => format!("; n={least}..{most}"),
        _ => String::new(),
    }
}

fn node(node: Option<u32>) -> String {
    node.map_or_else(|| "no node".to_owned(), |node| format!("node {node}"))
}
