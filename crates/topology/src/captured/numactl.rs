//! `numactl -H`: NUMA nodes with CPUs, memory and distances.

use std::collections::BTreeMap;

use super::heading::Heading;
use super::lines::{Lines, malformed, shown};
use super::table::MOST_ENDS;
use super::{Captured, CapturedError};
use crate::{CpuSet, NumaNode};

/// The command.
pub(super) const TOOL: &str = "numactl -H";

pub(super) fn begins(lines: &Lines, _seen: &Heading) -> bool {
    let line = lines.peek().unwrap_or_default();
    line.starts_with("available: ") && line.contains(" node")
}

/// Reads the list of nodes and the table of distances below it.
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
    let head = lines.peek().unwrap_or_default();
    let Some(ids) = ids(head) else {
        let what = format!("{} is no whole list of nodes", shown(head));
        return Err(malformed(TOOL, line, what));
    };
    lines.advance();
    for id in &ids {
        captured.nodes.push(node(lines, *id)?);
    }
    distances(lines, &ids, &mut captured.nodes)
}

/// The numbers of `available: 2 nodes (0-1)`.
fn ids(line: &str) -> Option<Vec<u32>> {
    let (count, rest) = line.strip_prefix("available: ")?.split_once(" node")?;
    let list = rest.split_once('(')?.1.strip_suffix(')')?;
    let list: CpuSet = list.parse().ok()?;
    let is_whole = count.parse() == Ok(list.len()) && (1..=MOST_ENDS).contains(&list.len());
    let ids: Option<Vec<u32>> = list.iter().map(|id| u32::try_from(id).ok()).collect();
    ids.filter(|_| is_whole)
}

fn node(lines: &mut Lines, id: u32) -> Result<NumaNode, CapturedError> {
    let cpus = value(lines, id, "cpus", |text| {
        let cpus: CpuSet = text
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(",")
            .parse()
            .ok()?;
        Some(cpus)
    })?;
    let size = |text: &str| match text {
        "<not available>" => Some(None),
        text => {
            let mib: u64 = text.strip_suffix(" MB")?.parse().ok()?;
            mib.checked_mul(1 << 20).map(Some)
        }
    };
    let memory_bytes = value(lines, id, "size", size)?;
    value(lines, id, "free", size)?;
    Ok(NumaNode {
        id,
        cpus,
        distances: BTreeMap::new(),
        memory_bytes,
    })
}

/// What stands behind `node 0 NAME:`.
fn value<T>(
    lines: &mut Lines,
    id: u32,
    name: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<T, CapturedError> {
    let begins = format!("node {id} {name}:");
    let line = lines.peek().unwrap_or_default();
    let Some(text) = line.strip_prefix(&begins) else {
        let what = format!("there is no `{begins}`");
        return Err(malformed(TOOL, lines.number(), what));
    };
    let Some(value) = read(text.trim()) else {
        let what = format!("node {id} has {} as its {name}", shown(text.trim()));
        return Err(malformed(TOOL, lines.number(), what));
    };
    lines.advance();
    Ok(value)
}

/// The table of distances; kernels without it say so in its place.
fn distances(lines: &mut Lines, ids: &[u32], nodes: &mut [NumaNode]) -> Result<(), CapturedError> {
    if lines
        .peek()
        .unwrap_or_default()
        .starts_with("No distance information")
    {
        lines.advance();
        return Ok(());
    }
    let heads: Vec<String> = ids.iter().map(u32::to_string).collect();
    for title in [
        "node distances:".to_owned(),
        format!("node {}", heads.join(" ")),
    ] {
        let words = lines.peek().unwrap_or_default().split_whitespace();
        if words.collect::<Vec<_>>().join(" ") != title {
            let what = format!("there is no {}", shown(&title));
            return Err(malformed(TOOL, lines.number(), what));
        }
        lines.advance();
    }
    for (node, id) in nodes.iter_mut().zip(ids) {
        let line = lines.peek().unwrap_or_default();
        let row = line.strip_prefix(&format!("{id}:")).unwrap_or_default();
        let row: Option<Vec<u32>> = row
            .split_whitespace()
            .map(|word| word.parse::<u8>().ok().map(u32::from))
            .collect();
        let Some(row) = row.filter(|row| row.len() == ids.len()) else {
            let what = format!("the row of distances of node {id} has {}", shown(line));
            return Err(malformed(TOOL, lines.number(), what));
        };
        node.distances = ids.iter().copied().zip(row).collect();
        lines.advance();
    }
    Ok(())
}
