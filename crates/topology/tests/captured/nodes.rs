//! `numactl -H` of machines that were emulated with known nodes.

use crate::captured::{captured, texts};

#[test]
fn two_nodes_have_cpus_memory_and_distances() {
    let nodes = captured(texts::NODES_A).nodes;
    assert_eq!(nodes.len(), 2);
    assert_eq!(nodes[1].cpus.to_string(), "2-3");
    // 251 MiB.
    assert_eq!(nodes[1].memory_bytes, Some(251 * 1024 * 1024));
    assert_eq!(nodes[0].distances, [(0, 10), (1, 21)].into());
    let other = captured(texts::NODES_C).nodes;
    assert_eq!(other[1].distances, [(0, 20), (1, 10)].into());
}

#[test]
fn a_node_without_cpus_has_memory_only() {
    let nodes = captured(texts::NODES_B).nodes;
    assert_eq!(nodes.len(), 4);
    assert!(nodes[3].cpus.is_empty());
    assert_eq!(nodes[3].memory_bytes, Some(220 << 20));
    assert_eq!(
        nodes[3].distances,
        [(0, 17), (1, 28), (2, 28), (3, 10)].into()
    );
}

#[test]
fn node_numbers_may_have_gaps_and_sizes_may_be_unknown() {
    let text = "available: 2 nodes (0,8)\nnode 0 cpus: 0 1\nnode 0 size: 10 MB\nnode 0 free: 5 MB\n\
                node 8 cpus:\nnode 8 size: <not available>\nnode 8 free: <not available>\n\
                node distances:\nnode   0   8 \n  0:  10  40 \n  8:  40  10 \n";
    let nodes = captured(text).nodes;
    assert_eq!((nodes[1].id, nodes[1].memory_bytes), (8, None));
    assert_eq!(nodes[1].distances, [(0, 40), (8, 10)].into());
}
