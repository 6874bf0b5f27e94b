//! For each rule a box where it fires, and one where it must not.

use std::collections::BTreeMap;

use crate::boxes::{mean, nvidia, rtxpro6000_mig};
use explain::{Advice, Inputs, Rule, Variable, advise, attribute, explain, text};
use measure::record::{
    BackendFacts, Endpoint, KernelAccess, LinkDevice, LinkReading, LinkUse, Links, MonitorCpu,
    MonitorHeader, MonitorLine, NamedQuantity, NodeUse, Outcome, PeerProbe, PeerVerdict, Point,
    ServerMachine, Verification,
};
use topology::{AcsPort, Crossing, Fact, IommuMode, LargeBar, PcieLink, PeerSurroundings};
use tp_plan::{CustomAllReduce, EngineFacts, Execution};

const DRAWS: u32 = 3000;

/// Two whole RTX Pro 6000 on bare metal with the runs of field case 2.
fn bare(peer: PeerVerdict) -> Inputs {
    let mut inputs = rtxpro6000_mig();
    let access = peer == PeerVerdict::Direct;
    inputs.around = nvidia(
        Some(access),
        if access { "" } else { "the driver allows none" },
        96,
    );
    inputs.engines = vec![
        EngineFacts::vllm(1, &inputs.around),
        EngineFacts::vllm(2, &inputs.around),
    ];
    inputs.known.mig = false;
    inputs.known.guest = Some(false);
    inputs.known.peers = vec![peer; 2];
    inputs
}

/// The same where a step of TP2 takes so long, four waves of 256 tokens.
fn with_step(mut inputs: Inputs, ms: f64) -> Inputs {
    let second = &mut inputs.serve[1].1;
    second.e2el_ms = Some(mean(256.0 * ms));
    second.duration_s = 4.0 * 256.0 * ms / 1e3;
    second.requests_per_s = 64.0 / second.duration_s;
    inputs
}

fn all(inputs: &Inputs) -> Vec<Advice> {
    advise(inputs, &attribute(inputs, 1, DRAWS).unwrap())
}

fn of(inputs: &Inputs, rule: Rule) -> Option<Advice> {
    all(inputs).into_iter().find(|one| one.rule == rule)
}

fn device(ordinal: usize, node: u32) -> LinkDevice {
    LinkDevice {
        label: format!("GPU{ordinal}"),
        ordinal,
        name: "NVIDIA RTX PRO 6000".to_owned(),
        uuid: None,
        address: None,
        node: Some(node),
        memory_bytes: None,
        mig: None,
        idle: None,
        loaded: None,
        max_payload_bytes: None,
        busy: None,
    }
}

fn links(devices: Vec<LinkDevice>) -> Links {
    Links {
        backend: Some(BackendFacts::default()),
        devices,
        ..Links::default()
    }
}

fn reading(now: (u8, u8), most: (u8, u8)) -> LinkReading {
    LinkReading {
        slot: PcieLink::new(now.0, now.1).ok(),
        slot_maximum: PcieLink::new(most.0, most.1).ok(),
        ..LinkReading::default()
    }
}

/// A copy between two devices, of which only the bandwidth matters here.
fn copy(from: usize, to: usize, gb_per_s: f64) -> Point {
    let quantity = serde_json::json!({
        "value": gb_per_s, "unit": "GB/s", "n": 9, "interval": null,
        "timing": { "source": "device_event", "gate": "none", "copies_per_sample": 1, "warmup_copies": 0 },
        "stopped": "max_samples", "samples": [], "outliers": []
    });
    Point {
        case: "d2d_write_ce".to_owned(),
        from: Endpoint::Device(from),
        to: Endpoint::Device(to),
        bytes: 64 << 20,
        outcome: Outcome::Measured {
            quantities: vec![NamedQuantity {
                name: "bandwidth".to_owned(),
                quantity: serde_json::from_value(quantity).unwrap(),
            }],
            verification: Verification::Passed,
            link: LinkUse {
                path: None,
                ceiling_gb_per_s: None,
                ceilings_gb_per_s: BTreeMap::new(),
                fraction: BTreeMap::new(),
                basis: String::new(),
            },
            placement: None,
        },
        caveats: vec![],
    }
}

fn both_ways(a: usize, b: usize, gb_per_s: f64) -> [Point; 2] {
    [copy(a, b, gb_per_s), copy(b, a, gb_per_s)]
}

fn probe(from: usize, to: usize, verdict: PeerVerdict) -> PeerProbe {
    PeerProbe {
        from,
        to,
        verdict,
        rests_on: String::new(),
        steps: vec![],
        kernels: KernelAccess::default(),
        surroundings: None,
    }
}

