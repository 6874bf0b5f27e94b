//! NUMA nodes: those to which a program that uses some GPUs is best bound (those of the GPUs, or the nearest that have CPUs and memory), and
//! what a node has free: the kernel ends a process that touches more bound memory than the node can give.
//!
//! It is asked before memory is made, and others may take it meanwhile, so that not all of it is used.

use std::collections::{BTreeMap, BTreeSet};

use program::Stop;
use record::unit::ByteCount;
use record::{Failure, FailureKind, NumaBinding};
use topology::{Machine, NumaNode, Sysfs};

/// The binding for devices on these nodes; `None` where the kernel says the node of none, or shows no nodes.
pub(super) fn binding(nodes: &[Option<u32>], machine: &Machine) -> Option<NumaBinding> {
    let homes: BTreeSet<u32> = nodes.iter().copied().flatten().collect();
    if homes.is_empty() || machine.nodes.is_empty() {
        return None;
    }
    let s = if homes.len() == 1 { "" } else { "s" };
    let mut said = vec![format!(
        "the devices are on node{s} {}",
        joined(&homes, ", ")
    )];
    let mut nearest_to = |home: u32, what: &str, has: fn(&NumaNode) -> bool| {
        let node = nearest(machine, home, has)?;
        if node != home {
            said.push(format!(
                "node {home} has no {what}, node {node} is the nearest that has"
            ));
        }
        Some(node)
    };
    let mut cpu_nodes = BTreeSet::new();
    let mut memory_nodes = BTreeSet::new();
    for home in &homes {
        cpu_nodes.extend(nearest_to(*home, "CPUs", |node| !node.cpus.is_empty()));
        memory_nodes.extend(nearest_to(*home, "memory", |node| {
            node.memory_bytes != Some(0)
        }));
    }
    let unknown = nodes.iter().filter(|node| node.is_none()).count();
    if unknown > 0 {
        said.push(format!(
            "the kernel does not say the node of {unknown} of them"
        ));
    }
    let numactl = format!(
        "numactl --cpunodebind={} --membind={}",
        joined(&cpu_nodes, ","),
        joined(&memory_nodes, ",")
    );
    Some(NumaBinding {
        numactl,
        cpu_nodes: cpu_nodes.into_iter().collect(),
        memory_nodes: memory_nodes.into_iter().collect(),
        basis: said.join("; "),
    })
}

/// Numbers of nodes as a list.
pub(super) fn joined<'a>(nodes: impl IntoIterator<Item = &'a u32>, between: &str) -> String {
    let nodes: Vec<String> = nodes.into_iter().map(u32::to_string).collect();
    nodes.join(between)
}

/// The nodes of a machine, in words.
pub(super) fn listed(machine: &Machine) -> String {
    let ids: Vec<u32> = machine.nodes.iter().map(|node| node.id).collect();
    match ids.as_slice() {
        [] => "no NUMA nodes".to_owned(),
        [only] => format!("node {only} alone"),
        many => format!("nodes {}", joined(many, ", ")),
    }
}

/// Refuses nodes that a machine does not have.
pub(super) fn check(option: &str, nodes: &[u32], machine: &Machine) -> Result<(), Stop> {
    match nodes.iter().find(|node| machine.node(**node).is_none()) {
        None => Ok(()),
        Some(node) => Err(Stop::Usage(format!(
            "{option} {node}: there is no such node; this machine has {}",
            listed(machine)
        ))),
    }
}

/// The node nearest to one that has something: itself first, then by distance, then by number.
fn nearest(machine: &Machine, from: u32, has: fn(&NumaNode) -> bool) -> Option<u32> {
    let distances = &machine.node(from)?.distances;
    let distance = |node: &&NumaNode| {
        let distance = distances.get(&node.id).copied().unwrap_or(u32::MAX);
        (node.id != from, distance, node.id)
    };
    let nodes = machine.nodes.iter().filter(|node| has(node));
    nodes.min_by_key(distance).map(|node| node.id)
}

