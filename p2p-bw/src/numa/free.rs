//! What a node has free: the kernel ends a process that touches more bound memory than the node can give.
//!
//! It is asked before memory is made, and others may take it meanwhile, so that not all of it is used.

use std::collections::BTreeMap;

use record::unit::ByteCount;
use record::{Failure, FailureKind};
use topology::{Machine, Sysfs};

/// What every node has free, as far as the kernel tells.
pub(super) fn all(sysfs: &Sysfs, machine: &Machine) -> BTreeMap<u32, u64> {
    let nodes = machine.nodes.iter();
    nodes
        .filter_map(|node| Some((node.id, of(sysfs, node.id)?)))
        .collect()
}

/// Bytes that are free on a node, with half of the files that it caches: the kernel gives these back, and keeps some for programs
/// that run. `None` where the kernel does not tell.
fn of(sysfs: &Sysfs, node: u32) -> Option<u64> {
    let text = sysfs.read_text(format!("sys/devices/system/node/node{node}/meminfo"))?;
    let bytes = |name: &str| -> Option<u64> {
        let amount = text
            .lines()
            .find_map(|line| Some(line.split_once(name)?.1))?;
        let kib: u64 = amount.trim().strip_suffix("kB")?.trim().parse().ok()?;
        kib.checked_mul(1024)
    };
    let files = bytes(" Active(file):").unwrap_or(0) + bytes(" Inactive(file):").unwrap_or(0);
    Some(bytes(" MemFree:")? + files / 2)
}

/// Why so much is not made on a node that has so much free: more than three quarters of it.
pub(super) fn too_little(node: u32, free: u64, wanted: u64) -> Option<Failure> {
    (wanted > free / 4 * 3).then(|| {
        FailureKind::OutOfMemory.of(format!(
            "not tried: it needs up to {} on node {node}, which has {} free; use a smaller --size, or free memory there",
            ByteCount(wanted),
            ByteCount(free)
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_cached_files_count_as_free_and_a_quarter_of_all_is_left() {
        let root = std::env::temp_dir().join(format!("p2p-bw-free-{}", std::process::id()));
        let folder = root.join("sys/devices/system/node/node1");
        std::fs::create_dir_all(&folder).unwrap();
        let meminfo = "Node 1 MemTotal:       4096 kB\nNode 1 MemFree:        1000 kB\nNode 1 Active:         900 kB\n\
                       Node 1 Active(file):    300 kB\nNode 1 Inactive(file):  500 kB\n";
        std::fs::write(folder.join("meminfo"), meminfo).unwrap();
        let sysfs = Sysfs::at(&root);
        let free = of(&sysfs, 1);
        let without = of(&sysfs, 0);
        std::fs::remove_dir_all(&root).unwrap();
        // 1000 + (300 + 500) / 2 = 1400 KiB.
        assert_eq!((free, without), (Some(1400 << 10), None));
        // Three quarters are 1050 KiB.
        assert_eq!(too_little(1, 1400 << 10, 1050 << 10), None);
        let why = too_little(1, 1400 << 10, 1051 << 10).unwrap();
        assert!(
            why.contains("node 1") && why.contains("smaller --size"),
            "{why}"
        );
    }
}
