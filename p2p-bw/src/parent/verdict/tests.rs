//! Verdicts of hand-made steps.

use record::plan::StopReason;
use record::quantity::{Gate, TimeSource, Timing, Unit};

use super::*;

fn timed(step: ProbeStep, value: f64, unit: Unit) -> PeerStep {
    let timing = Timing {
        source: TimeSource::DeviceEvent,
        gate: Gate::None,
        copies_per_sample: 100,
        warmup_copies: 100,
    };
    let quantity = Quantity::from_samples(vec![value; 10], unit, timing, StopReason::MaxSamples);
    PeerStep {
        name: step.name().to_owned(),
        outcome: StepOutcome::Timed {
            quantity: Box::new(quantity.unwrap()),
        },
    }
}

fn passed(step: ProbeStep) -> PeerStep {
    PeerStep {
        name: step.name().to_owned(),
        outcome: StepOutcome::Passed {
            seen: "all of it".to_owned(),
        },
    }
}

fn wrong(step: ProbeStep) -> PeerStep {
    PeerStep {
        name: step.name().to_owned(),
        outcome: StepOutcome::WrongData {
            seen: "byte 0".to_owned(),
        },
    }
}

/// The steps of copies, with the time of a small one with access and without.
fn copies(with: f64, without: f64) -> Vec<PeerStep> {
    vec![
        timed(
            ProbeStep::SmallCopiesWithoutAccess,
            without,
            Unit::Microseconds,
        ),
        passed(ProbeStep::Write),
        passed(ProbeStep::Read),
        timed(ProbeStep::SmallCopies, with, Unit::Microseconds),
    ]
}

fn and(mut steps: Vec<PeerStep>, more: impl IntoIterator<Item = PeerStep>) -> Vec<PeerStep> {
    steps.extend(more);
    steps
}

#[test]
fn small_copies_tell_a_staged_path_from_a_direct_one() {
    let verdict = |with, without| judge(Built::Cuda, &copies(with, without)).verdict;
    // The published pairs: 0.45 us with access and 14 us without; 14 us both ways where access is a pretence.
    assert_eq!(verdict(0.45, 14.0), PeerVerdict::Direct);
    assert_eq!(verdict(14.0, 14.0), PeerVerdict::Staged);
    // A slow CPU that needs 4 us to issue any copy is no evidence of staging.
    assert_eq!(verdict(4.0, 4.0), PeerVerdict::Direct);
}

#[test]
fn small_copies_say_nothing_where_they_do_not_heed_access() {
    // As on AMD's boxes: the same time with access and without, above the 5 us of a staged one.
    let steps = copies(21.07, 21.04);
    let judged = judge(Built::Hip, &steps);
    assert_eq!(judged.verdict, PeerVerdict::Direct);
    assert_eq!(judge(Built::Cuda, &steps).verdict, PeerVerdict::Staged);
}

#[test]
fn a_refusal_and_wrong_data_outrank_the_times() {
    let refused = PeerStep {
        name: "access".to_owned(),
        outcome: StepOutcome::Refused {
            reason: "no".to_owned(),
        },
    };
    assert_eq!(judge(Built::Cuda, &[refused]).verdict, PeerVerdict::Denied);
    let wrong = and(copies(0.4, 14.0), [wrong(ProbeStep::Graph)]);
    assert_eq!(judge(Built::Cuda, &wrong).verdict, PeerVerdict::WrongData);
}

#[test]
fn kernels_are_usable_where_their_write_and_read_arrived() {
    let both = [
        passed(ProbeStep::KernelWrite),
        passed(ProbeStep::KernelRead),
    ];
    let judged = judge(Built::Cuda, &and(copies(0.4, 14.0), both.clone()));
    assert_eq!(judged.verdict, PeerVerdict::Direct);
    assert_eq!(judged.kernels, KernelAccess::Usable);
    let replayed = [
        both[0].clone(),
        both[1].clone(),
        wrong(ProbeStep::KernelGraph),
    ];
    let judged = judge(Built::Cuda, &and(copies(0.4, 14.0), replayed));
    assert_eq!(judged.verdict, PeerVerdict::WrongData);
    assert!(judged.rests_on.starts_with("kernel_graph reported success"));
    assert!(matches!(judged.kernels, KernelAccess::Unusable { .. }));
}

#[test]
fn kernels_that_the_backend_does_not_run_are_untested_and_no_failure() {
    let skipped = PeerStep {
        name: ProbeStep::LoadKernels.name().to_owned(),
        outcome: StepOutcome::Skipped {
            reason: "no compiler".to_owned(),
        },
    };
    let judged = judge(Built::Cuda, &and(copies(0.4, 14.0), [skipped]));
    assert_eq!(judged.verdict, PeerVerdict::Direct);
    let reason = "no compiler".to_owned();
    assert_eq!(judged.kernels, KernelAccess::Untested { reason });
}

#[test]
fn a_kernel_that_fails_leaves_the_copies_and_one_that_hangs_does_not() {
    let steps = and(copies(0.4, 14.0), [passed(ProbeStep::Graph)]);
    let reason = "kernel_read: an illegal address".to_owned();
    let judged = failed(Built::Cuda, &steps, ProbeStep::KernelRead, reason.clone());
    assert_eq!(judged.verdict, PeerVerdict::Direct);
    assert_eq!(judged.kernels, KernelAccess::Unusable { reason });

    let judged = failed(
        Built::Cuda,
        &steps,
        ProbeStep::Graph,
        "graph: lost".to_owned(),
    );
    assert_eq!(judged.verdict, PeerVerdict::Failed);

    // Kernels are loaded before copies have come through.
    let steps = copies(0.4, 14.0);
    let died = "load_kernels: lost".to_owned();
    let judged = failed(
        Built::Cuda,
        &steps[..3],
        ProbeStep::LoadKernels,
        died.clone(),
    );
    assert_eq!(
        (judged.verdict, judged.rests_on),
        (PeerVerdict::Failed, died)
    );

    let judged = hang(&steps, ProbeStep::KernelWrite, "no progress".to_owned());
    assert_eq!(judged.verdict, PeerVerdict::Hang);
    assert!(matches!(judged.kernels, KernelAccess::Unusable { .. }));
    let judged = hang(&steps, ProbeStep::Enable, "no progress".to_owned());
    assert!(matches!(judged.kernels, KernelAccess::Untested { .. }));
}
