//! Tables of `allreduce-bench`.

use topology::PathType;

use super::super::record;
use super::header;
use crate::caveat::Caveat;
use crate::plan::StopReason;
use crate::quantity::{Gate, Quantity, TimeSource, Timing, Unit};
use crate::record::{
    BackendFacts, CallMode, CollectiveKind, CollectiveOutcome, CollectivePath, CollectivePoint,
    Collectives, ElementType, LibraryFacts, LinkDevice, PairPath, Payload, PlannedCollective,
    PlannedStep, Record, Simulated, Status, Verification,
};

/// Six samples around a time: median as given, interval 0.99 to 1.02 of it.
fn time(us: f64) -> Box<Quantity> {
    let timing = Timing {
        source: TimeSource::DeviceEvent,
        gate: Gate::None,
        copies_per_sample: 20,
        warmup_copies: 5,
    };
    let samples = [1.0, 0.99, 1.0, 1.01, 1.02, 0.995].map(|f| f * us).to_vec();
    Box::new(
        Quantity::from_samples(samples, Unit::Microseconds, timing, StopReason::MaxSamples)
            .unwrap(),
    )
}

fn point(bytes: u64, mode: CallMode, outcome: CollectiveOutcome) -> CollectivePoint {
    CollectivePoint {
        kind: CollectiveKind::AllReduce,
        element: ElementType::Bf16,
        bytes_per_rank: bytes,
        ranks: 2,
        mode,
        outcome,
        caveats: Vec::new(),
    }
}

fn measured(us: f64) -> CollectiveOutcome {
    CollectiveOutcome::Measured {
        time: time(us),
        verification: Verification::Passed,
    }
}

fn device(ordinal: usize) -> LinkDevice {
    LinkDevice {
        label: format!("HOST{ordinal}"),
        ordinal,
        name: "host memory".to_owned(),
        uuid: None,
        address: None,
        node: Some(0),
        memory_bytes: Some(4 << 30),
        mig: None,
        idle: None,
        loaded: None,
        max_payload_bytes: None,
        busy: None,
    }
}

fn step(batch: u32, collectives: Vec<PlannedCollective>) -> PlannedStep {
    PlannedStep {
        model: "qwen2.5-72b".to_owned(),
        engine: "vLLM 0.13.0 graph".to_owned(),
        tp: 2,
        batch,
        padded_batch: batch.next_power_of_two(),
        prefill_tokens: None,
        collectives,
    }
}

fn planned(role: &str, count: u32, bytes: u64) -> PlannedCollective {
    PlannedCollective {
        kind: CollectiveKind::AllReduce,
        role: role.to_owned(),
        count,
        bytes_per_rank: bytes,
        path: CollectivePath::Library,
        rule: "no peer access".to_owned(),
    }
}

fn whole(points: Vec<CollectivePoint>) -> Record {
    // 16 tokens of 8192 elements of 2 bytes: 256 KiB; one token: 16 KiB.
    let of = |batch, bytes| {
        step(
            batch,
            vec![
                planned("attention output", 80, bytes),
                planned("MLP output", 80, bytes),
            ],
        )
    };
    let collectives = Collectives {
        backend: Some(BackendFacts {
            name: "host".to_owned(),
            management: "none".to_owned(),
            ..BackendFacts::default()
        }),
        library: Some(LibraryFacts {
            name: "nccl".to_owned(),
            version: Some("2.29.2".to_owned()),
            file: None,
            transport: Some("SHM".to_owned()),
        }),
        devices: vec![device(0), device(1)],
        paths: vec![PairPath {
            a: 0,
            b: 1,
            path: PathType::Sys,
        }],
        steps: vec![of(1, 16 << 10), of(15, 256 << 10)],
        points,
        ..Collectives::default()
    };
    Record {
        header: header("allreduce-bench"),
        status: Status::Complete,
        exit_code: 0,
        payload: Payload::Collectives(Box::new(collectives)),
    }
}

