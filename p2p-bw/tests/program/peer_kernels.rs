//! What the peer probe does with kernels: their verdict beside that of copies, and access that a driver stages for them.

use boxfile::{BoxFile, Fault, HangOp, Peer};
use record::caveat::{Caveat, PeerAccess};
use record::{KernelAccess, PeerStep, PeerVerdict, StepOutcome};

use super::common::{Kept, Scratch, figure, gpu, two_gpus, with};
use super::peers::{not_applicable, verdicts};

fn run(described: &BoxFile) -> Kept {
    Scratch::new().soft(described, &["--cases", "d2d_write_ce", "--deadline", "2"])
}

/// Two GPUs whose kernels reach each other's memory at these rates, in GB/s.
fn kernels_reach(read: f64, write: f64) -> BoxFile {
    let mut described = two_gpus();
    described.peer = vec![Peer {
        pair: [0, 1],
        access: Some(true),
        fabric: None,
        gbps: Some(figure(24.0)),
        latency_us: Some(figure(2.0)),
        kernel_read: Some(figure(read)),
        kernel_write: Some(figure(write)),
        chase_ns: None,
        segments: None,
        staged: false,
    }];
    described
}

fn staged_by_the_driver(kept: &Kept) -> Vec<&Caveat> {
    let is_it = |caveat: &&Caveat| matches!(caveat, Caveat::KernelsStaged { .. });
    kept.links().caveats.iter().filter(is_it).collect()
}

#[test]
fn a_probe_reaches_the_peer_by_copies_graphs_and_kernels() {
    let kept = run(&two_gpus());
    let steps = &kept.probe(0, 1).steps;
    let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "access",
            "small_copies_without_access",
            "enable",
            "write",
            "read",
            "small_copies",
            "graph",
            "kernel_write",
            "kernel_read",
            "kernel_graph",
        ]
    );
    let bad = |step: &&PeerStep| {
        !matches!(
            step.outcome,
            StepOutcome::Passed { .. } | StepOutcome::Timed { .. }
        )
    };
    assert_eq!(steps.iter().find(bad), None);
    assert_eq!(kept.probe(0, 1).kernels, KernelAccess::Usable);
    assert!(staged_by_the_driver(&kept).is_empty());
    assert!(kept.probe(0, 1).surroundings.is_some());
}

#[test]
fn kernels_whose_reads_the_driver_stages_are_told_from_copies() {
    // 1.6 GB/s is less than a third of the copy engine's 24; writes at 20 are not.
    let described = kernels_reach(1.6, 20.0);
    let kept = Scratch::new().soft(
        &described,
        &["--cases", "d2d_read_*,d2d_write_*", "--sizes", "4M"],
    );
    assert_eq!(kept.ran.code, 0, "{}", kept.ran.stderr);
    assert_eq!(verdicts(&kept), [PeerVerdict::Direct, PeerVerdict::Direct]);
    let [
        Caveat::KernelsStaged {
            access,
            pairs,
            kernel_gb_per_s,
            copy_gb_per_s,
        },
    ] = staged_by_the_driver(&kept)[..]
    else {
        panic!("{:?}", kept.links().caveats);
    };
    assert_eq!(*access, PeerAccess::Reads);
    assert_eq!(pairs, &["GPU0->GPU1", "GPU1->GPU0"]);
    // At most what the box's figures say: a start-up time comes on top of the bytes.
    assert!(*kernel_gb_per_s <= 1.6 && *kernel_gb_per_s > 1.5);
    assert!(*copy_gb_per_s <= 24.0 && *copy_gb_per_s > 20.0);
}

#[test]
fn a_kernel_that_never_ends_is_a_hang_of_the_pairs_it_ran_for() {
    let fault = Fault::Hang {
        op: HangOp::Kernel,
        device: Some(0),
        pair: None,
        after_copies: 0,
    };
    let kept = run(&with(fault));
    assert_eq!(kept.ran.code, 3, "{}", kept.ran.stderr);
    assert_eq!(verdicts(&kept), [PeerVerdict::Hang, PeerVerdict::Direct]);
    let probe = kept.probe(0, 1);
    assert!(
        probe.rests_on.contains("step `kernel_write`"),
        "{}",
        probe.rests_on
    );
    assert!(matches!(probe.kernels, KernelAccess::Unusable { .. }));
    assert_eq!(kept.probe(1, 0).kernels, KernelAccess::Usable);
    not_applicable(&kept, "d2d_write_ce", 0, 1);
    assert!(kept.is_measured("d2d_write_ce", gpu(1), gpu(0)));
}

#[test]
fn a_device_that_takes_no_kernels_keeps_its_copies() {
    let mut described = two_gpus();
    described.device[0].kernels = None;
    let kept = run(&described);
    assert_eq!(kept.ran.code, 0, "{}", kept.ran.stderr);
    assert_eq!(verdicts(&kept), [PeerVerdict::Direct, PeerVerdict::Direct]);
    let KernelAccess::Untested { reason } = &kept.probe(0, 1).kernels else {
        panic!("{:?}", kept.probe(0, 1));
    };
    let steps = &kept.probe(0, 1).steps;
    let is_load = |step: &&PeerStep| step.name == "load_kernels";
    let load = steps.iter().find(is_load).unwrap();
    assert!(matches!(&load.outcome, StepOutcome::Skipped { reason: said } if said == reason));
    assert_eq!(kept.probe(1, 0).kernels, KernelAccess::Usable);
    assert!(kept.is_measured("d2d_write_ce", gpu(0), gpu(1)));
}
