//! Two ranks as threads on host memory: every call that there is gives the exact result and a time in each mode.

use std::ffi::OsString;

use device::collectives::UniqueId;
use device::host::HostCollectives;
use inventory::Found;
use record::Mig;
use record::quantity::Gate;
use record::{CallMode, CollectiveKind, ElementType, Verification};

use super::bench::Bench;
use super::places;
use crate::messages::{Job, Open, RankReply};

type Rank = Bench<HostCollectives>;

/// Does the same as rank 0 and as rank 1, and gives what both gave.
fn both<T: Send>(work: impl Fn(&mut Rank) -> T + Sync) -> [T; 2] {
    let (send, receive) = std::sync::mpsc::channel::<UniqueId>();
    let opened = |makes_id| {
        let (backend, library) = (inventory::Built::Host, None);
        Rank::open(&Open {
            backend,
            ordinal: 0,
            library,
            makes_id,
        })
        .unwrap()
    };
    std::thread::scope(|scope| {
        let first = scope.spawn(|| {
            let (mut bench, facts) = opened(true);
            let id = facts.id.unwrap();
            send.send(id.clone()).unwrap();
            bench.join(&id, 2, 0).unwrap();
            work(&mut bench)
        });
        let (mut bench, _) = opened(false);
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
    }
}

fn verification(reply: RankReply) -> Verification {
    match reply {
        RankReply::Compared { verification, .. } => verification,
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
fn measured(bench: &mut Rank, job: Job, verify: bool) -> [Verification; 2] {
    let prepared = verification(bench.prepare(job, verify, &mut |_| ()).unwrap());
    let reply = bench.time(CallMode::BackToBack, (3, 2), None, &mut |_| ());
    let (microseconds, ..) = timed(reply.unwrap());
    assert_eq!(microseconds.len(), 2, "{job:?}");
    [prepared, verification(bench.check(&mut |_| ()).unwrap())]
}

#[test]
fn every_operation_is_right_in_every_type() {
    for of in both(|bench| {
        let mut seen = Vec::new();
        for kind in &CollectiveKind::ALL[..3] {
            for element in [ElementType::F32, ElementType::F16, ElementType::Bf16] {
                seen.push((*kind, element, measured(bench, job(*kind, element), true)));
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
        let prepared = verification(bench.prepare(job, true, &mut |_| ()).unwrap());
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
    let job = job(CollectiveKind::AllReduce, ElementType::F32);
    for seen in both(|bench| measured(bench, job, false)) {
        assert_eq!(seen, [Verification::NotAsked, Verification::NotAsked]);
    }
}

#[test]
fn ranks_on_instances_see_their_own_and_may_share_a_gpu() {
    let device = |ordinal, uuid: &str, parent: Option<&str>| Found {
        ordinal,
        uuid: Some(uuid.to_owned()),
        mig: parent.map(|parent| Mig {
            profile: None,
            parent_uuid: Some(parent.to_owned()),
        }),
        ..Found::default()
    };
    let found = [
        device(4, "MIG-a", Some("GPU-0")),
        device(5, "MIG-b", Some("GPU-0")),
        device(6, "MIG-c", Some("GPU-1")),
        device(7, "GPU-2", None),
    ];
    let pair = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
    let own = |uuid| pair("CUDA_VISIBLE_DEVICES", uuid);
    let shared = pair("NCCL_MULTI_RANK_GPU_ENABLE", "1");
    let expected = [
        (0, vec![own("MIG-a"), shared.clone()]),
        (0, vec![own("MIG-b"), shared]),
        (0, vec![own("MIG-c")]),
        (7, Vec::new()),
    ];
    assert_eq!(places(&found, false), expected);
    assert_eq!(places(&found, true)[1], (5, Vec::new()));
}
