//! Collectives in the form of nccl-tests: the lines are those that its own report functions write for the same figures.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::{Path, PathBuf};

use import::collectives::read_file;
use record::plan::StopReason;
use record::quantity::{Gate, Quantity, TimeSource, Timing, Unit};
use record::{
    BufferPlacement, CallMode, CollectiveKind, CollectiveOutcome, CollectivePoint, ElementType,
    Payload, Record, Simulated, Verification,
};
use view::export::nccl_tests;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../import/tests/fixtures")
        .join(name)
}

/// What nccl-tests 2.19.6 wrote.
fn theirs() -> String {
    std::fs::read_to_string(fixture("collectives/nccl-tests-2.19.6.txt")).unwrap()
}

fn point(
    bytes: u64,
    us: f64,
    placement: BufferPlacement,
    verification: Verification,
) -> CollectivePoint {
    let timing = Timing {
        source: TimeSource::DeviceEvent,
        gate: Gate::None,
        copies_per_sample: 4,
        warmup_copies: 1,
    };
    let time = Quantity::from_samples(
        vec![us; 6],
        Unit::Microseconds,
        timing,
        StopReason::MaxSamples,
    );
    CollectivePoint {
        kind: CollectiveKind::AllReduce,
        element: ElementType::F32,
        bytes_per_rank: bytes,
        ranks: 2,
        mode: CallMode::BackToBack,
        placement,
        cache: record::BufferCache::Hot,
        engine: None,
        arm: None,
        launch: 0,
        outcome: CollectiveOutcome::Measured {
            time: Box::new(time.unwrap()),
            verification,
            gap: None,
        },
        caveats: Vec::new(),
    }
}

/// A record with the devices of the sample.
fn record(points: Vec<CollectivePoint>) -> Record {
    let mut record = record::load(&fixture("records/collectives.json")).unwrap();
    record.header.simulated = None;
    record.header.provenance.host = Some("host1".to_owned());
    let Payload::Collectives(collectives) = &mut record.payload else {
        unreachable!("a record of collectives");
    };
    let first = collectives.devices[0].clone();
    collectives.devices = [(0, "0000:21:00.0"), (1, "0000:61:00.0")]
        .map(|(ordinal, address)| record::LinkDevice {
            ordinal,
            name: "NVIDIA L40".to_owned(),
            address: Some(address.parse().unwrap()),
            ..first.clone()
        })
        .to_vec();
    collectives.points = points;
    record
}

fn both(sizes: &[(u64, f64)]) -> Vec<CollectivePoint> {
    let places = [BufferPlacement::OutOfPlace, BufferPlacement::InPlace];
    sizes
        .iter()
        .flat_map(|(bytes, us)| places.map(|place| point(*bytes, *us, place, Verification::Passed)))
        .collect()
}

#[test]
fn the_same_figures_make_the_same_lines() {
    let record = record(both(&[(8, 10.34), (262_144, 30.67), (1_048_576, 122.68)]));
    let made = nccl_tests(&record).unwrap();
    assert_eq!(made.left_out, [""; 0]);
    // Not alike: who wrote it, the plan (a process a rank, a list of sizes), process numbers and functions of addresses, which
    // the record has otherwise; and the sample's made-up mean, which is not that of its rows.
    let is_ours = |line: &&str| {
        ["# tplens", "# nccl-tests", "# nThread", "#  Rank", "# Avg"]
            .iter()
            .all(|head| !line.starts_with(head))
    };
    let theirs = theirs();
    let (ours, theirs): (Vec<&str>, Vec<&str>) = (
        made.text.lines().filter(is_ours).collect(),
        theirs.lines().filter(is_ours).collect(),
    );
    assert_eq!(ours, theirs);
    let rank = made.text.lines().find(|line| line.starts_with("#  Rank"));
    assert_eq!(
        rank,
        Some("#  Rank  0 Group  0 Pid      0 on      host1 device  0 [0000:21:00.0] NVIDIA L40")
    );
    // (0.000774 + 8.547245 + 8.547245) / 3 = 5.69842, each twice.
    assert!(
        made.text.contains("# Avg bus bandwidth    : 5.69842 \n"),
        "{}",
        made.text
    );
}

