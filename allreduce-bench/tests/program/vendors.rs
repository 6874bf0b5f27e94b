//! What is different from vendor to vendor and from box to box: hangs in one protocol, devices that do not reach each other, MIG.

use boxfile::{BoxFile, Fault, Protocol};
use record::{CallMode, CollectiveOutcome, TransportFacts};

use super::common::{Kept, Ran, Scratch, exact_us, no_progress};
use super::known::{Errors, Limited, WITHOUT_NOISE};

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

fn run(described: &BoxFile, more: &[&str], variables: &[(&str, &str)]) -> Kept {
    let scratch = Scratch::new();
    let mut command = scratch.program(scratch.on(described, &[&QUICK[..], more].concat()));
    command.envs(variables.iter().copied());
    scratch.left(Ran::of(command.output().unwrap()))
}

/// What the logged run told.
fn logged(kept: &Kept) -> &TransportFacts {
    let facts = kept.collectives().transports.first();
    facts.unwrap_or_else(|| panic!("none: {}", kept.ran.stderr))
}

/// Whether every channel goes so, in the record.
fn goes_by(kept: &Kept, via: &str) {
    let facts = logged(kept);
    assert!(!facts.channels.is_empty(), "{facts:?}");
    let all = facts.channels.iter().all(|channel| channel.via == via);
    assert!(all, "{facts:?}");
}

/// Whether a rule that explains the transport names this, in the record.
fn because(kept: &Kept, names: &str) {
    let facts = logged(kept);
    let reasons = serde_json::to_string(&facts.reasons).unwrap();
    assert!(reasons.contains(names), "no `{names}` in {facts:?}");
}

#[test]
fn a_hang_in_one_protocol_leaves_the_sizes_that_do_not_take_it() {
    // As the box's file says of the driver's hang.
    let mut described = shipped("r9700-x16");
    described.fault = vec![Fault::CollectiveHang {
        rank: 1,
        after_calls: 0,
        protocol: Some(Protocol::Ll),
    }];
    // LL is faster up to 512 KiB (38.8 us against 45.6 us), Simple from 1 MiB on (57.7 us against 60.5 us).
    let sizes = ["--sizes", "4K,16K,64K,256K,512K,1M,4M"];
    let kept = run(&described, &sizes, &[]);
    assert_eq!(kept.ran.code, 3, "{}", kept.ran.stderr);
    let kib_where = |is: fn(&CollectiveOutcome) -> bool| -> Vec<u64> {
        let points = kept.collectives().points.iter();
        let points = points.filter(|point| is(&point.outcome));
        points.map(|point| point.bytes_per_rank >> 10).collect()
    };
    // Two upwards, then downwards from the largest: two that take Simple, and two that hang; one is left out.
    let hung = kib_where(|outcome| no_progress(outcome).is_some());
    let measured = kib_where(|outcome| matches!(outcome, CollectiveOutcome::Measured { .. }));
    assert_eq!((hung, measured), (vec![4, 16, 512, 256], vec![4096, 1024]));
    let choices = &logged(&kept).choices;
    assert!(!choices.is_empty() && choices.iter().all(|choice| choice.protocol == "SIMPLE"));
    // The variable that keeps the library from it.
    let kept = run(&described, &sizes, &[("NCCL_PROTO", "Simple")]);
    let simple = Limited {
        through_host: false,
        only: Some(Protocol::Simple),
    };
    Errors::default().judge(&kept, &described, (simple, WITHOUT_NOISE));
}

#[test]
fn metax_has_its_own_library_and_its_own_variables() {
    let described = shipped("mxc500x4");
    let more = ["--gpus", "0,1", "--sizes", "4K,256K"];
    let kept = run(&described, &more, &[("NCCL_P2P_DISABLE", "1")]);
    assert_eq!(kept.collectives().library.as_ref().unwrap().name, "mccl");
    // Its tables have no transport, and so are for both.
    Errors::default().judge(&kept, &described, (Limited::default(), WITHOUT_NOISE));
    goes_by(&kept, "P2P/IPC");
    let off = run(&described, &more, &[("MCCL_P2P_DISABLE", "1")]);
    let channels = &logged(&off).channels;
    assert!(
        channels
            .iter()
            .all(|channel| channel.via.starts_with("SHM"))
    );
    because(&off, "MCCL_P2P_DISABLE=1");
}

#[test]
fn devices_that_do_not_reach_each_other_go_through_host_memory_and_the_rule_says_so() {
    let mut described = shipped("l40x4");
    described.fault = vec![
        Fault::PeerDenied { pair: [0, 1] },
        Fault::PeerDenied { pair: [1, 0] },
    ];
    let kept = run(&described, &["--gpus", "0,1", "--sizes", "4K,1M"], &[]);
    let limited = Limited {
        through_host: true,
        only: None,
    };
    Errors::default().judge(&kept, &described, (limited, WITHOUT_NOISE));
    goes_by(&kept, "SHM/direct");
    because(&kept, "peer-access-denied");
}

#[test]
fn instances_of_mig_go_through_host_memory_and_the_rule_names_mig() {
    let described = shipped("rtxpro6000-mig");
    let kept = run(&described, &["--sizes", "4K,1M"], &[]);
    let limited = Limited {
        through_host: true,
        only: None,
    };
    Errors::default().judge(&kept, &described, (limited, WITHOUT_NOISE));
    goes_by(&kept, "SHM/direct");
    because(&kept, "\"mig\"");
}

#[test]
fn a_variable_against_direct_access_takes_the_times_through_host_memory() {
    let described = shipped("l40x4");
    let more = ["--tp", "2", "--sizes", "4K,1M"];
    // 1 MiB: 74.8 us directly and 89.7 us through host memory.
    for (variables, through_host, us) in [
        (&[][..], false, 74.8),
        (&[("NCCL_P2P_DISABLE", "1")], true, 89.7),
    ] {
        let kept = run(&described, &more, variables);
        let limited = Limited {
            through_host,
            only: None,
        };
        Errors::default().judge(&kept, &described, (limited, WITHOUT_NOISE));
        let measured = exact_us(kept.reduced(1 << 20, CallMode::BackToBack));
        assert!((measured - us).abs() < 0.1, "{measured}");
        if through_host {
            goes_by(&kept, "SHM/direct");
            because(&kept, "NCCL_P2P_DISABLE=1");
        } else {
            goes_by(&kept, "P2P/CUMEM");
        }
    }
}
