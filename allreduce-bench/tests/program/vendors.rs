//! What is different from vendor to vendor and from box to box: hangs in one protocol, devices that do not reach each other, MIG,
//! and every fault of the library with the words of each vendor's own.

use boxfile::{BoxFile, CollectiveKind, Fault, Protocol, Transport};
use record::{CallMode, CollectiveOutcome, TransportFacts, Verification};

use super::common::{Kept, Scratch, exact_us, flat, no_progress};
use super::known::{Errors, Limited, WITHOUT_NOISE, expected_us};

/// The modes of these tests, and how long a hang may last.
const QUICK: [&str; 6] = [
    "--samples",
    "6",
    "--modes",
    "back-to-back",
    "--deadline",
    "3",
];

fn shipped(name: &str) -> BoxFile {
    let mut described = BoxFile::builtin(name).unwrap();
    described.noise = None;
    described
}

fn run(described: &BoxFile, more: &[&str]) -> Kept {
    Scratch::new().soft(described, &[&QUICK[..], more].concat())
}

/// What the logged run of an arm told.
fn logged<'k>(kept: &'k Kept, arm: Option<&str>) -> &'k TransportFacts {
    let mut transports = kept.collectives().transports.iter();
    let facts = transports.find(|facts| facts.arm.as_deref() == arm);
    facts.unwrap_or_else(|| panic!("no {arm:?}: {}", kept.ran.stderr))
}

/// Whether every channel goes so, in the record.
fn goes_by(kept: &Kept, arm: Option<&str>, via: &str) {
    let facts = logged(kept, arm);
    assert!(!facts.channels.is_empty(), "{facts:?}");
    let all = facts.channels.iter().all(|channel| channel.via == via);
    assert!(all, "{facts:?}");
}

/// Whether a rule that explains the transport names this, in the record.
fn because(kept: &Kept, arm: Option<&str>, names: &str) {
    let facts = logged(kept, arm);
    let reasons = serde_json::to_string(&facts.reasons).unwrap();
    assert!(reasons.contains(names), "no `{names}` in {facts:?}");
}

#[test]
fn a_hang_in_one_protocol_leaves_the_sizes_and_the_arm_that_do_not_take_it() {
    // As the box's file says of the driver's hang.
    let mut described = shipped("r9700-x16");
    described.fault = vec![Fault::CollectiveHang {
        rank: 1,
        after_calls: 0,
        protocol: Some(Protocol::Ll),
    }];
    // LL is faster up to 512 KiB (38.8 us against 45.6 us), Simple from 1 MiB on (57.7 us against 60.5 us).
    let sizes = ["--sizes", "4K,16K,64K,256K,512K,1M,4M"];
    let arm = ["--arm", "simple: NCCL_PROTO=Simple"];
    let kept = run(&described, &[&arm[..], &sizes[..]].concat());
    assert_eq!(kept.ran.code, 3, "{}", kept.ran.stderr);
    let mut errors = Errors::default();
    let mut hung = Vec::new();
    for point in &kept.collectives().points {
        let is_simple = point.arm.as_deref() == Some("simple");
        match &point.outcome {
            outcome if !is_simple && no_progress(outcome).is_some() => {
                hung.push(point.bytes_per_rank >> 10);
                continue;
            }
            CollectiveOutcome::Skipped { reason } if !is_simple => {
                assert!(reason.contains("from 4 KiB to 512 KiB"), "{reason}");
                assert_eq!(point.bytes_per_rank, 64 << 10);
                continue;
            }
            _ => {}
        }
        let limited = Limited {
            through_host: false,
            only: is_simple.then_some(Protocol::Simple),
        };
        let expected = expected_us(&described, point, limited);
        errors.take(point, expected, WITHOUT_NOISE, "r9700-x16");
    }
    // Two upwards, then downwards from the largest: two that take Simple, and two that hang; one is left out.
    assert_eq!(hung, [4, 16, 512, 256]);
    // Of twice seven points four hang and one is left out.
    assert_eq!((kept.collectives().points.len(), errors.count), (14, 9));
    let points = &kept.collectives().points;
    let is_hang = |outcome: &CollectiveOutcome| matches!(outcome, CollectiveOutcome::Hang { .. });
    // On a machine that starves none is told to be one.
    let has_hung = points.iter().any(|point| is_hang(&point.outcome));
    assert_eq!(
        kept.ran.stdout.contains("HANG"),
        has_hung,
        "{}",
        kept.ran.stdout
    );
    for arm in ["baseline", "simple"] {
        let choices = &logged(&kept, Some(arm)).choices;
        assert!(!choices.is_empty() && choices.iter().all(|choice| choice.protocol == "SIMPLE"));
    }
}

