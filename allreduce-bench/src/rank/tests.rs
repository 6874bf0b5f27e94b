//! Two ranks as threads on host memory: every call that there is gives the exact result and a time in each mode.

use device::collectives::UniqueId;
use device::host::HostCollectives;
use record::quantity::Gate;
use record::{CallMode, CollectiveKind, ElementType, Verification};

use super::bench::Bench;
use crate::messages::{Job, RankReply};

type Rank = Bench<HostCollectives>;

/// Does the same as rank 0 and as rank 1, and gives what both gave.
fn both<T: Send>(work: impl Fn(&mut Rank) -> T + Sync) -> [T; 2] {
    let (send, receive) = std::sync::mpsc::channel::<UniqueId>();
    let opened = || Rank::open(0, None).unwrap().0;
    std::thread::scope(|scope| {
        let first = scope.spawn(|| {
            let mut bench = opened();
            let id = bench.unique_id().unwrap();
            send.send(id.clone()).unwrap();
            bench.join(&id, 2, 0).unwrap();
            work(&mut bench)
        });
        let mut bench = opened();
        bench.join(&receive.recv().unwrap(), 2, 1).unwrap();
        let second = work(&mut bench);
        [first.join().unwrap(), second]
    })
}

fn job(kind: CollectiveKind, element: ElementType) -> Job {
    Job {
        kind,
        element,
        bytes_per_rank: 4096,
        verify: true,
    }
}

fn verification(reply: RankReply) -> Verification {
    match reply {
        RankReply::Prepared { verification } => verification,
        other => panic!("{other:?}"),
    }
}

fn timed(reply: RankReply) -> (Vec<f64>, Vec<f64>, Gate) {
    match reply {
        RankReply::Timed {
            microseconds,
            gap_microseconds,
            gate,
        } => (microseconds, gap_microseconds, gate),
        other => panic!("{other:?}"),
    }
}

/// Prepares, takes two samples of three calls back to back, and compares the last result.
fn measured(bench: &mut Rank, job: Job) -> [Verification; 2] {
    let prepared = verification(bench.prepare(job, &mut |_| ()).unwrap());
    let reply = bench.time(CallMode::BackToBack, (3, 2), None, &mut |_| ());
    let (microseconds, ..) = timed(reply.unwrap());
    assert_eq!(microseconds.len(), 2, "{job:?}");
    [prepared, bench.check(&mut |_| ()).unwrap()]
}

#[test]
fn every_operation_is_right_in_every_type() {
    for of in both(|bench| {
        let mut seen = Vec::new();
        for kind in &CollectiveKind::ALL[..3] {
            for element in [ElementType::F32, ElementType::F16, ElementType::Bf16] {
                seen.push((*kind, element, measured(bench, job(*kind, element))));
            }
        }
        seen
    }) {
        assert_eq!(of.len(), 9);
        for (kind, element, seen) in of {
            let passed = [Verification::Passed, Verification::Passed];
            assert_eq!(seen, passed, "{kind} {element}");
        }
    }
}

#[test]
fn each_mode_says_what_it_took_and_what_held_it() {
    for of in both(|bench| {
        // A gap walks through half the pool and 4 MiB.
        bench.pool = 1 << 20;
        let job = job(CollectiveKind::AllReduce, ElementType::F32);
        let prepared = verification(bench.prepare(job, &mut |_| ()).unwrap());
        assert_eq!(prepared, Verification::Passed);
        CallMode::ALL.map(|mode| {
            let gap_us = (mode == CallMode::Interleaved).then_some(20.0);
            bench.time(mode, (4, 3), gap_us, &mut |_| ()).unwrap()
        })
    }) {
        let [synced, queued, graph, interleaved] = of;
        let (microseconds, gaps, gate) = timed(synced);
        assert_eq!((microseconds.len(), gaps.len(), gate), (3, 0, Gate::None));
        let (microseconds, gaps, gate) = timed(queued);
        assert_eq!(
            (microseconds.len(), gaps.len(), gate),
            (3, 0, Gate::HeldQueue)
        );
        assert!(
            matches!(&graph, RankReply::NotThere { reason } if reason.contains("no graphs")),
            "{graph:?}"
        );
        let (microseconds, gaps, gate) = timed(interleaved);
        assert_eq!(
            (microseconds.len(), gaps.len(), gate),
            (3, 3, Gate::HeldQueue)
        );
        assert!(gaps.iter().all(|gap| *gap > 0.0), "{gaps:?}");
    }
}

#[test]
fn a_result_that_is_not_asked_for_is_not_called_right() {
    let job = Job {
        verify: false,
        ..job(CollectiveKind::AllReduce, ElementType::F32)
    };
    for seen in both(|bench| measured(bench, job)) {
        assert_eq!(seen, [Verification::NotAsked, Verification::NotAsked]);
    }
}
