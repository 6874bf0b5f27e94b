//! Tables of `allreduce-bench`.

use topology::PathType;

use super::super::record;
use super::header;
use crate::caveat::Caveat;
use crate::plan::StopReason;
use crate::quantity::{Gate, Quantity, TimeSource, Timing, Unit};
use crate::record::{
    Arm, BackendFacts, BufferCache, BufferPlacement, CallMode, Channel, Choice, CollectiveKind,
    CollectiveOutcome, CollectivePath, CollectivePoint, Collectives, ElementType, EngineRunFacts,
    LauncherFacts, LibraryFacts, LinkDevice, PairPath, Payload, PlannedCollective, PlannedStep,
    Record, Simulated, Status, TransportFacts, Verification,
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
        placement: BufferPlacement::OutOfPlace,
        cache: BufferCache::Hot,
        engine: None,
        arm: None,
        launch: 0,
        outcome,
        caveats: Vec::new(),
    }
}

fn measured(us: f64) -> CollectiveOutcome {
    CollectiveOutcome::Measured {
        time: time(us),
        verification: Verification::Passed,
        gap: None,
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
    // A step of 160 calls of 20, 100 or 95 us takes 3.2, 16 or 15.2 ms.
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

    HOST MEMORY MOVED BY CPUS, NO GPU: Collectives of a step: each call's time as often as the step issues it, in ms; interval: the ends of the calls' 95% intervals added up, n: the least behind a time
      batch 1, back_to_back: 3.20 [3.17 .. 3.26], n 6, 160 calls
      batch 15 padded to 16, back_to_back: 16.00 [15.84 .. 16.32], n 6, 160 calls
      batch 15 padded to 16, graph: 15.20 [15.05 .. 15.50], n 6, 160 calls

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
        gap: None,
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
            // What newer columns say stands behind it.
            .all(|line| line.contains(",complete,rtxpro6000-mig,out_of_place,hot,")),
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
    op,ranks,element,bytes_per_rank,mode,outcome,time,unit,low,high,n,clock,busbw_gb_per_s,algbw_gb_per_s,verification,reason,library,transport,run,simulated,placement,cache,engine,arm,arm_number,launch,chosen,p50,p90,p99,gap_us
    all_gather,4,bf16,1048576,graph,measured,100,us,99,102,6,device_event,31.457280000000004,41.94304,passed,,nccl 2.29.2,SHM,complete,,out_of_place,hot,,,,0,,,,,
    "#);
}

/// A point of an arm's launch; eight launches, times around the given one.
fn launches(bytes: u64, arm: &str, us: f64) -> Vec<CollectivePoint> {
    let of = |launch: u32| CollectivePoint {
        arm: Some(arm.to_owned()),
        launch,
        ..point(bytes, CallMode::Graph, measured(us + f64::from(launch)))
    };
    (0..8).map(of).collect()
}

fn arm(name: &str, variables: &[(&str, &str)]) -> Arm {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Arm {
        name: name.to_owned(),
        variables: variables.iter().map(owned).collect(),
    }
}

fn choice(bytes: u64, protocol: &str) -> Choice {
    Choice {
        kind: CollectiveKind::AllReduce,
        bytes_per_rank: bytes,
        algorithm: "RING".to_owned(),
        protocol: protocol.to_owned(),
        channels: Some(4),
    }
}

#[test]
fn arms_stand_beside_each_other_with_intervals_over_launches() {
    // Launches of 20..27 us: median 23.5, and of eight values the 1st and the 8th cover the median in 99.2% of cases, the 2nd
    // and the 7th in 93% only: 20 .. 27. The other arm takes 40..47: ratios 2, 41/21 = 1.952, .. 47/27 = 1.741 fall; the two in
    // the middle are 43/23 = 1.870 and 44/24 = 1.833, whose mean is 1.851.
    let mut points = launches(8 << 10, "off", 40.0);
    points.extend(launches(8 << 10, "on", 20.0));
    points.extend(launches(16 << 10, "on", 30.0));
    let mut made = whole(points);
    let Payload::Collectives(collectives) = &mut made.payload else {
        unreachable!("made above");
    };
    collectives.steps.clear();
    collectives.arms = vec![
        arm("on", &[]),
        arm("off", &[("NCCL_P2P_DISABLE", "1"), ("HF_TOKEN", "canary")]),
    ];
    let channel = |number, from, to| Channel {
        number,
        from,
        to,
        via: "P2P/CUMEM".to_owned(),
    };
    collectives.transports = vec![TransportFacts {
        arm: Some("on".to_owned()),
        channels: vec![channel(0, 0, 1), channel(0, 1, 0)],
        choices: vec![choice(8 << 10, "LL"), choice(16 << 10, "LL")],
        why: vec!["both GPUs are below one switch".to_owned()],
        not_told: None,
    }];
    collectives.engine = Some(EngineRunFacts {
        name: "vllm".to_owned(),
        version: Some("0.13.0".to_owned()),
        python: "/opt/engine/bin/python".to_owned(),
        device: "cuda".to_owned(),
        notes: vec!["custom all-reduce is off: no peer access".to_owned()],
    });
    collectives.launcher = Some(LauncherFacts {
        name: "mpirun".to_owned(),
        hosts: vec!["a".to_owned(), "a".to_owned(), "b".to_owned()],
    });
    let text = record(&made);
    for shown in [&text, &crate::render::csv::record(&made)] {
        assert!(!shown.contains("canary"), "{shown}");
    }
    insta::assert_snapshot!(text, @r#"
    allreduce-bench 0.1.0, 2026-01-02T03:04:05Z, box, backend host
    library nccl 2.29.2, transport SHM; 2 ranks on HOST0, HOST1, path SYS
    engine vllm 0.13.0, its own all-reduce timed by /opt/engine/bin/python, tensors on cuda
      the engine says: custom all-reduce is off: no peer access
    started by mpirun; ranks: 2 on a, 1 on b
    arm on: nothing set besides
    arm off: NCCL_P2P_DISABLE=1 HF_TOKEN (value not shown)

    Devices
             name         node  memory
      HOST0  host memory  0     4 GiB
      HOST1  host memory  0     4 GiB

    Transport, by the library's words in runs that were not timed
      arm on: P2P/CUMEM on 1 channel both ways between 0 and 1
      arm on: because both GPUs are below one switch

    all_reduce of bf16 on 2 ranks, arm on: us a call (graph, mean of calls in one replayed graph), median of the launches' medians ± wider side of its 95% interval over launches; n is launches
      size a rank            us        interval  n  busbw GB/s  data   chosen
      8 KiB        23.50 ±14.9%  20.00 .. 27.00  8       0.349  exact  RING LL
      16 KiB       33.50 ±10.4%  30.00 .. 37.00  8       0.489  exact  RING LL

    all_reduce of bf16 on 2 ranks, arm off: us a call (graph, mean of calls in one replayed graph), median of the launches' medians ± wider side of its 95% interval over launches; n is launches
      size a rank           us        interval  n  busbw GB/s  data
      8 KiB        43.50 ±8.0%  40.00 .. 47.00  8       0.188  exact

    Arms, all_reduce of bf16 on 2 ranks, graph: time over that of arm on, ratio within each launch, its median over launches; n is launches that have both
      size a rank  arm  time ratio    95% interval  n  says
      8 KiB        off       1.851  1.741 .. 2.000  8  slower

    What these sizes show, as a description and no model: alpha is the least median, B the median slope of time over algbw's bytes
      calls                                         regime   sizes a rank     n sizes  alpha us  B GB/s
      all_reduce of bf16 on 2 ranks, graph, arm on  RING LL  8 KiB .. 16 KiB        2     23.50   0.819
      holds for the sizes listed only; nothing is predicted from it

    complete; exit code 0
    "#);
}

#[test]
fn host_synced_calls_show_percentiles_that_their_number_allows() {
    // 200 samples 1..=200: p50 is the mean of the 100th and 101st, p90 the 180th, p99 the 198th; 20 samples have no p99.
    let of = |n: u32| {
        let samples: Vec<f64> = (1..=n).map(f64::from).collect();
        let mut time = time(1.0);
        *time = Quantity::from_samples(
            samples,
            Unit::Microseconds,
            time.timing,
            StopReason::MaxSamples,
        )
        .unwrap();
        CollectiveOutcome::Measured {
            time,
            verification: Verification::NotAsked,
            gap: None,
        }
    };
    let made = whole(vec![
        point(8, CallMode::HostSynced, of(200)),
        point(32, CallMode::HostSynced, of(20)),
    ]);
    let text = record(&made);
    let rows: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.contains("p50 us"))
        .take(3)
        .collect();
    insta::assert_snapshot!(rows.join("\n"), @r#"
    size a rank         p50 us         interval    n  p90 us  p99 us  busbw GB/s  data
    8 B          100.50 ±14.4%  86.00 .. 115.00  200  180.00  198.00     7.96e-5  not compared
    32 B          10.50 ±42.9%    6.00 .. 15.00   20   18.00       —     3.05e-3  not compared
    "#);
    let csv = crate::render::csv::record(&made);
    let line = csv.lines().nth(1).unwrap();
    // The nearest ranks: 100, 180 and 198.
    assert!(line.ends_with(",100,180,198,"), "{line}");
}

#[test]
fn what_the_sizes_show_is_told_as_a_description() {
    // The gap of 50 us was subtracted. 4 MiB more in 209.7152 us are 20 GB/s. 8 MiB: 420 +- intervals; the second size is faster
    // than the first, 19.8 .. 20.4 against 9.9 .. 10.2.
    let interleaved = |bytes, us| {
        let outcome = CollectiveOutcome::Measured {
            time: time(us),
            verification: Verification::Passed,
            gap: Some(time(50.0)),
        };
        point(bytes, CallMode::Interleaved, outcome)
    };
    let mut made = whole(vec![
        interleaved(8, 20.0),
        interleaved(16, 10.0),
        interleaved(4 << 20, 220.0),
        interleaved(8 << 20, 429.7152),
    ]);
    if let Payload::Collectives(collectives) = &mut made.payload {
        collectives.steps.clear();
    }
    let text = record(&made);
    let from = text.find("\nall_reduce").unwrap();
    insta::assert_snapshot!(&text[from..], @r#"
    all_reduce of bf16 on 2 ranks: us a call (interleaved, mean of calls with work between them, less that work's own time), median ± wider side of its 95% interval
      size a rank            us          interval  n  gap us  busbw GB/s  data
      8 B           20.00 ±2.0%    19.80 .. 20.40  6   50.00     4.00e-4  exact
      16 B          10.00 ±2.0%     9.90 .. 10.20  6   50.00     1.60e-3  exact
      4 MiB        220.00 ±2.0%  217.80 .. 224.40  6   50.00       19.07  exact
      8 MiB        429.72 ±2.0%  425.42 .. 438.31  6   50.00       19.52  exact
      NOT MONOTONIC: 16 B takes 9.90 .. 10.20 us, less than 8 B with 19.80 .. 20.40 us, the intervals apart

    What these sizes show, as a description and no model: alpha is the least median, B the median slope of time over algbw's bytes
      calls                                       regime         sizes a rank    n sizes  alpha us  B GB/s
      all_reduce of bf16 on 2 ranks, interleaved  up to 16 KiB   8 B .. 16 B           2     10.00       —
      all_reduce of bf16 on 2 ranks, interleaved  from 4 MiB on  4 MiB .. 8 MiB        2         —   20.00
      holds for the sizes listed only; nothing is predicted from it

    complete; exit code 0
    "#);
}

#[test]
fn a_call_that_the_gap_hides_has_no_bandwidth() {
    // The median of -500 .. 778 is (-50 + 328) / 2 = 139 us; six samples' interval is their range.
    let samples = |of: &[f64]| {
        let timing = time(1.0).timing;
        let time = Quantity::from_samples(
            of.to_vec(),
            Unit::Microseconds,
            timing,
            StopReason::MaxSamples,
        );
        CollectiveOutcome::Measured {
            time: Box::new(time.unwrap()),
            verification: Verification::Passed,
            gap: Some(self::time(50.0)),
        }
    };
    let hidden = samples(&[-500.0, -100.0, -50.0, 328.0, 400.0, 778.0]);
    let mut made = whole(vec![
        point(4 << 20, CallMode::Interleaved, hidden),
        point(8 << 20, CallMode::Interleaved, measured(429.7152)),
    ]);
    if let Payload::Collectives(collectives) = &mut made.payload {
        collectives.steps.clear();
    }
    let text = record(&made);
    let row = text.lines().find(|line| line.contains("139.00")).unwrap();
    assert!(row.contains("-500.00 .. 778.00"), "{row}");
    assert!(row.contains("—  exact"), "{row}");
    assert!(
        text.contains("\n  4 MiB: HIDDEN BY THE GAP: the interval reaches 0"),
        "{text}"
    );
    // One size that is told makes no regime.
    assert!(!text.contains("What these sizes show"), "{text}");
    let csv = crate::render::csv::record(&made);
    let cells: Vec<&str> = csv.lines().nth(1).unwrap().split(',').collect();
    assert_eq!((cells[6], cells[12], cells[13]), ("139", "", ""));
}

/// A host-synced call of a soft box: its part 40 us, this machine's the rest.
fn played(bytes: u64, us: f64, not_judged: Option<&str>) -> CollectivePoint {
    CollectivePoint {
        caveats: vec![Caveat::InRealTime {
            box_us: Some(40.0),
            own_us: Some(us - 40.0),
            not_judged: not_judged.map(str::to_owned),
        }],
        ..point(bytes, CallMode::HostSynced, measured(us))
    }
}

#[test]
fn a_time_that_is_not_to_be_judged_stands_in_parentheses_and_makes_no_other_number() {
    let mut made = whole(vec![
        played(8, 13_661.0, Some("others had the CPU of a rank")),
        played(16, 41.0, None),
    ]);
    made.header.simulated = Some(Simulated {
        box_name: "l40x4".to_owned(),
    });
    let Payload::Collectives(collectives) = &mut made.payload else {
        unreachable!("made above");
    };
    collectives.steps.clear();
    let text = record(&made);
    let from = text.find("\nall_reduce").unwrap();
    // 16 B in 41 us are 3.90e-4 GB/s. The smaller size takes longer, which the box file does not say.
    insta::assert_snapshot!(&text[from..], @r#"
    all_reduce of bf16 on 2 ranks [simulated]: us a call (host_synced, wall clock of one call with its launch and wait), median ± wider side of its 95% interval
      size a rank                       p50 us                interval  n  p90 us  p99 us  busbw GB/s  data
      8 B          (13661.00 ±2.0%) not judged  (13524.39 .. 13934.22)  6       —       —           —  exact
      16 B                         41.00 ±2.0%          40.59 .. 41.82  6       —       —     3.90e-4  exact
      a soft box's host-synced call is played in real time: the box's time and what this machine needs to issue a call and to wait for it
      8 B: box 40.00 us, the rest 13621.00 us; not judged: others had the CPU of a rank
      16 B: box 40.00 us, the rest 1.00 us

    complete; exit code 0
    "#);
    let csv = crate::render::csv::record(&made);
    let lines: Vec<&str> = csv.lines().skip(1).collect();
    assert!(
        lines[0].contains(",13661,us,")
            && lines[0].contains(",not judged: others had the CPU of a rank,"),
        "{csv}"
    );
    assert!(!lines[1].contains("not judged"), "{csv}");
}

#[test]
fn a_larger_size_that_a_soft_box_plays_faster_is_so_by_its_file() {
    let mut made = whole(vec![
        point(8, CallMode::Graph, measured(20.0)),
        point(16, CallMode::Graph, measured(10.0)),
    ]);
    assert!(record(&made).contains("NOT MONOTONIC: 16 B takes"));
    made.header.simulated = Some(Simulated {
        box_name: "l40x4".to_owned(),
    });
    assert!(record(&made).contains("NOT MONOTONIC by the box file: 16 B takes"));
}

#[test]
fn the_sum_of_a_step_says_which_mode_predicts_serving_unless_no_gpu_did_it() {
    let points = |mode| vec![point(16 << 10, mode, measured(20.0))];
    let with_backend = |mode, backend: &str| {
        let mut made = whole(points(mode));
        if let Payload::Collectives(collectives) = &mut made.payload {
            collectives.backend = Some(BackendFacts {
                name: backend.to_owned(),
                management: "none".to_owned(),
                ..BackendFacts::default()
            });
        }
        let text = record(&made);
        let title = text
            .lines()
            .find(|line| line.contains("Collectives of a step"));
        title.unwrap().to_owned()
    };
    assert!(with_backend(CallMode::Graph, "cuda").contains("add --modes interleaved"));
    let predicted = with_backend(CallMode::Interleaved, "cuda");
    assert!(predicted.ends_with("interleaved is the one that predicts serving"));
    let host = with_backend(CallMode::Graph, "host");
    assert!(host.starts_with("HOST MEMORY MOVED BY CPUS, NO GPU: ") && !host.contains("serving"));
}
