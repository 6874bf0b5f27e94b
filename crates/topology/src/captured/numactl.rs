//! `numactl -H`: NUMA nodes with CPUs, memory and distances.

use super::heading::Heading;
use super::lines::{Lines, malformed, shown};
use super::table::MOST_ENDS;
use super::{Captured, CapturedError};
use crate::{CpuSet, NumaNode};

/// The command.
pub(super) const TOOL: &str = "numactl -H";

/// The highest CPU number taken.
const HIGHEST_CPU: usize = 65_535;

/// The distance of a node to itself; the kernel refuses a table that says otherwise (ACPI 6.5, section 5.2.17).
const TO_ITSELF: u32 = 10;

pub(super) fn begins(lines: &Lines, _seen: &Heading) -> bool {
    let line = lines.peek().unwrap_or_default();
    line.starts_with("available: ") && line.contains(" node")
}

pub(super) fn read(
    lines: &mut Lines,
    _seen: &Heading,
    captured: &mut Captured,
) -> Result<(), CapturedError> {
    let line = lines.number();
    if !captured.nodes.is_empty() {
        return Err(CapturedError::Twice {
            tool: TOOL,
            line,
            what: "the list of nodes".to_owned(),
        });
    }
    let ids = ids(lines.peek().unwrap_or_default()).map_err(|what| malformed(TOOL, line, what))?;
    lines.advance();
    let mut nodes = Vec::new();
    for id in &ids {
        nodes.push(node(lines, *id)?);
    }
    distances(lines, &ids, &mut nodes)?;
    captured.nodes = nodes;
    Ok(())
}

/// The nodes of `available: 2 nodes (0-1)`.
fn ids(line: &str) -> Result<Vec<u32>, String> {
    let refuse = || format!("{} is no whole list of nodes", shown(line));
    let parts = line.strip_prefix("available: ").and_then(|rest| {
        let (count, rest) = rest.split_once(" node")?;
        let list = rest.split_once('(')?.1.strip_suffix(')')?;
        Some((count.parse::<usize>().ok()?, list.parse::<CpuSet>().ok()?))
    });
    let (count, list) = parts.ok_or_else(refuse)?;
    if list.is_empty() || list.len() > MOST_ENDS {
        return Err(format!(
            "{} nodes are listed, and 1 to {MOST_ENDS} are read",
            list.len()
        ));
    }
    if list.len() != count {
        return Err(format!("{count} nodes are said and {} listed", list.len()));
    }
    list.iter()
        .map(|id| u32::try_from(id).map_err(|_| refuse()))
        .collect()
}

/// Reads the lines `node 0 cpus:`, `size:` and `free:`.
fn node(lines: &mut Lines, id: u32) -> Result<NumaNode, CapturedError> {
    let list = value(lines, id, "cpus")?;
    let mut cpus = Vec::new();
    for word in list.split_whitespace() {
        let cpu = word.parse().ok().filter(|cpu| *cpu <= HIGHEST_CPU);
        cpus.push(cpu.ok_or_else(|| {
            let what = format!("node {id} has {} among its CPUs", shown(word));
            malformed(TOOL, lines.number() - 1, what)
        })?);
    }
    let memory = memory(lines, id, "size")?;
    // The free memory changes all the time; it is read and let go.
    self::memory(lines, id, "free")?;
    Ok(NumaNode {
        id,
        cpus: cpus.into_iter().collect(),
        distances: [].into(),
        memory_bytes: memory,
    })
}

/// Reads a size such as `218 MB`, which counts MiB; `None` where the tool knows none.
fn memory(lines: &mut Lines, id: u32, name: &str) -> Result<Option<u64>, CapturedError> {
    let text = value(lines, id, name)?;
    if text == "<not available>" {
        return Ok(None);
    }
    let mib = text.strip_suffix(" MB").and_then(|mib| mib.parse().ok());
    match mib.and_then(|mib: u64| mib.checked_mul(1 << 20)) {
        Some(bytes) => Ok(Some(bytes)),
        None => {
            let what = format!(
                "node {id} has {name} {}, which is no size in MB",
                shown(&text)
            );
            Err(malformed(TOOL, lines.number() - 1, what))
        }
    }
}

/// What stands after `node 0 cpus:` and its like, which the next line has to be.
fn value(lines: &mut Lines, id: u32, name: &str) -> Result<String, CapturedError> {
    let begins = format!("node {id} {name}:");
    let line = lines.peek().unwrap_or_default();
    let Some(value) = line.strip_prefix(&begins) else {
        let what = format!("there is no `{begins}`");
        return Err(malformed(TOOL, lines.number(), what));
    };
    let value = value.trim().to_owned();
    lines.advance();
    Ok(value)
}

/// Reads the table of distances; some machines have none, and the tool says so.
fn distances(lines: &mut Lines, ids: &[u32], nodes: &mut [NumaNode]) -> Result<(), CapturedError> {
    let line = lines.peek().unwrap_or_default();
    if line.starts_with("No distance information") {
        lines.advance();
        return Ok(());
    }
    let titles = ["node distances:".to_owned(), numbers("node", ids)];
    for title in titles {
        let words: Vec<&str> = lines
            .peek()
            .unwrap_or_default()
            .split_whitespace()
            .collect();
        if words.join(" ") != title {
            let what = format!("there is no {}", shown(&title));
            return Err(malformed(TOOL, lines.number(), what));
        }
        lines.advance();
    }
    for (node, id) in nodes.iter_mut().zip(ids) {
        let refuse = |what: &str| {
            malformed(
                TOOL,
                lines.number(),
                format!("the row of distances of node {id} {what}"),
            )
        };
        let mut words = lines.peek().unwrap_or_default().split_whitespace();
        if words.next() != Some(format!("{id}:").as_str()) {
            return Err(refuse("is missing"));
        }
        let row: Vec<&str> = words.collect();
        if row.len() != ids.len() {
            let what = format!("has {} of {} numbers", row.len(), ids.len());
            return Err(refuse(&what));
        }
        for (other, word) in ids.iter().zip(row) {
            let distance = word.parse::<u8>().ok().map(u32::from);
            // Device trees may say 10 between nodes, too (the kernel checks it for ACPI's table only).
            let sound =
                |distance: &u32| *distance == TO_ITSELF || (other != id && *distance > TO_ITSELF);
            let Some(distance) = distance.filter(sound) else {
                let what = format!("has {} to node {other}", shown(word));
                return Err(refuse(&what));
            };
            node.distances.insert(*other, distance);
        }
        lines.advance();
    }
    Ok(())
}

/// `node 0 1`, as the header of the table is without its padding.
fn numbers(before: &str, ids: &[u32]) -> String {
    let mut text = before.to_owned();
    for id in ids {
        text += &format!(" {id}");
    }
    text
}
