//! For each rule of the engine and its load a box where it fires, and one where it must not, and what every advice prints.

use crate::advice::made::*;

use crate::advice::boxes::rtxpro6000_mig;
use explain::{Effect, Range, Rule, attribute};
use measure::record::{
    BackendFacts, MonitorCpu, MonitorHeader, MonitorLine, NodeUse, PeerVerdict, ServerMachine,
};
use tp_plan::{CustomAllReduce, EngineFacts, Execution};

#[test]
fn the_engines_own_all_reduce_is_asked_for_where_only_a_flag_is_against_it() {
    let off = |peer, reason: &str| {
        let mut inputs = bare(peer);
        inputs.engines[1].custom_all_reduce = CustomAllReduce::Off {
            reason: reason.to_owned(),
        };
        of(&inputs, Rule::CustomAllReduceByFlag)
    };
    let flag = "--disable-custom-all-reduce was given";
    let told = off(PeerVerdict::Direct, flag).unwrap();
    let effect = told.effect.unwrap();
    assert!(effect.times.mid > 1.33, "{effect:?}");
    // The runs' own command has the flag, and the other one has not.
    let prove = told.prove.unwrap();
    assert!(
        prove.contains("--disable-custom-all-reduce --tensor-parallel-size 2")
            && prove.contains("again without --disable-custom-all-reduce"),
        "{prove}"
    );
    // A demonstration that gave the flag by itself is not told to leave it away.
    let mut ours = bare(PeerVerdict::Direct);
    ours.engines[1] = ours.engines[1].clone().with_library_only(flag);
    assert!(of(&ours, Rule::CustomAllReduceByFlag).is_some());
    ours.seen.off_by_us = true;
    assert_eq!(of(&ours, Rule::CustomAllReduceByFlag), None);
    assert!(off(PeerVerdict::Denied, flag).is_none());
    assert!(off(PeerVerdict::Direct, "something else").is_none());
    assert_eq!(
        of(&bare(PeerVerdict::Direct), Rule::CustomAllReduceByFlag),
        None
    );
}

#[test]
fn four_gpus_on_pcie_are_told_of_two_and_of_the_kernel_for_small_messages() {
    let four = |peer, flag: Option<&str>, nvlink| {
        let mut inputs = bare(peer);
        inputs.tp = 4;
        inputs.around.full_nvlink = nvlink;
        inputs.engines[1] = EngineFacts::vllm(4, &inputs.around);
        if let Some(flag) = flag {
            inputs.engines[1] = inputs.engines[1].clone().with_library_only(flag);
        }
        inputs.serve[1].0 = 4;
        inputs.serve[1].1.tp = Some(4);
        let all = all(&inputs);
        all.into_iter()
            .filter(|one| one.rule == Rule::CustomAllReduceGated)
            .collect::<Vec<_>>()
    };
    let flag = Some("--disable-custom-all-reduce");
    let gated = four(PeerVerdict::Direct, None, false);
    assert!(gated[0].what.contains("2 replicas of TP2"), "{gated:?}");
    assert!(
        gated[1]
            .what
            .contains("VLLM_ALLREDUCE_USE_FLASHINFER_PCIE_IPC"),
        "{gated:?}"
    );
    assert_eq!(four(PeerVerdict::Denied, None, false), []);
    // The engine's own rule is told and not the flag that was given, too; over NVLink the flag alone is against it.
    let flagged = four(PeerVerdict::Direct, flag, false);
    assert_eq!(flagged[0].why, gated[0].why);
    assert_eq!(four(PeerVerdict::Direct, flag, true), []);
    assert_eq!(
        of(&bare(PeerVerdict::Direct), Rule::CustomAllReduceGated),
        None
    );
}