#[test]
fn readers_that_count_lines_and_words_find_the_first_row() {
    let mut points = both(&[(16, 20.0)]);
    for point in &mut points {
        point.mode = CallMode::Graph;
        point.arm = Some("runtime p2p off".to_owned());
    }
    let mut record = record(points);
    record.header.simulated = Some(Simulated {
        box_name: "l40x4-realtime".to_owned(),
    });
    let text = nccl_tests(&record).unwrap().text;
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|line| line.contains("time")).unwrap();
    let cell = |column: usize| lines[at + 2].split_whitespace().nth(column);
    assert_eq!((cell(0), cell(5)), (Some("16"), Some("20.00")));
    assert!(text.contains("SIMULATED on"), "{text}");
    assert!(text.contains("# tplens mode: graph\n"), "{text}");
}

#[test]
fn what_was_not_measured_or_compared_is_not_a_number() {
    let record = record(vec![
        point(8, 10.0, BufferPlacement::OutOfPlace, Verification::NotAsked),
        point(
            16,
            10.0,
            BufferPlacement::OutOfPlace,
            Verification::WrongData {
                seen: "0".to_owned(),
            },
        ),
    ]);
    let made = nccl_tests(&record).unwrap();
    let rows: Vec<&str> = made
        .text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .collect();
    assert_eq!(
        rows,
        [
            "           8             2     float     sum      -1    10.00    0.00    0.00     N/A      N/A     N/A     N/A     N/A"
        ]
    );
    assert!(made.text.contains("# Out of bounds values : 1 FAILED\n"));
    assert_eq!(
        made.left_out,
        ["all_reduce of f32 on 2 ranks, back_to_back, 16 B: Wrong data: 0"]
    );
}

#[test]
fn what_is_written_is_read_again_with_modes_arms_and_engines() {
    let mut points = both(&[(8, 10.0)]);
    let mut other = point(8, 30.0, BufferPlacement::OutOfPlace, Verification::Passed);
    other.mode = CallMode::HostSynced;
    other.arm = Some("off".to_owned());
    other.engine = Some("vllm 0.13.0".to_owned());
    other.element = ElementType::F8E4m3;
    points.push(other);
    let made = nccl_tests(&record(points)).unwrap();
    let path = std::env::temp_dir().join(format!("tplens-again-{}.txt", std::process::id()));
    std::fs::write(&path, &made.text).unwrap();
    let file = read_file(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    let seen: Vec<_> = file
        .values
        .iter()
        .map(|value| (value.series.to_string(), value.bytes_per_rank, value.us))
        .collect();
    assert_eq!(
        seen,
        [
            (
                "all_reduce of f32 on 2 ranks, back_to_back".to_owned(),
                8,
                10.0
            ),
            (
                "all_reduce of f32 on 2 ranks, back_to_back, in place".to_owned(),
                8,
                10.0
            ),
            (
                "all_reduce of f8e4m3 on 2 ranks, host_synced, by vllm 0.13.0, arm off".to_owned(),
                8,
                30.0
            ),
        ]
    );
    assert!(
        file.made_by.starts_with("allreduce-bench"),
        "{}",
        file.made_by
    );
}

#[test]
fn the_environment_is_in_no_form() {
    let mut record = record(both(&[(8, 10.0)]));
    let environment = &mut record.header.provenance.environment;
    environment.insert("HF_TOKEN".to_owned(), "canary-3f9".to_owned());
    environment.insert("NCCL_DEBUG".to_owned(), "canary-3f9".to_owned());
    for text in [
        nccl_tests(&record).unwrap().text,
        view::record(&record).html(),
        view::csv::record(&record),
    ] {
        assert!(!text.contains("canary-3f9"), "{text}");
    }
}
