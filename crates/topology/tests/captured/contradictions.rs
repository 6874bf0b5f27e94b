//! Outputs of several machines in one text.

use topology::captured::CapturedFinding::{
    CpusMissing, GpuCountsDiffer, GpuNodesDiffer, NodeMissing,
};

use crate::captured::{captured, texts};

/// Two GPUs of four CPUs each, on nodes 0 and 5.
const MATRIX: &str = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\n\
                      GPU0\t X \tSYS\t0-3\t0\nGPU1\tSYS\t X \t4-7\t5\n";

#[test]
fn nodes_and_cpus_that_numactl_does_not_have_are_found() {
    // The emulated machine A has nodes 0 and 1 and CPUs 0 to 3.
    let found = captured(&format!("{MATRIX}\n{}", texts::NODES_A)).contradictions;
    let cpus = "4-7".parse().unwrap();
    assert_eq!(found, [NodeMissing { node: 5 }, CpusMissing { cpus }]);
}

#[test]
fn gpus_that_one_tool_counts_and_another_does_not_are_found() {
    let list = "GPU#0  MXC500  0000:06:00.0  Available (UUID: GPU-11111111-aaaa)\n";
    let found = captured(&format!("{MATRIX}\n{list}")).contradictions;
    let counts = vec![
        ("nvidia-smi topo -m".to_owned(), 2),
        ("mx-smi -L".to_owned(), 1),
    ];
    assert_eq!(found, [GpuCountsDiffer { counts }]);
}

#[test]
fn a_node_that_differs_between_tools_is_found() {
    let node = |gpu, node| format!("GPU[{gpu}]\t\t: (Topology) Numa Node: {node}\n");
    let text = format!("{MATRIX}\n{}{}", node(0, 0), node(1, 1));
    let expected = GpuNodesDiffer {
        gpu: "GPU1".to_owned(),
        matrix: 5,
        list: 1,
    };
    assert_eq!(captured(&text).contradictions, [expected]);
}

#[test]
fn outputs_of_one_machine_contradict_nothing() {
    for text in [texts::NODES_A, texts::TOPO_PHB, texts::TOPO_NVLINK, MATRIX] {
        let found = captured(text).contradictions;
        assert!(found.is_empty(), "{found:?}");
    }
}