#[test]
fn a_padded_batch_is_named_with_what_its_messages_cost() {
    let with = |flight: u32| {
        let mut inputs = bare(PeerVerdict::Denied);
        for (_, run) in &mut inputs.serve {
            run.concurrency_asked = Some(f64::from(flight));
            // Little's law: as many in flight over the same latency.
            let latency_s = run.e2el_ms.unwrap().mean / 1e3;
            run.requests_per_s = f64::from(flight) / latency_s;
            run.duration_s = 64.0 / run.requests_per_s;
        }
        inputs
    };
    // 17 run in the graph of 24: 1.41 times the bytes.
    let padded = of(&with(17), Rule::Padded).unwrap();
    assert!(
        padded.why.contains("graph of 24") && padded.why.contains("1.41"),
        "{padded:?}"
    );
    let effect = padded.effect.unwrap();
    // 24 sequences send 384 KiB and 17 send 272: published staged, 39.3 us * (55.5 / 39.3)^0.58 = 48.0 us against
    // 39.3 * (55.5 / 39.3)^0.09 = 40.5, so 16% of what is left goes and no more.
    let attribution = attribute(&with(17), 1, DRAWS).unwrap();
    assert!(
        effect.times.mid > attribution.speed_up.mid * 1.005,
        "{effect:?}"
    );
    assert!(effect.times.mid < attribution.free_links.mid, "{effect:?}");
    // 16 is a captured size, and 23 of 24 is next to nothing.
    assert_eq!(of(&with(16), Rule::Padded), None);
    assert_eq!(of(&with(23), Rule::Padded), None);
}

#[test]
fn eager_steps_are_told_of_graphs() {
    let mut inputs = bare(PeerVerdict::Direct);
    assert_eq!(of(&inputs, Rule::Eager), None);
    for engine in &mut inputs.engines {
        engine.execution = Execution::Eager;
    }
    let eager = of(&inputs, Rule::Eager).unwrap();
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
    let above = of(&inputs, Rule::Eager).unwrap();
    assert!(above.why.contains("(8)"), "{above:?}");
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
            values: vec![],
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
        of(&inputs, Rule::ThreadsElsewhere)
    };
    // 1.8 of 2 CPUs.
    let told = with(&[(0, 1.8), (1, 0.2)]).unwrap();
    assert!(
        told.why.contains("90%") && told.what.contains("--cpunodebind=1"),
        "{told:?}"
    );
    // GPUs that reach each other directly: of the step of 45.9 ms no more than the host's bar, at most 1 / 2 + 0.3 ms, can go:
    // 61.2 / 45.1 = 1.36 at most, and 61.2 / 45.9 = 1.33 is measured.
    let effect = told.effect.unwrap();
    assert!(
        effect.at_most && effect.times.low > 1.32 && effect.times.high < 1.38,
        "{effect:?}"
    );
    assert!(told.prove.unwrap().contains("--arms numa"));
    assert_eq!(with(&[(0, 0.2), (1, 1.8)]), None);
    // Next to no CPU time shows no placement, nor does none at all.
    assert_eq!(with(&[(0, 0.01)]), None);
    assert_eq!(with(&[]), None);
}

#[test]
fn kernels_come_first_where_communication_is_small_and_not_where_it_is_not() {
    // 34 ms a step is what half the work takes with the GEMMs' loss: nothing is left.
    let small = with_step(bare(PeerVerdict::Direct), 34.0);
    let told = all(&small);
    assert_eq!(told[0].rule, Rule::KernelsFirst, "{told:?}");
    // And then nothing is said of links, whatever they could do.
    let mut slow = small;
    let mut devices = vec![device(0, 0), device(1, 0)];
    devices[1].loaded = Some(reading((3, 4), (5, 16)));
    slow.seen.links = Some(links(devices));
    assert_eq!(of(&slow, Rule::LinkTrainedDown), None);
    assert_eq!(of(&bare(PeerVerdict::Direct), Rule::KernelsFirst), None);
}