/// What every node has free, as far as the kernel tells.
pub(super) fn free(sysfs: &Sysfs, machine: &Machine) -> BTreeMap<u32, u64> {
    let nodes = machine.nodes.iter();
    nodes
        .filter_map(|node| Some((node.id, free_of(sysfs, node.id)?)))
        .collect()
}

/// Bytes that are free on a node, with half of the files that it caches: the kernel gives these back, and keeps some for programs
/// that run. `None` where the kernel does not tell.
fn free_of(sysfs: &Sysfs, node: u32) -> Option<u64> {
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
    use topology::Cpus;

    use super::*;

    /// Nodes 0 to 3 as QEMU's machine of four nodes has them: node 3 has memory only, and here node 2 CPUs only.
    fn machine() -> Machine {
        let distances = [
            [10, 12, 32, 17],
            [12, 10, 32, 28],
            [32, 32, 10, 28],
            [17, 28, 28, 10],
        ];
        let node = |id: u32| NumaNode {
            id,
            cpus: ["0-1", "2", "3", ""][id as usize].parse().unwrap(),
            distances: distances[id as usize]
                .into_iter()
                .enumerate()
                .map(|(to, distance)| (u32::try_from(to).unwrap(), distance))
                .collect::<BTreeMap<u32, u32>>(),
            memory_bytes: Some(if id == 2 { 0 } else { 1 << 30 }),
        };
        Machine {
            nodes: (0..4).map(node).collect(),
            cpus: Cpus::default(),
            hypervisor: None,
            boot_id: None,
            gpus: Vec::new(),
        }
    }

    #[test]
    fn a_node_without_cpus_or_memory_takes_the_nearest_that_has_them_and_says_so() {
        // From node 3, node 0 is at 17, nodes 1 and 2 are at 28; from node 2, node 3 is at 28, nodes 0 and 1 are at 32.
        for (node, numactl, says) in [
            (
                1,
                "--cpunodebind=1 --membind=1",
                "the devices are on node 1",
            ),
            (
                3,
                "--cpunodebind=0 --membind=3",
                "node 3 has no CPUs, node 0 is the nearest",
            ),
            (
                2,
                "--cpunodebind=2 --membind=3",
                "node 2 has no memory, node 3 is the nearest",
            ),
        ] {
            let found = binding(&[Some(node)], &machine()).unwrap();
            assert_eq!(found.numactl, format!("numactl {numactl}"));
            assert!(found.basis.contains(says), "{}", found.basis);
        }
    }

    #[test]
    fn nodes_are_joined_and_unknown_ones_are_counted() {
        let found = binding(&[Some(1), None, Some(0), Some(1)], &machine()).unwrap();
        assert_eq!(
            (&found.cpu_nodes[..], &found.memory_nodes[..]),
            (&[0, 1][..], &[0, 1][..])
        );
        assert!(
            found.basis.ends_with("the node of 1 of them"),
            "{}",
            found.basis
        );
        assert_eq!(binding(&[None, None], &machine()), None);
        assert_eq!(binding(&[], &machine()), None);
    }

    #[test]
    fn half_of_the_cached_files_count_as_free_and_a_quarter_of_all_is_left() {
        let root = std::env::temp_dir().join(format!("p2p-bw-free-{}", std::process::id()));
        let folder = root.join("sys/devices/system/node/node1");
        std::fs::create_dir_all(&folder).unwrap();
        let meminfo = "Node 1 MemTotal:       4096 kB\nNode 1 MemFree:        1000 kB\nNode 1 Active:         900 kB\n\
                       Node 1 Active(file):    300 kB\nNode 1 Inactive(file):  500 kB\n";
        std::fs::write(folder.join("meminfo"), meminfo).unwrap();
        let sysfs = Sysfs::at(&root);
        let free = free_of(&sysfs, 1);
        let without = free_of(&sysfs, 0);
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