#[test]
fn mig_is_told_of_whole_gpus_and_whole_gpus_are_not() {
    let mig = of(&rtxpro6000_mig(), Rule::MigWithoutPeers).unwrap();
    // With peer access the published kernel takes 11 us: about 1.66 by hand.
    let effect = mig.effect.unwrap();
    assert!(
        effect.times.mid > 1.55 && effect.times.mid < 1.75,
        "{effect:?}"
    );
    assert!(mig.prove.unwrap().contains("p2p-bw"));
    assert_eq!(of(&bare(PeerVerdict::Direct), Rule::MigWithoutPeers), None);
    let mig = all(&rtxpro6000_mig());
    assert!(
        mig.iter().all(|one| one.rule == Rule::MigWithoutPeers),
        "{mig:?}"
    );
}

#[test]
fn case_2_is_never_told_to_enable_peer_access_whatever_else_was_seen() {
    let mut inputs = rtxpro6000_mig();
    // Nothing that would fire elsewhere may do so here.
    inputs.seen.variables = vec![Variable {
        name: "NCCL_P2P_DISABLE".to_owned(),
        value: "1".to_owned(),
        origin: "record.json".to_owned(),
    }];
    let mut four = links((0..4).map(|ordinal| device(ordinal, 0)).collect());
    four.probes = vec![
        probe(0, 1, PeerVerdict::Denied),
        probe(1, 0, PeerVerdict::Denied),
    ];
    four.points = both_ways(2, 3, 50.0).to_vec();
    inputs.seen.links = Some(four);
    let words = text(&explain(&inputs, 1, DRAWS)).to_lowercase();
    for never in ["enable p2p", "enable peer", "acs", "nccl_p2p", "iommu"] {
        assert!(!words.contains(never), "{never}: {words}");
    }
}

#[test]
fn denied_and_staged_name_what_probes_saw_on_the_way() {
    let surroundings = |redirects: bool, translates: bool| PeerSurroundings {
        crossing: Fact::Known(Crossing::Switch),
        acs: Fact::Known(vec![AcsPort {
            address: "0000:01:00.0".parse().unwrap(),
            // Request and completion redirect are bits 2 and 3 of the control register (PCI Express, ACS).
            control: Fact::Known(Some(if redirects { 0b1100 } else { 0 })),
        }]),
        iommu: [(); 2].map(|()| {
            Fact::Known(match translates {
                true => IommuMode::Translated,
                false => IommuMode::Identity,
            })
        }),
        bars: [(); 2].map(|()| Fact::<LargeBar>::Unknown("not looked at".to_owned())),
    };
    for (verdict, rule) in [
        (PeerVerdict::Denied, Rule::PeersDenied),
        (PeerVerdict::Staged, Rule::PeersStaged),
    ] {
        let mut inputs = bare(verdict);
        let mut seen = links(vec![device(0, 0), device(1, 0)]);
        seen.probes = vec![probe(0, 1, verdict)];
        seen.probes[0].surroundings = Some(surroundings(true, false));
        inputs.seen.links = Some(seen);
        let acs = of(&inputs, rule).unwrap();
        assert!(
            acs.what.contains("ACS") && !acs.what.contains("IOMMU"),
            "{acs:?}"
        );
        let seen = inputs.seen.links.as_mut().unwrap();
        seen.probes[0].surroundings = Some(surroundings(false, true));
        let iommu = of(&inputs, rule).unwrap();
        assert!(
            iommu.what.contains("iommu=pt") && !iommu.what.contains("ACS"),
            "{iommu:?}"
        );
        // A guest is not told of its host's ports.
        inputs.known.guest = Some(true);
        let guest = of(&inputs, rule).unwrap();
        assert!(!guest.why.contains("redirects"), "{guest:?}");
        assert_eq!(of(&bare(PeerVerdict::Direct), rule), None);
    }
}

#[test]
fn a_variable_that_keeps_the_library_from_peers_is_named_where_peers_work() {
    let set = |peer, name: &str, value: &str| {
        let mut inputs = bare(peer);
        inputs.seen.variables = vec![Variable {
            name: name.to_owned(),
            value: value.to_owned(),
            origin: "record.json".to_owned(),
        }];
        of(&inputs, Rule::LibraryToldOff)
    };
    let direct = PeerVerdict::Direct;
    let told = set(direct, "NCCL_P2P_DISABLE", "1").unwrap();
    assert!(told.what.contains("NCCL_P2P_DISABLE") && told.effect.is_some());
    assert!(set(direct, "NCCL_P2P_LEVEL", "loc").is_some());
    assert!(set(direct, "NCCL_P2P_LEVEL", "SYS").is_none());
    assert!(set(direct, "NCCL_P2P_DISABLE", "0").is_none());
    assert!(set(direct, "NCCL_DEBUG", "INFO").is_none());
    // Where the driver denies it, the variable is not the reason.
    assert!(set(PeerVerdict::Denied, "NCCL_P2P_DISABLE", "1").is_none());
}

