//! All-reduces of several modes: captured graphs have a check of their own, and a fault of any mode is reported.

use record::{CallMode, CollectiveOutcome, CollectivePoint, FailureKind, Payload};

use super::{came, good, judged, verdict};
use crate::report::{BoxVerdict, Check, ReasonCode as R, Verdict};

/// A good box, with a further mode in which every all-reduce came to what `outcome` makes of its host-synced one.
fn with(mode: CallMode, outcome: impl Fn(&CollectivePoint) -> CollectiveOutcome) -> Vec<Check> {
    let mut findings = good();
    let Payload::Collectives(all) = &mut findings.collectives[0].it.payload else {
        panic!("{:?}", findings.collectives);
    };
    let more = all.points.iter().map(|point| CollectivePoint {
        mode,
        outcome: outcome(point),
        ..point.clone()
    });
    let more: Vec<CollectivePoint> = more.collect();
    all.points.extend(more);
    judged("l40x4", &findings)
}

#[test]
fn a_graph_is_held_against_the_limits_of_the_other_calls() {
    // 5.1 GB/s of bus bandwidth over 2 are 2.55, below the 3.5 of the profile; 16 us times 2 are far below 60.
    let checks = with(CallMode::Graph, |point| {
        let mut outcome = point.outcome.clone();
        if let CollectiveOutcome::Measured { time, .. } = &mut outcome {
            time.samples.iter_mut().for_each(|sample| *sample *= 2.0);
        }
        outcome
    });
    let (pass, fail) = (Verdict::Pass, Verdict::Fail);
    for (id, expected) in [
        ("allreduce large graph", (fail, R::BeyondLimit)),
        ("allreduce large", (pass, R::AsExpected)),
        ("allreduce small graph", (pass, R::AsExpected)),
    ] {
        assert_eq!(came(&checks, id), expected, "{id}");
    }
    assert_eq!(verdict(&checks), BoxVerdict::Rejected);
}

#[test]
fn a_hang_of_any_mode_rejects_and_starved_ranks_do_not() {
    let hang = |_: &CollectivePoint| CollectiveOutcome::Hang {
        doing: "no progress for 20 s: rank 1 in `x`".to_owned(),
    };
    let starved = |_: &CollectivePoint| CollectiveOutcome::Failed {
        reason: FailureKind::HostBusy.of("no progress for 80 s"),
    };
    let checks = with(CallMode::Graph, hang);
    let found = came(&checks, "allreduce large graph");
    assert_eq!(found, (Verdict::Fail, R::Hang));
    assert_eq!(came(&checks, "allreduce large").0, Verdict::Pass);
    assert_eq!(verdict(&checks), BoxVerdict::Rejected);
    // Queued calls hang where those that the host waits for came to their end.
    let checks = with(CallMode::BackToBack, hang);
    let found = came(&checks, "allreduce large");
    assert_eq!(found, (Verdict::Fail, R::Hang));
    let checks = with(CallMode::Graph, starved);
    let found = came(&checks, "allreduce large graph");
    assert_eq!(found, (Verdict::Inconclusive, R::Noisy));
    assert_eq!(verdict(&checks), BoxVerdict::Inconclusive);
}
