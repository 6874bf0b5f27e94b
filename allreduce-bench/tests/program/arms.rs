//! Arms and launches: each has ranks of its own with its variables, the order turns, and one that is lost loses no other.

use boxfile::{BoxFile, CollectiveKind, Fault, Protocol, Transport};
use record::{CollectiveOutcome, CollectivePoint};

use super::common::{Kept, Scratch, exact_us, flat, no_progress, two_gpus};

const QUICK: [&str; 8] = [
    "--samples",
    "6",
    "--modes",
    "graph",
    "--sizes",
    "4K,8K",
    "--deadline",
    "3",
];

/// [`two_gpus`] with an all-reduce of 50 us directly, and of 90 us through host memory.
fn two_transports() -> BoxFile {
    let mut described = two_gpus();
    described.collective[0].transport = Some(Transport::P2p);
    let mut staged = flat(CollectiveKind::AllReduce, 90.0);
    staged.transport = Some(Transport::Shm);
    described.collective.push(staged);
    described
}

fn of_arm<'k>(kept: &'k Kept, arm: &str) -> Vec<&'k CollectivePoint> {
    let points = kept.collectives().points.iter();
    points
        .filter(|point| point.arm.as_deref() == Some(arm))
        .collect()
}

fn is_about(measured: f64, expected: f64) {
    assert!(
        (measured / expected - 1.0).abs() < 2e-3,
        "{measured} us, not {expected} us"
    );
}

#[test]
fn each_arm_has_its_own_variables_in_every_launch_and_the_order_turns() {
    let scratch = Scratch::new();
    let arms = ["--arm", "p2p-off: NCCL_P2P_DISABLE=1", "--launches", "4"];
    let kept = scratch.soft(&two_transports(), &[&QUICK[..], &arms[..]].concat());
    assert_eq!(kept.ran.code, 0, "{}", kept.ran.stderr);
    let collectives = kept.collectives();
    let recorded = &collectives.arms;
    assert_eq!(recorded[0].name, "baseline");
    assert_eq!(recorded[0].variables, []);
    assert_eq!(recorded[1].name, "p2p-off");
    let variable = ("NCCL_P2P_DISABLE".to_owned(), "1".to_owned());
    assert_eq!(recorded[1].variables, [variable]);
    // Two arms of four launches of two sizes in one mode.
    assert_eq!(collectives.points.len(), 16);
    for (arm, us) in [("baseline", 50.0), ("p2p-off", 90.0)] {
        let points = of_arm(&kept, arm);
        for launch in 0..4 {
            let of_launch = points.iter().filter(|point| point.launch == launch);
            assert_eq!(of_launch.count(), 2, "{arm}, launch {launch}");
        }
        for point in points {
            is_about(exact_us(&point.outcome), us);
        }
    }
    let order = |launch: u32| -> Vec<&str> {
        let points = collectives.points.iter();
        let mut arms: Vec<&str> = points
            .filter(|point| point.launch == launch)
            .filter_map(|point| point.arm.as_deref())
            .collect();
        arms.dedup();
        arms
    };
    for launch in [0, 2] {
        let mut back = order(launch + 1);
        back.reverse();
        assert_eq!(order(launch), back);
        assert_eq!(back.len(), 2);
    }
    let progress = &kept.ran.stderr;
    assert!(
        progress.contains("all_reduce, arm p2p-off, launch 4"),
        "{progress}"
    );
}

#[test]
fn an_arm_that_hangs_is_left_alone_and_the_others_are_measured() {
    let scratch = Scratch::new();
    let mut described = two_gpus();
    // LL is the faster one and hangs; Simple is what is left without it.
    described.collective[0].protocol = Some(Protocol::Ll);
    let mut simple = flat(CollectiveKind::AllReduce, 70.0);
    simple.protocol = Some(Protocol::Simple);
    described.collective.push(simple);
    described.fault = vec![Fault::CollectiveHang {
        rank: 1,
        after_calls: 0,
        protocol: Some(Protocol::Ll),
    }];
    let arms = [
        "--arm",
        "no-ll: NCCL_PROTO=^LL",
        "--sizes",
        "4K,8K,16K,32K,64K",
    ];
    let kept = scratch.soft(
        &described,
        &[
            &arms[..],
            &["--samples", "6", "--modes", "graph", "--deadline", "3"],
        ]
        .concat(),
    );
    assert_eq!(kept.ran.code, 3, "{}", kept.ran.stderr);
    let baseline = of_arm(&kept, "baseline");
    assert_eq!(baseline.len(), 5);
    // Two upwards, two downwards, and the one between them is left alone.
    for point in &baseline[..4] {
        assert!(no_progress(&point.outcome).is_some(), "{:?}", point.outcome);
    }
    assert!(
        matches!(&baseline[4].outcome, CollectiveOutcome::Skipped { reason } if reason.contains("4 times in a row")),
        "{:?}",
        baseline[4].outcome
    );
    let without = of_arm(&kept, "no-ll");
    assert_eq!(without.len(), 5);
    for point in without {
        is_about(exact_us(&point.outcome), 70.0);
    }
}

#[test]
fn an_arms_variable_outranks_that_of_the_environment_and_nothing_else_of_it_is_kept() {
    let scratch = Scratch::new();
    let arms = ["--arm", "on: NCCL_P2P_DISABLE=0", "--arm", "as-it-is:"];
    let arguments = scratch.on(&two_transports(), &[&QUICK[..], &arms[..]].concat());
    let mut command = scratch.program(arguments);
    command
        .env("NCCL_P2P_DISABLE", "1")
        .env("HF_TOKEN", "canary-in-the-environment")
        .env("NCCL_API_KEY", "canary-in-the-environment");
    let ran = super::common::Ran::of(command.output().unwrap());
    let kept = scratch.left(ran);
    assert_eq!(kept.ran.code, 0, "{}", kept.ran.stderr);
    for point in of_arm(&kept, "on") {
        is_about(exact_us(&point.outcome), 50.0);
    }
    for point in of_arm(&kept, "as-it-is") {
        is_about(exact_us(&point.outcome), 90.0);
    }
    let files = ["out/record.json", "out/journal.jsonl"];
    let texts = files.map(|file| std::fs::read_to_string(scratch.join(file)).unwrap());
    for text in texts.iter().chain([&kept.ran.stdout, &kept.ran.stderr]) {
        assert!(!text.contains("canary"), "{text}");
    }
}
