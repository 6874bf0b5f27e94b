//! A matrix of path classes, as `nvidia-smi topo -m` sets it.

use topology::{CpuSet, Matrix, PathType};

use super::page::{Page, or_absent};

/// The matrix; without another one to compare with also the CPUs and the node of each end. Cells that are of another class than
/// `beside`'s are marked.
pub(crate) fn matrix(page: &mut Page, matrix: &Matrix, beside: Option<&Matrix>) {
    let names = || matrix.ends.iter().map(|end| end.name.as_str());
    let mut head: Vec<&str> = std::iter::once("").chain(names()).collect();
    if beside.is_none() {
        head.extend(["CPU Affinity", "NUMA Affinity"]);
    }
    let row = |a: usize| {
        let end = &matrix.ends[a];
        let cell = |b: usize| {
            let class = matrix.class(a, b);
            let other = beside.map(|beside| beside.class(a, b));
            let mark = if other.is_some_and(|other| other != class) {
                "*"
            } else {
                ""
            };
            class.map_or_else(
                || or_absent(class),
                |class| format!("{}{mark}", word(class, a == b)),
            )
        };
        let cells = std::iter::once(end.name.clone()).chain((0..matrix.ends.len()).map(cell));
        let affinity = [or_absent(end.cpus.as_ref().map(cpus)), or_absent(end.node)];
        cells
            .chain(affinity.into_iter().filter(|_| beside.is_none()))
            .collect()
    };
    page.table(&head, (0..matrix.ends.len()).map(row).collect());
}

/// A class in a cell; two functions that NCCL takes for one device are LOC to it.
pub(super) fn word(class: PathType, is_itself: bool) -> String {
    match class {
        PathType::Same if is_itself => " X".to_owned(),
        PathType::Same => "LOC".to_owned(),
        other => other.to_string(),
    }
}

fn cpus(cpus: &CpuSet) -> String {
    if cpus.is_empty() {
        "none".to_owned()
    } else {
        cpus.to_string()
    }
}