#[test]
fn a_bound_below_half_a_gpu_more_is_told_and_replicas_where_they_give_more() {
    // 12 ms of attention in every step, whatever the GPUs, and 47 ms of GEMMs that gain 1.4 times: free links give
    // 61.2 / (12 + 33.6 + ...) and no more than 1.35.
    let mut inputs = bare(PeerVerdict::Direct);
    for known in ["attention_us_per_layer=150", "gemm_speedup=1.4"] {
        inputs.priors.set(known.parse().unwrap()).unwrap();
    }
    let inputs = with_step(inputs, 52.0);
    let told = of(&inputs, Rule::BoundTooLow).unwrap();
    assert!(
        told.why.contains("TP2 would give 1.") && told.why.contains("even if links were free"),
        "{told:?}"
    );
    // 2 * 52 / 61.2 = 1.7: two replicas at the same batch each give more.
    assert!(of(&inputs, Rule::Replicas).is_some());
    assert_eq!(of(&bare(PeerVerdict::Direct), Rule::BoundTooLow), None);
}

#[test]
fn links_that_cost_next_to_nothing_are_left_as_they_are() {
    // GEMMs that halve, and nothing that does not: half of 61.4 ms is 30.7, and TP2 takes 31.3.
    let mut inputs = bare(PeerVerdict::Direct);
    for prior in [
        "gemm_speedup=2",
        "attention_us_per_layer=0",
        "elementwise_us_per_layer=0",
        "host_ms=0",
    ] {
        inputs.priors.set(prior.parse().unwrap()).unwrap();
    }
    let told = all(&with_step(inputs, 31.3));
    assert!(
        told.iter().any(|one| one.rule == Rule::NothingToGain),
        "{told:?}"
    );
    let links = [Rule::KernelsFirst, Rule::LinkTrainedDown, Rule::OtherPair];
    assert!(
        !told.iter().any(|one| links.contains(&one.rule)),
        "{told:?}"
    );
    assert_eq!(of(&bare(PeerVerdict::Direct), Rule::NothingToGain), None);
}

#[test]
fn a_gain_is_told_with_its_interval_and_with_what_it_supposes() {
    let effect = |condition: Option<&str>, at_most, most| Effect {
        of: "the step rate of TP1".to_owned(),
        times: Range {
            low: 1.66,
            mid: 1.76,
            high: 1.85,
        },
        at_most,
        condition: condition.map(str::to_owned),
        most,
    };
    let gain = "1.76 [1.66, 1.85]x the step rate of TP1";
    assert_eq!(
        effect(Some("if links were free"), true, Some(1.85)).to_string(),
        format!("{gain} if links were free")
    );
    assert_eq!(
        effect(None, false, Some(1.9)).to_string(),
        format!(
            "{gain}, up to 1.90x the step rate of TP1 (95% of the draws lie below) where all that is unexplained is communication, too"
        )
    );
    assert_eq!(effect(None, false, None).to_string(), gain);
    // One from before either was told still loads.
    let old =
        r#"{"of": "tokens/s", "times": {"low": 1.0, "mid": 1.1, "high": 1.2}, "at_most": true}"#;
    assert_eq!(serde_json::from_str::<Effect>(old).unwrap().most, None);
}

#[test]
fn every_command_that_advice_prints_carries_the_runs_own_load() {
    let mut inputs = bare(PeerVerdict::Denied);
    for engine in &mut inputs.engines {
        engine.execution = Execution::Eager;
    }
    let mut checked = 0;
    for advice in all(&inputs).into_iter().chain(all(&rtxpro6000_mig())) {
        let prove = advice.prove.unwrap();
        // Each begins with a program that can be started, or says where.
        let loads = prove.matches("serve-bench run").count();
        let whole = prove
            .matches("--input-tokens 89 --output-tokens 256")
            .count();
        assert!(whole >= loads, "{prove}");
        assert!(!prove.contains("vllm serve qwen2.5"), "{prove}");
        checked += loads;
    }
    assert!(checked > 0);
}
