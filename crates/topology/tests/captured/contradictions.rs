//! Outputs of several machines in one text.

use crate::captured::{captured, texts};

/// Two GPUs of four CPUs each, on nodes 0 and 5.
const MATRIX: &str = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\n\
                      GPU0\t X \tSYS\t0-3\t0\nGPU1\tSYS\t X \t4-7\t5\n";

#[test]
fn nodes_and_cpus_that_numactl_does_not_have_are_told() {
    // The emulated machine A has nodes 0 and 1 and CPUs 0 to 3.
    let found = captured(&format!("{MATRIX}\n{}", texts::NODES_A)).contradictions;
    assert_eq!(
        found,
        [
            "GPUs are on node 5, which numactl -H does not have",
            "nvidia-smi topo -m has CPUs 4-7, which numactl -H does not have",
        ]
    );
}

#[test]
fn gpus_that_one_tool_counts_and_another_does_not_are_told() {
    let list = "GPU#0  MXC500  0000:06:00.0  Available (UUID: GPU-11111111-aaaa)\n";
    let found = captured(&format!("{MATRIX}\n{list}")).contradictions;
    assert_eq!(
        found,
        ["the numbers of GPUs differ, nvidia-smi topo -m 2, mx-smi -L 1"]
    );
}

#[test]
fn a_node_that_two_tools_tell_differently_is_told() {
    let node = |gpu, node| format!("GPU[{gpu}]\t\t: (Topology) Numa Node: {node}\n");
    let text = format!("{MATRIX}\n{}{}", node(0, 0), node(1, 1));
    assert_eq!(
        captured(&text).contradictions,
        ["GPU1 is on node 5 in nvidia-smi topo -m and on node 1 in a list"]
    );
}

#[test]
fn outputs_of_one_machine_contradict_nothing() {
    for text in [texts::NODES_A, texts::TOPO_PHB, texts::TOPO_NVLINK, MATRIX] {
        let found = captured(text).contradictions;
        assert!(found.is_empty(), "{found:?}");
    }
}