#[test]
fn a_link_below_what_slot_and_card_can_do_is_named_with_what_it_costs() {
    let with = |now, most| {
        let mut inputs = bare(PeerVerdict::Direct);
        let mut devices = vec![device(0, 0), device(1, 0)];
        devices[0].loaded = Some(reading((5, 16), (5, 16)));
        devices[1].loaded = Some(reading(now, most));
        inputs.seen.links = Some(links(devices));
        inputs
    };
    let slow = of(&with((5, 8), (5, 16)), Rule::LinkTrainedDown).unwrap();
    assert!(
        slow.what.contains("GPU1") && slow.why.contains("Gen5 x8"),
        "{slow:?}"
    );
    let effect = slow.effect.unwrap();
    let bound = attribute(&with((5, 8), (5, 16)), 1, DRAWS)
        .unwrap()
        .free_links;
    assert!(
        effect.times.mid > 1.33 && effect.times.mid < bound.mid,
        "{effect:?}"
    );
    assert_eq!(of(&with((5, 16), (5, 16)), Rule::LinkTrainedDown), None);
    let mut guest = with((5, 8), (5, 16));
    guest.known.guest = Some(true);
    assert_eq!(of(&guest, Rule::LinkTrainedDown), None);
    // An idle link trains down, which says nothing.
    let mut idle = with((5, 16), (5, 16));
    let links = idle.seen.links.as_mut().unwrap();
    links.devices[1].idle = Some(reading((1, 16), (5, 16)));
    assert_eq!(of(&idle, Rule::LinkTrainedDown), None);
}

#[test]
fn another_pair_is_named_where_it_is_faster() {
    let with = |others: f64| {
        let mut inputs = bare(PeerVerdict::Direct);
        let mut four = links((0..4).map(|ordinal| device(ordinal + 4, 0)).collect());
        four.points.extend(both_ways(0, 1, 24.0));
        four.points.extend(both_ways(2, 3, others));
        // One fast direction is no fast pair.
        four.points.extend([copy(0, 2, 90.0), copy(2, 0, 10.0)]);
        inputs.seen.links = Some(four);
        inputs
    };
    let other = of(&with(48.0), Rule::OtherPair).unwrap();
    assert_eq!(
        other.what,
        "serve on GPU6 and GPU7 instead of GPU4 and GPU5"
    );
    assert!(other.prove.unwrap().contains("'4,5;6,7'"));
    assert!(
        other.why.contains("48.0 GB/s against 24.0"),
        "{}",
        other.why
    );
    // 5% is within what copies differ by.
    assert_eq!(of(&with(25.2), Rule::OtherPair), None);
    assert_eq!(of(&with(12.0), Rule::OtherPair), None);
}

#[test]
fn another_pair_is_named_where_only_it_has_peer_access() {
    let mut inputs = bare(PeerVerdict::Denied);
    let mut four = links((0..4).map(|ordinal| device(ordinal, 0)).collect());
    four.probes = vec![
        probe(0, 1, PeerVerdict::Denied),
        probe(1, 0, PeerVerdict::Denied),
        probe(2, 3, PeerVerdict::Direct),
        probe(3, 2, PeerVerdict::Direct),
    ];
    inputs.seen.links = Some(four);
    let other = of(&inputs, Rule::OtherPair).unwrap();
    assert!(
        other.what.starts_with("serve on GPU2 and GPU3"),
        "{other:?}"
    );
    for probe in &mut inputs.seen.links.as_mut().unwrap().probes {
        probe.verdict = PeerVerdict::Denied;
    }
    assert_eq!(of(&inputs, Rule::OtherPair), None);
}

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
    assert!(off(PeerVerdict::Denied, flag).is_none());
    assert!(off(PeerVerdict::Direct, "something else").is_none());
    assert_eq!(
        of(&bare(PeerVerdict::Direct), Rule::CustomAllReduceByFlag),
        None
    );
}

#[test]
fn four_gpus_on_pcie_are_told_of_two_and_of_the_kernel_for_small_messages() {
    let four = |peer| {
        let mut inputs = bare(peer);
        inputs.tp = 4;
        inputs.engines[1] = EngineFacts::vllm(4, &inputs.around);
        inputs.serve[1].0 = 4;
        inputs.serve[1].1.tp = Some(4);
        let all = all(&inputs);
        all.into_iter()
            .filter(|one| one.rule == Rule::CustomAllReduceGated)
            .collect::<Vec<_>>()
    };
    let gated = four(PeerVerdict::Direct);
    assert!(gated[0].what.contains("2 replicas of TP2"), "{gated:?}");
    assert!(
        gated[1]
            .what
            .contains("VLLM_ALLREDUCE_USE_FLASHINFER_PCIE_IPC"),
        "{gated:?}"
    );
    assert_eq!(four(PeerVerdict::Denied), []);
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
    // 30 ms of attention in every step, whatever the GPUs: free links give 61.2 / (30.6 + 15 + ...) and no more than 1.4.
    let mut inputs = bare(PeerVerdict::Direct);
    inputs
        .priors
        .set("attention_us_per_layer=375".parse().unwrap())
        .unwrap();
    let inputs = with_step(inputs, 52.0);
    let told = of(&inputs, Rule::BoundTooLow).unwrap();
    assert!(told.why.contains("whatever the links do"), "{told:?}");
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
