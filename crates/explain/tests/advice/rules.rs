//! For each rule of links a box where it fires, and one where it must not.

use crate::advice::made::*;

use crate::advice::boxes::rtxpro6000_mig;
use explain::{Rule, Variable, attribute, explain, text};
use measure::record::PeerVerdict;
use topology::{AcsPort, Crossing, Fact, IommuMode, LargeBar, PeerSurroundings};

#[test]
fn mig_is_told_of_whole_gpus_and_whole_gpus_are_not() {
    let mig = of(&rtxpro6000_mig(), Rule::MigWithoutPeers).unwrap();
    // With peer access the published kernel takes 11 us: 1.66 [1.58, 1.75] by hand where all that is left is communication, which
    // is the most; by the published staged curve, that explains two thirds of it, less.
    let effect = mig.effect.unwrap();
    let most = effect.most.unwrap();
    assert!(!effect.at_most && (most - 1.75).abs() < 0.05, "{effect:?}");
    assert!(
        effect.times.mid > 1.4 && effect.times.high < most,
        "{effect:?}"
    );
    assert!(mig.prove.unwrap().contains("p2p-bw"));
    assert_eq!(of(&bare(PeerVerdict::Direct), Rule::MigWithoutPeers), None);
    let mig = all(&rtxpro6000_mig());
    assert!(
        mig.iter().all(|one| one.rule == Rule::MigWithoutPeers),
        "{mig:?}"
    );
    // The command itself, and no size of tensor parallelism in the record of its load.
    let pipeline = mig[2].prove.clone().unwrap();
    assert!(
        pipeline.contains("--pipeline-parallel-size 2 --port 8000")
            && !pipeline.contains("--tensor-parallel-size")
            && !pipeline.contains("--tp "),
        "{pipeline}"
    );
    let replicas = mig[1].prove.clone().unwrap();
    assert!(
        replicas.contains("; then, that server ended, vllm serve"),
        "{replicas}"
    );
}

#[test]
fn on_a_soft_box_no_command_is_printed_that_does_not_run_there() {
    let mut soft = rtxpro6000_mig();
    for (_, run) in &mut soft.serve {
        run.simulated = Some("rtxpro6000-mig".to_owned());
    }
    soft.known.links_of = Some("rtxpro6000-mig".to_owned());
    let whole = |inputs: &_| all(inputs)[0].prove.clone();
    // Without a soft box of whole GPUs there is nothing to run.
    assert_eq!(whole(&soft), None);
    soft.seen.whole_gpus = Some("rtxpro6000-bare".to_owned());
    let prove = whole(&soft).unwrap();
    assert_eq!(prove.matches("--sim rtxpro6000-bare").count(), 2, "{prove}");
    let pipeline = all(&soft)
        .into_iter()
        .find(|one| one.what.contains("pipeline parallelism"))
        .unwrap();
    assert_eq!(pipeline.prove, None);
    assert!(pipeline.why.contains("needs a real server"), "{pipeline:?}");
    // A box file is named as it was given.
    soft.seen.soft_given = Some("boxes/own box.toml".to_owned());
    let replicas = all(&soft)[1].prove.clone().unwrap();
    assert!(
        replicas.contains("serve-bench engine --box 'boxes/own box.toml'"),
        "{replicas}"
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
    let prove = other.prove.unwrap();
    assert!(
        prove.contains(" --arms gpu-pair --gpus 4,5 --pairs 6,7 -- vllm serve "),
        "{prove}"
    );
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

/// The files of TP1 and TP2 exchanged, neither of which says its size unless told to.
fn swapped(tp: Option<u32>) -> explain::Inputs {
    let mut inputs = rtxpro6000_mig();
    for (size, run) in &mut inputs.serve {
        *size = 3 - *size;
        run.tp = tp.and(Some(*size));
    }
    inputs.serve.reverse();
    inputs
}

#[test]
fn where_several_are_slower_and_no_file_says_its_size_the_files_are_to_be_checked_first() {
    let advice = all(&swapped(None));
    assert_eq!(advice[0].rule, Rule::FilesMixedUp);
    assert!(
        advice[0]
            .what
            .contains("tp2.json was given as TP1 and tp1.json as TP2"),
        "{advice:?}"
    );
    let words = text(&explain(&swapped(None), 1, DRAWS));
    let second = words.lines().nth(1).unwrap();
    assert!(
        second.starts_with("What to do: check that the files are not mixed up"),
        "{second}"
    );
    // Files that say their size are not mixed up, and the right way round there is nothing to check.
    let mixed = |inputs: &_| all(inputs).iter().any(|one| one.rule == Rule::FilesMixedUp);
    assert!(!mixed(&swapped(Some(1))));
    let mut right = rtxpro6000_mig();
    for (_, run) in &mut right.serve {
        run.tp = None;
    }
    assert!(!mixed(&right));
}

#[test]
fn nothing_is_advised_that_leaves_several_slower_than_one() {
    // With peer access 60 ms become about 53, where one GPU takes 45: 0.85 times its rate.
    for inputs in [swapped(None), swapped(Some(1))] {
        let advice = all(&inputs);
        assert!(
            !advice.iter().any(|one| one.what.contains("whole GPUs")),
            "{advice:?}"
        );
        for one in advice.iter().filter(|one| one.rule != Rule::NothingToGain) {
            let times = one.effect.as_ref().map(|effect| effect.times.mid);
            assert!(times.is_none_or(|times| times >= 1.0), "{one:?}");
        }
    }
}
