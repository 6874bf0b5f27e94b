//! What the classes of a matrix mean; only those that it has.

use std::collections::BTreeSet;

use topology::{Matrix, PathType};

use super::matrix::word;
use super::page::Page;

/// What [`PathType::Unknown`] means of a machine.
pub(super) const NO_NODE: &str = "the NUMA node of one of them is not known";

/// What it means of a captured text.
pub(crate) const NOT_TOLD: &str = "not told by the text";

/// Classes and what they mean, but UNKNOWN's, which is its caller's, in the order in which they are listed.
const MEANINGS: [(&str, &str); 10] = [
    ("X", "itself"),
    ("LOC", "one device to NCCL"),
    ("MX", "MetaXLink, beside PCI Express"),
    ("XGMI", "xGMI, beside PCI Express"),
    ("PIX", "one PCIe switch at most"),
    ("PXB", "several PCIe switches, no host bridge"),
    (
        "PHB",
        "a PCIe host bridge, the processor; to NCCL also several of one NUMA node",
    ),
    ("NODE", "several host bridges of one NUMA node"),
    ("SYS", "the link between NUMA nodes"),
    ("NV#", "so many bonded NVLinks, beside PCI Express"),
];

/// The classes that the matrices have, below them, and what UNKNOWN means there.
pub(crate) fn legend(page: &mut Page, matrices: &[&Matrix], unknown: &str) {
    let mut there: BTreeSet<String> = BTreeSet::new();
    for matrix in matrices {
        for (a, row) in matrix.classes.iter().enumerate() {
            there.extend(
                row.iter()
                    .enumerate()
                    .map(|(b, class)| name(*class, a == b)),
            );
        }
    }
    let last = PathType::Unknown.name();
    let rows = MEANINGS
        .into_iter()
        .chain([(last.as_ref(), unknown)])
        .filter(|(name, _)| there.contains(*name));
    page.table(
        &["Legend"],
        rows.map(|(name, meaning)| vec![format!("  {name:<8}{meaning}")])
            .collect(),
    );
}

fn name(class: PathType, is_itself: bool) -> String {
    match class {
        PathType::Nv(_) => "NV#".to_owned(),
        class => word(class, is_itself).trim().to_owned(),
    }
}
