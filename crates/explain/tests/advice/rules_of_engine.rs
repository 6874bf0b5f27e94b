//! For each rule of the engine and its load a box where it fires, and one where it must not, and what every advice prints.

use crate::advice::made::*;

use record::{
    BackendFacts, MonitorCpu, MonitorHeader, MonitorLine, NodeUse, PeerVerdict, ServerMachine,
};
use tp_plan::Execution;

#[test]
fn eager_steps_are_told_of_graphs() {
    let mut inputs = bare(PeerVerdict::Direct);
    assert_eq!(of(&inputs, "eager"), None);
    for engine in &mut inputs.engines {
        engine.execution = Execution::Eager;
    }
    let eager = of(&inputs, "eager").unwrap();
    // The host takes 0.5 to 15 ms of a step of 45.9: in the middle 61.2 / (45.9 - 7.75) = 1.60.
    let effect = eager.effect.unwrap();
    assert!(
        (effect.times.mid - 1.60).abs() < 0.03 && effect.at_most,
        "{effect:?}"
    );
    // A batch above the largest graph runs without one, too.
    let mut inputs = bare(PeerVerdict::Direct);
    inputs.engines[1].execution = Execution::Graph {
        capture_sizes: vec![1, 2, 4, 8],
    };
}

#[test]
fn threads_on_a_node_without_the_gpus_are_told_to_move() {
    let with = |cpus_by_node: &[(u32, f64)]| {
        let mut inputs = bare(PeerVerdict::Direct);
        inputs.seen.links = Some(links(vec![device(0, 1), device(1, 1)]));
        let header = MonitorHeader {
            schema: 1,
            program: "p2p-bw".to_owned(),
            version: String::new(),
            started: String::new(),
            started_unix_ns: None,
            boot_id: None,
            hz: 1.0,
            duration_s: None,
            soft_box: None,
            backend: BackendFacts::default(),
            devices: vec![],
            processes: vec![],
            unavailable: vec![],
        };
        let by_node = cpus_by_node
            .iter()
            .map(|(node, cpus)| NodeUse {
                node: *node,
                cpus: *cpus,
            })
            .collect();
        let line = MonitorLine::Cpu(MonitorCpu {
            pid: 7,
            at_ns: 1_000_000_000,
            over_ns: 1_000_000_000,
            threads: 9,
            by_node,
            unplaced: 0.0,
        });
        let machine = ServerMachine {
            header,
            began_ms: 0.0,
            lines: vec![line],
            processes: String::new(),
        };
        inputs.seen.machines = vec![(2, machine)];
        of(&inputs, "threads_elsewhere")
    };
    // 1.8 of 2 CPUs.
    assert!(with(&[(0, 1.8), (1, 0.2)]).is_some());
    assert_eq!(with(&[(0, 0.2), (1, 1.8)]), None);
    // Next to no CPU time shows no placement, nor does none at all.
    assert_eq!(with(&[(0, 0.01)]), None);
    assert_eq!(with(&[]), None);
}

#[test]
fn replicas_are_told_where_they_give_more() {
    // 12 ms of attention in every step, whatever the GPUs, and of the 47 ms of 321 GEMMs 20 that do not get shorter: free links
    // give 61.2 / (12 + 33.6 + ...) and no more than 1.35.
    let mut inputs = bare(PeerVerdict::Direct);
    for known in ["attention_us_per_layer=150", "gemm_start_us=62.5"] {
        inputs.priors.set(known.parse().unwrap()).unwrap();
    }
    let inputs = with_step(inputs, 52.0);
    // 2 * 52 / 61.2 = 1.7: two replicas at the same batch each give more.
    assert!(of(&inputs, "replicas").is_some());
}