#[test]
fn metax_has_its_own_library_and_its_own_variables() {
    let described = shipped("mxc500x4");
    let arms = [
        "--arm",
        "p2p-off: MCCL_P2P_DISABLE=1",
        "--arm",
        "not-its-own: NCCL_P2P_DISABLE=1",
    ];
    let kept = run(
        &described,
        &[&arms[..], &["--gpus", "0,1", "--sizes", "4K,256K"]].concat(),
    );
    assert_eq!(kept.ran.code, 0, "{}{}", kept.ran.stdout, kept.ran.stderr);
    assert_eq!(kept.collectives().library.as_ref().unwrap().name, "mccl");
    // Its tables have no transport, and so are for both.
    Errors::default().judge(&kept, &described, (Limited::default(), WITHOUT_NOISE));
    goes_by(&kept, Some("baseline"), "P2P/IPC");
    goes_by(&kept, Some("not-its-own"), "P2P/IPC");
    let off = logged(&kept, Some("p2p-off"));
    assert!(
        off.channels
            .iter()
            .all(|channel| channel.via.starts_with("SHM"))
    );
    because(&kept, Some("p2p-off"), "MCCL_P2P_DISABLE=1");
}

#[test]
fn devices_that_do_not_reach_each_other_go_through_host_memory_and_the_rule_says_so() {
    let mut described = shipped("l40x4");
    described.fault = vec![
        Fault::PeerDenied { pair: [0, 1] },
        Fault::PeerDenied { pair: [1, 0] },
    ];
    let kept = run(&described, &["--gpus", "0,1", "--sizes", "4K,1M"]);
    let limited = Limited {
        through_host: true,
        only: None,
    };
    Errors::default().judge(&kept, &described, (limited, WITHOUT_NOISE));
    goes_by(&kept, None, "SHM/direct");
    because(&kept, None, "peer-access-denied");
}

#[test]
fn instances_of_mig_go_through_host_memory_and_the_rule_names_mig() {
    let described = shipped("rtxpro6000-mig");
    let kept = run(&described, &["--sizes", "4K,1M"]);
    let limited = Limited {
        through_host: true,
        only: None,
    };
    Errors::default().judge(&kept, &described, (limited, WITHOUT_NOISE));
    goes_by(&kept, None, "SHM/direct");
    because(&kept, None, "\"mig\"");
}

#[test]
fn an_arm_without_direct_access_takes_the_times_through_host_memory() {
    let described = shipped("l40x4");
    let arm = ["--arm", "p2p-off: NCCL_P2P_DISABLE=1", "--tp", "2"];
    let kept = run(&described, &[&arm[..], &["--sizes", "4K,1M"]].concat());
    assert_eq!(kept.ran.code, 0, "{}", kept.ran.stderr);
    let mut errors = Errors::default();
    for point in &kept.collectives().points {
        let limited = Limited {
            through_host: point.arm.as_deref() == Some("p2p-off"),
            only: None,
        };
        let expected = expected_us(&described, point, limited);
        errors.take(point, expected, WITHOUT_NOISE, "l40x4");
    }
    assert_eq!(errors.count, 4);
    // 1 MiB: 74.8 us directly and 89.7 us through host memory.
    let of = |arm: &str| {
        let mut points = kept.collectives().points.iter();
        let is_it = |point: &&record::CollectivePoint| {
            (point.arm.as_deref(), point.bytes_per_rank) == (Some(arm), 1 << 20)
        };
        exact_us(&points.find(is_it).unwrap().outcome)
    };
    assert!((of("baseline") - 74.8).abs() < 0.1 && (of("p2p-off") - 89.7).abs() < 0.1);
    goes_by(&kept, Some("baseline"), "P2P/CUMEM");
    goes_by(&kept, Some("p2p-off"), "SHM/direct");
    because(&kept, Some("p2p-off"), "NCCL_P2P_DISABLE=1");
}