#[test]
fn each_mode_has_a_table_with_sizes_uses_and_bandwidths() {
    // 262,144 B in 95 us are 2.759 GB/s; with two ranks busbw = algbw * 2(2-1)/2, the same.
    let made = whole(vec![
        point(16 << 10, CallMode::BackToBack, measured(20.0)),
        point(256 << 10, CallMode::BackToBack, measured(100.0)),
        point(256 << 10, CallMode::Graph, measured(95.0)),
    ]);
    insta::assert_snapshot!(record(&made), @r#"
    allreduce-bench 0.1.0, 2026-01-02T03:04:05Z, box, backend host
    library nccl 2.29.2, transport SHM; 2 ranks on HOST0, HOST1, path SYS

    Devices
             name         node  memory
      HOST0  host memory  0     4 GiB
      HOST1  host memory  0     4 GiB

    Steps whose sizes are measured
      qwen2.5-72b on vLLM 0.13.0 graph, TP2, batch 1: 160 collectives, 2.50 MiB a rank
      qwen2.5-72b on vLLM 0.13.0 graph, TP2, batch 15 padded to 16: 160 collectives, 40 MiB a rank

    all_reduce of bf16 on 2 ranks: us a call (back_to_back, mean of calls queued one after another), median ± wider side of its 95% interval
      size a rank            us         interval  n  busbw GB/s  data   used by
      16 KiB        20.00 ±2.0%   19.80 .. 20.40  6       0.819  exact  batch 1: 80 attention output + 80 MLP output
      256 KiB      100.00 ±2.0%  99.00 .. 102.00  6        2.62  exact  batch 15 padded to 16: 80 attention output + 80 MLP output

    all_reduce of bf16 on 2 ranks: us a call (graph, mean of calls in one replayed graph), median ± wider side of its 95% interval
      size a rank           us        interval  n  busbw GB/s  data   used by
      256 KiB      95.00 ±2.0%  94.05 .. 96.90  6        2.76  exact  batch 15 padded to 16: 80 attention output + 80 MLP output

    complete; exit code 0
    "#);
}

#[test]
fn wrong_data_a_hang_and_a_soft_box_cannot_be_read_as_measurements() {
    let wrong = CollectiveOutcome::Measured {
        time: time(95.0),
        verification: Verification::WrongData {
            seen: "element 3 of rank 1 is 5, the sum is 3".to_owned(),
        },
    };
    let hang = CollectiveOutcome::Hang {
        doing: "replaying the graph: no progress for 20 s".to_owned(),
    };
    let refused = CollectiveOutcome::Skipped {
        reason: "an earlier size hung".to_owned(),
    };
    let mut points = vec![
        point(16 << 10, CallMode::Graph, wrong),
        point(32 << 10, CallMode::Graph, hang),
        point(64 << 10, CallMode::Graph, refused),
    ];
    points[0].caveats.push(Caveat::NoGate);
    let mut made = whole(points);
    made.exit_code = 5;
    made.header.simulated = Some(Simulated {
        box_name: "rtxpro6000-mig".to_owned(),
    });
    let csv = crate::render::csv::record(&made);
    assert!(!csv.contains(",95,"), "a time of wrong data:\n{csv}");
    assert!(
        csv.lines()
            .skip(1)
            .all(|line| line.ends_with(",complete,rtxpro6000-mig")),
        "{csv}"
    );
    let text = record(&made);
    assert!(!text.contains("95.00"), "a time of wrong data:\n{text}");
    insta::assert_snapshot!(text, @r#"
    SIMULATED on soft box rtxpro6000-mig: arithmetic of a box file, not a measurement
    allreduce-bench 0.1.0, 2026-01-02T03:04:05Z, box, backend host
    library nccl 2.29.2, transport SHM; 2 ranks on HOST0, HOST1, path SYS

    Devices
             name         node  memory
      HOST0  host memory  0     4 GiB
      HOST1  host memory  0     4 GiB

    Steps whose sizes are measured
      qwen2.5-72b on vLLM 0.13.0 graph, TP2, batch 1: 160 collectives, 2.50 MiB a rank
      qwen2.5-72b on vLLM 0.13.0 graph, TP2, batch 15 padded to 16: 160 collectives, 40 MiB a rank

    all_reduce of bf16 on 2 ranks [simulated]: us a call (graph, mean of calls in one replayed graph), median ± wider side of its 95% interval
      size a rank          us  interval  n  busbw GB/s  data   used by
      16 KiB       WRONG DATA         —  —           —  WRONG  batch 1: 80 attention output + 80 MLP output
      32 KiB             HANG         —  —           —  —      —
      64 KiB          skipped         —  —           —  —      —
      16 KiB: WRONG DATA: element 3 of rank 1 is 5, the sum is 3; the number stands for nothing
      16 KiB: timed without a spin gate: the cost of issuing the first copies can lie inside the window, so sizes below about 1 MiB read slower than the link is
      32 KiB: HANG while replaying the graph: no progress for 20 s
      64 KiB: skipped, an earlier size hung

    complete; exit code 5
    "#);
}

#[test]
fn an_all_gather_shows_both_bandwidths() {
    // Four ranks of 1 MiB each: 4,194,304 B in 100 us are 41.94 GB/s, times 3/4 is 31.46 GB/s.
    let gather = CollectivePoint {
        kind: CollectiveKind::AllGather,
        ranks: 4,
        ..point(1 << 20, CallMode::Graph, measured(100.0))
    };
    let made = whole(vec![gather]);
    let text = record(&made);
    let row = text.lines().find(|line| line.contains("1 MiB")).unwrap();
    assert!(row.contains("31.46") && row.contains("41.94"), "{text}");
    insta::assert_snapshot!(crate::render::csv::record(&made), @r#"
    op,ranks,element,bytes_per_rank,mode,outcome,time,unit,low,high,n,clock,busbw_gb_per_s,algbw_gb_per_s,verification,reason,library,transport,run,simulated
    all_gather,4,bf16,1048576,graph,measured,100,us,99,102,6,device_event,31.457280000000004,41.94304,passed,,nccl 2.29.2,SHM,complete,
    "#);
}
