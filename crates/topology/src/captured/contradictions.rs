//! What tells that the outputs in one text are not all of one machine: numbers of GPUs, nodes and CPUs that differ.

use std::collections::BTreeSet;

use super::{Captured, numactl};
use crate::{EndKind, Matrix, PciAddress};

/// A clause for each contradiction, for readers who merged the outputs of two machines.
pub(super) fn of(captured: &Captured) -> Vec<String> {
    let mut found = Vec::new();
    found.extend(counts(captured));
    if let Some(matrix) = &captured.matrix {
        found.extend(lists(captured, matrix));
        found.extend(nodes(captured, matrix));
    }
    found
}

/// Numbers of GPUs, tool by tool, where they are not all the same.
fn counts(captured: &Captured) -> Option<String> {
    let gpus = |ends: &[String]| {
        let is_gpu = |end: &&String| end.starts_with("GPU") || end.parse::<PciAddress>().is_ok();
        ends.iter().filter(is_gpu).count()
    };
    let matrix = captured.matrix.iter().map(|matrix| {
        let ends = matrix.ends.iter();
        let count = ends.filter(|end| end.kind == EndKind::Gpu).count();
        (matrix.source.as_str(), count)
    });
    let tables = captured
        .tables
        .iter()
        .map(|table| (table.source.as_str(), gpus(&table.ends)));
    let listed = captured
        .listed
        .iter()
        .map(|(tool, numbers)| (*tool, numbers.len()));
    let mut all: Vec<(&str, usize)> = Vec::new();
    for counted in matrix.chain(tables).chain(listed) {
        if !all.contains(&counted) {
            all.push(counted);
        }
    }
    let differ = all.windows(2).any(|two| two[0].1 != two[1].1);
    let said: Vec<String> = all
        .iter()
        .map(|(tool, count)| format!("{tool} {count}"))
        .collect();
    differ.then(|| format!("the numbers of GPUs differ, {}", said.join(", ")))
}

/// GPUs whose node is another one in the matrix than in a list.
fn lists(captured: &Captured, matrix: &Matrix) -> Vec<String> {
    let differs = |gpu: &super::NamedGpu| {
        let name = format!("GPU{}", gpu.number);
        let end = matrix.ends.iter().find(|end| end.name == name)?;
        let (here, there) = end.node.zip(gpu.node)?;
        (here != there).then(|| {
            let source = &matrix.source;
            format!("{name} is on node {here} in {source} and on node {there} in a list")
        })
    };
    captured.gpus.iter().filter_map(differs).collect()
}

/// Nodes and CPUs of the matrix and the lists that the machine of `numactl -H` does not have.
fn nodes(captured: &Captured, matrix: &Matrix) -> Vec<String> {
    if captured.nodes.is_empty() {
        return Vec::new();
    }
    let (source, tool) = (&matrix.source, numactl::TOOL);
    let known = |node: &u32| captured.nodes.iter().any(|known| known.id == *node);
    let named = matrix.ends.iter().filter_map(|end| end.node);
    let named = named.chain(captured.gpus.iter().filter_map(|gpu| gpu.node));
    let foreign: BTreeSet<u32> = named.filter(|node| !known(node)).collect();
    let mut found: Vec<String> = foreign
        .iter()
        .map(|node| format!("GPUs are on node {node}, which {tool} does not have"))
        .collect();
    let has = |cpu: &usize| captured.nodes.iter().any(|node| node.cpus.contains(*cpu));
    let cpus = matrix.ends.iter().filter_map(|end| end.cpus.as_ref());
    let foreign: BTreeSet<usize> = cpus
        .flat_map(|cpus| cpus.iter())
        .filter(|cpu| !has(cpu))
        .collect();
    if !foreign.is_empty() {
        let foreign: crate::CpuSet = foreign.into_iter().collect();
        found.push(format!(
            "{source} has CPUs {foreign}, which {tool} does not have"
        ));
    }
    found
}
