//! What shows that the outputs in one text are not all of one machine: numbers of GPUs, nodes and CPUs that differ.

use std::collections::BTreeSet;

use super::{Captured, CapturedFinding};
use crate::{CpuSet, EndKind, Matrix, PciAddress};

/// The contradictions, for readers who merged the outputs of two machines.
pub(super) fn of(captured: &Captured) -> Vec<CapturedFinding> {
    let mut found: Vec<CapturedFinding> = counts(captured).into_iter().collect();
    if let Some(matrix) = &captured.matrix {
        found.extend(lists(captured, matrix));
        found.extend(nodes(captured, matrix));
    }
    found
}

/// Numbers of GPUs, tool by tool, where they are not all the same.
fn counts(captured: &Captured) -> Option<CapturedFinding> {
    let gpus = |ends: &[String]| {
        let is_gpu = |end: &&String| end.starts_with("GPU") || end.parse::<PciAddress>().is_ok();
        ends.iter().filter(is_gpu).count()
    };
    let matrix = captured.matrix.iter().map(|matrix| {
        let ends = matrix.ends.iter();
        let count = ends.filter(|end| end.kind == EndKind::Gpu).count();
        (matrix.source.clone(), count)
    });
    let tables = captured.tables.iter();
    let tables = tables.map(|table| (table.source.clone(), gpus(&table.ends)));
    let listed = captured.listed.iter();
    let listed = listed.map(|(tool, numbers)| ((*tool).to_owned(), numbers.len()));
    let mut counts: Vec<(String, usize)> = Vec::new();
    for counted in matrix.chain(tables).chain(listed) {
        if !counts.contains(&counted) {
            counts.push(counted);
        }
    }
    let differ = counts.windows(2).any(|two| two[0].1 != two[1].1);
    differ.then_some(CapturedFinding::GpuCountsDiffer { counts })
}

/// GPUs whose node is another one in the matrix than in a list.
fn lists(captured: &Captured, matrix: &Matrix) -> Vec<CapturedFinding> {
    let differs = |gpu: &super::NamedGpu| {
        let name = format!("GPU{}", gpu.number);
        let end = matrix.ends.iter().find(|end| end.name == name)?;
        let (here, there) = end.node.zip(gpu.node)?;
        (here != there).then_some(CapturedFinding::GpuNodesDiffer {
            gpu: name,
            matrix: here,
            list: there,
        })
    };
    captured.gpus.iter().filter_map(differs).collect()
}

/// Nodes and CPUs of the matrix and the lists that the machine of `numactl -H` does not have.
fn nodes(captured: &Captured, matrix: &Matrix) -> Vec<CapturedFinding> {
    if captured.nodes.is_empty() {
        return Vec::new();
    }
    let known = |node: &u32| captured.nodes.iter().any(|known| known.id == *node);
    let named = matrix.ends.iter().filter_map(|end| end.node);
    let named = named.chain(captured.gpus.iter().filter_map(|gpu| gpu.node));
    let foreign: BTreeSet<u32> = named.filter(|node| !known(node)).collect();
    let foreign = foreign.into_iter();
    let mut found: Vec<CapturedFinding> = foreign
        .map(|node| CapturedFinding::NodeMissing { node })
        .collect();
    let has = |cpu: &usize| captured.nodes.iter().any(|node| node.cpus.contains(*cpu));
    let cpus = matrix.ends.iter().filter_map(|end| end.cpus.as_ref());
    let cpus: CpuSet = cpus
        .flat_map(CpuSet::iter)
        .filter(|cpu| !has(cpu))
        .collect();
    if !cpus.is_empty() {
        found.push(CapturedFinding::CpusMissing { cpus });
    }
    found
}
