//! `rocm-smi --showtopo` and `amd-smi topology`.

use topology::PathType::{Same, Sys, Unknown, Xgmi};

use crate::captured::{captured, texts};

#[test]
fn rocm_tables_have_weight_hops_type_and_nodes() {
    let captured = captured(texts::ROCM_TOPO);
    assert_eq!(captured.sources, ["rocm-smi --showtopo"]);
    assert_eq!(captured.table("weight").unwrap().cell(0, 3), Some("40"));
    assert_eq!(captured.table("hops").unwrap().cell(1, 2), Some("2"));
    assert_eq!(
        captured.table("link type").unwrap().cell(2, 0),
        Some("PCIE")
    );
    let nodes: Vec<_> = captured
        .gpus
        .iter()
        .map(|gpu| (gpu.number, gpu.node))
        .collect();
    assert_eq!(
        nodes,
        [(0, Some(0)), (1, Some(0)), (2, Some(0)), (3, Some(0))]
    );
    let matrix = captured.matrix.unwrap();
    assert_eq!(matrix.class(0, 0), Some(Same));
    assert_eq!(matrix.class(0, 1), Some(Unknown), "PCIE may be PIX to NODE");
    assert_eq!(matrix.ends[3].node, Some(0));
    assert_eq!(captured.open.len(), 1);
    assert_eq!(captured.open[0].code(), "classes-coarse");
}

#[test]
fn xgmi_is_a_class_and_gpus_of_two_nodes_are_sys() {
    let text = texts::ROCM_TOPO
        .replace("GPU0   0            PCIE ", "GPU0   0            XGMI ")
        .replace("GPU1   PCIE         0   ", "GPU1   XGMI         0   ")
        .replace(
            "GPU[3]\t\t: (Topology) Numa Node: 0",
            "GPU[3]\t\t: (Topology) Numa Node: 1",
        );
    let matrix = captured(&text).matrix.unwrap();
    assert_eq!(matrix.class(0, 1), Some(Xgmi));
    assert_eq!(matrix.class(1, 3), Some(Sys), "nodes 0 and 1");
    assert_eq!(matrix.class(1, 2), Some(Unknown));
    assert_eq!(matrix.ends[3].node, Some(1));
}

#[test]
fn three_hops_go_from_node_to_node() {
    // One hop from each GPU to its node, one between the nodes.
    let far = texts::AMD_TOPOLOGY
        .replace("0000:03:00.0 0            2", "0000:03:00.0 0            3")
        .replace("0000:0c:00.0 2            0", "0000:0c:00.0 3            0");
    assert_eq!(captured(&far).matrix.unwrap().class(0, 1), Some(Sys));
}

#[test]
fn amd_tables_are_over_pci_addresses() {
    let captured = captured(texts::AMD_TOPOLOGY);
    assert_eq!(captured.sources, ["amd-smi topology"]);
    let about: Vec<_> = captured
        .tables
        .iter()
        .map(|table| table.about.as_str())
        .collect();
    // The tool misspells one of them.
    assert_eq!(
        about,
        [
            "access",
            "weight",
            "hops",
            "link type",
            "numa bw",
            "cache coherancy",
            "atomics",
            "dma",
            "bi-directional"
        ]
    );
    let access = captured.table("access").unwrap();
    assert_eq!(access.ends, ["0000:03:00.0", "0000:0c:00.0"]);
    assert_eq!(access.cell(0, 1), Some("DISABLED"));
    assert_eq!(captured.table("weight").unwrap().cell(1, 0), Some("40"));
    let matrix = captured.matrix.unwrap();
    assert_eq!(matrix.ends[1].name, "GPU1");
    assert_eq!(matrix.ends[1].address.unwrap().to_string(), "0000:0c:00.0");
    assert_eq!(matrix.class(0, 1), Some(Unknown));
}