/// Two devices of each vendor whose all-reduce takes 50 us.
fn each_vendors() -> [BoxFile; 3] {
    ["l40x4", "r9700-x8", "mxc500x4"].map(|name| {
        let mut described = shipped(name);
        let library = described.collective_library().unwrap();
        let mut table = flat(CollectiveKind::AllReduce, 50.0);
        table.library = library;
        table.transport = Some(Transport::P2p);
        described.collective = vec![table];
        described
    })
}

/// Calls up to the second of three sizes: at each 1 to prepare and 1 + 4 to find out how long a call takes, which is 4 in 200 us;
/// then 6 samples of 1 + 4. That is 36, and ten more are amid the second size.
const AMID_THE_SECOND: u64 = 36 + 10;

#[test]
fn every_fault_of_every_vendors_library_is_named_and_what_remains_is_measured() {
    let (rank, after_calls) = (1, AMID_THE_SECOND);
    // ncclSystemError is 2.
    let cannot_join = Fault::CollectiveInitFailure { rank, code: 2 };
    for described in each_vendors() {
        let with = |fault: &Fault| {
            let mut described = described.clone();
            described.fault = vec![fault.clone()];
            run(&described, &["--gpus", "0,1", "--sizes", "4K,8K,16K"])
        };
        let of = |kept: &Kept, kib: u64| kept.reduced(kib << 10, CallMode::BackToBack).clone();
        let name = &described.name;

        let kept = with(&Fault::CollectiveHang {
            rank,
            after_calls,
            protocol: None,
        });
        assert_eq!(kept.ran.code, 3, "{name}: {}", kept.ran.stderr);
        let [first, second, third] = [4, 8, 16].map(|kib| of(&kept, kib));
        assert!(
            no_progress(&second).is_some_and(|said| said.contains("rank 1")),
            "{name}: {second:?}"
        );
        assert!((exact_us(&first) - 50.0).abs() < 0.1 && (exact_us(&third) - 50.0).abs() < 0.1);

        let kept = with(&Fault::CollectiveDeath { rank, after_calls });
        assert_eq!(kept.ran.code, 3, "{name}: {}", kept.ran.stderr);
        let [first, second, third] = [4, 8, 16].map(|kib| of(&kept, kib));
        assert!(
            matches!(&second, CollectiveOutcome::Failed { reason } if reason.contains("rank 1") && reason.contains("signal: 9")),
            "{name}: {second:?}"
        );
        assert!((exact_us(&first) - 50.0).abs() < 0.1 && (exact_us(&third) - 50.0).abs() < 0.1);

        let kept = with(&Fault::CollectiveWrong {
            rank,
            after_calls,
            captured: false,
        });
        assert_eq!(kept.ran.code, 5, "{name}: {}", kept.ran.stderr);
        exact_us(&of(&kept, 4));
        for kib in [8, 16] {
            let CollectiveOutcome::Measured { verification, .. } = of(&kept, kib) else {
                panic!("{name}: {:?}", of(&kept, kib));
            };
            assert!(
                matches!(verification, Verification::WrongData { .. }),
                "{name}"
            );
        }

        let kept = with(&cannot_join);
        assert_eq!(kept.ran.code, 3, "{name}: {}", kept.ran.stderr);
        let outcome = of(&kept, 4);
        assert!(
            matches!(&outcome, CollectiveOutcome::Failed { reason } if reason.contains("rank 1: joining the communicator")),
            "{name}: {outcome:?}"
        );
        // No later size is passed over in silence.
        assert_eq!(kept.collectives().points.len(), 3, "{name}");
    }
}
