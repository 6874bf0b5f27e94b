//! Collective times of other tools and of ours: every fixture is read, and what cannot be is named.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::Path;

use import::collectives::{CallFile, Trouble, read, read_file, read_file_as};
use import::links::TroubleKind;
use import::{CurvePoint, ImportError};
use record::{BufferPlacement, CallMode, CollectiveKind, ElementType};

/// Operation, ranks, bytes of a rank, time and mode of each point.
type Row = (CollectiveKind, u32, u64, f64, Option<CallMode>);

fn rows(points: &[CurvePoint]) -> Vec<Row> {
    points
        .iter()
        .map(|p| (p.kind, p.ranks, p.bytes_per_rank, p.us, p.mode))
        .collect()
}

fn text_of(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/collectives");
    std::fs::read_to_string(path.join(name)).unwrap()
}

fn read_text(name: &str, text: &str) -> Result<Vec<CurvePoint>, ImportError> {
    let folder = std::env::temp_dir().join(format!("tplens-curve-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    let points = read(&path);
    std::fs::remove_file(path).unwrap();
    points
}

fn whole_file(name: &str, text: &str) -> CallFile {
    let folder = std::env::temp_dir().join(format!("tplens-calls-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    let file = read_file(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    file
}

const REDUCE: CollectiveKind = CollectiveKind::AllReduce;

#[test]
fn text_and_json_of_nccl_tests_give_the_out_of_place_times() {
    let expected: Vec<Row> = [(8, 10.34), (262_144, 30.67), (1_048_576, 122.68)]
        .map(|(bytes, us)| (REDUCE, 2, bytes, us, Some(CallMode::BackToBack)))
        .to_vec();
    for name in [
        "nccl-tests-2.19.6.txt",
        "nccl-tests-2.19.6-per-iteration.txt",
        "nccl-tests-2.19.6.json",
    ] {
        let points = read_text(name, &text_of(name)).unwrap();
        assert_eq!(rows(&points), expected, "{name}");
        // One loop's mean is one sample and has no interval.
        assert!(
            points
                .iter()
                .all(|p| (p.n, p.low, p.high) == (Some(1), None, None))
        );
    }
}

#[test]
fn an_all_gather_counts_what_each_rank_gives() {
    // The row says 1,048,576 bytes, which both ranks together hold at the end: 524,288 each. Tags of mpirun stand in it.
    let points = read_text("gather.txt", &text_of("all-gather-mpirun.txt")).unwrap();
    assert_eq!(
        rows(&points),
        [(
            CollectiveKind::AllGather,
            2,
            524_288,
            100.0,
            Some(CallMode::Graph)
        )]
    );
}

#[test]
fn sizes_of_every_operation_are_those_of_a_rank() {
    // 1,048,576 B: of a reduce-scatter each of two ranks receives half; a broadcast and a message to the next rank are whole.
    for (program, bytes, factor) in [
        ("reduce_scatter", 524_288, 0.5),
        ("broadcast", 1_048_576, 1.0),
        ("sendrecv", 1_048_576, 1.0),
    ] {
        let text = format!(
            "# Collective test starting: {program}_perf\n# Rank  0 on a\n# Rank  1 on a\n\
             # size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n\
             1048576 262144 float none 0 100.0 10.49 {:.2} 0 90.0 11.65 {:.2} N/A\n",
            10.49 * factor,
            11.65 * factor,
        );
        let file = whole_file("one.txt", &text);
        let of = |placement| {
            let mut values = file.values.iter();
            values.find(|value| value.series.placement == placement)
        };
        let value = of(BufferPlacement::OutOfPlace).unwrap();
        assert_eq!(value.series.kind.to_string(), program);
        assert_eq!((value.bytes_per_rank, value.us), (bytes, 100.0));
        assert_eq!(value.series.element, Some(ElementType::F32));
        assert_eq!(of(BufferPlacement::InPlace).unwrap().us, 90.0);
        // Engines reduce out of place, so a curve has that alone.
        assert_eq!(rows(&file.curve()).len(), 1);
    }
}

#[test]
fn a_file_of_nccl_tests_says_who_measured_it() {
    let text = whole_file("head.txt", &text_of("nccl-tests-2.19.6.txt"));
    assert_eq!(text.made_by, "nccl-tests 2.19.6");
    // 22703 is 2.27.3.
    assert_eq!(text.library.as_deref(), Some("nccl 2.27.3"));
    assert_eq!(text.host.as_deref(), Some("host1"));
    assert_eq!(text.devices, ["NVIDIA L40", "NVIDIA L40"]);
    assert_eq!(text.values.len(), 6);
    let json = whole_file("head.json", &text_of("nccl-tests-2.19.6.json"));
    assert_eq!(json.library, text.library);
    assert_eq!(json.values, text.values);
    assert_eq!(json.host, text.host);
    // The JSON has the first GPU of each process alone.
    assert_eq!(json.devices, ["NVIDIA L40"]);
    assert!(!format!("{json:?}").contains("canary"), "the environment");
}

#[test]
fn json_with_the_hosts_clock_is_host_synced() {
    let json = text_of("nccl-tests-2.19.6.json")
        .replace("\"time\":", "\"cpu_time\":")
        .replace(
            "\"blocking_collectives\":\"false\"",
            "\"blocking_collectives\":\"true\"",
        );
    let points = read_text("cpu.json", &json).unwrap();
    assert_eq!(points[0].mode, Some(CallMode::HostSynced));
    assert_eq!(points[0].us, 10.34);
}

#[test]
fn rccl_tests_and_csv_are_taken() {
    let points = read_text("rccl.txt", &text_of("rccl-tests-2024.txt")).unwrap();
    assert_eq!(
        rows(&points),
        [(REDUCE, 2, 262_144, 43.2, Some(CallMode::BackToBack))]
    );
    let points = read_text("curve.csv", &text_of("curve.csv")).unwrap();
    assert_eq!(
        rows(&points),
        [
            (REDUCE, 2, 16_384, 5.06, Some(CallMode::Graph)),
            (REDUCE, 2, 262_144, 18.5, Some(CallMode::BackToBack)),
            (CollectiveKind::AllGather, 2, 1_048_576, 44.4, None),
        ]
    );
    let short = "op,ranks,bytes,us\nall_reduce,4,1024,7.5\n";
    assert_eq!(
        rows(&read_text("short.csv", short).unwrap()),
        [(REDUCE, 4, 1024, 7.5, None)]
    );
}

/// The fixture's record with its points replaced, and its status.
fn record(outcomes: &[&str], status: &str) -> String {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/records/collectives.json");
    let text = std::fs::read_to_string(path).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let points = value.pointer_mut("/payload/collectives/points").unwrap();
    let measured = points[0].clone();
    let point = |outcome: &&str| {
        let mut point = measured.clone();
        point["bytes_per_rank"] = 262_144.into();
        point["mode"] = "graph".into();
        if *outcome == "measured" {
            // Another size: wrong data takes the number from every launch of its own.
            point["bytes_per_rank"] = 131_072.into();
            point["outcome"]["verification"] = serde_json::json!({"is": "passed"});
        } else if *outcome == "wrong" {
            point["outcome"]["verification"] =
                serde_json::json!({"is": "wrong_data", "seen": "element 0 is 3,\nnot 4"});
        } else {
            point["outcome"] = serde_json::from_str(outcome).unwrap();
        }
        point
    };
    *points = outcomes.iter().map(point).collect();
    value["status"] = serde_json::from_str(status).unwrap();
    value.to_string()
}

fn fixture(name: &str) -> CallFile {
    whole_file(name, &text_of(name))
}

/// Out of place: operation, ranks, bytes of a rank and time.
fn values(file: &CallFile) -> Vec<(CollectiveKind, u32, u64, f64)> {
    let plain = file
        .values
        .iter()
        .filter(|value| value.series.placement == BufferPlacement::OutOfPlace);
    plain
        .map(|value| {
            (
                value.series.kind,
                value.series.ranks,
                value.bytes_per_rank,
                value.us,
            )
        })
        .collect()
}

fn kinds(file: &CallFile) -> Vec<TroubleKind> {
    file.troubles.iter().map(|trouble| trouble.kind).collect()
}

const SIZES: [(u64, f64); 3] = [(1024, 17.9), (1 << 20, 55.5), (1 << 26, 812.5)];

fn sized(kind: CollectiveKind, ranks: u32, parts: u64) -> Vec<(CollectiveKind, u32, u64, f64)> {
    SIZES
        .map(|(bytes, us)| (kind, ranks, bytes / parts, us))
        .to_vec()
}

#[test]
fn outputs_before_2_17_are_read_by_command_line_and_bandwidths() {
    // `srun -l` before each line, ranks 0 and 3 listed, and no name: the sum of four ranks has busbw = 1.5 algbw.
    let srun = fixture("nccl-2.13-srun.txt");
    assert_eq!(values(&srun), sized(REDUCE, 4, 1));
    assert_eq!(
        (srun.host.as_deref(), srun.troubles.len()),
        (Some("node2"), 0)
    );
    // Quoted in a mail, with a fence and a prompt; the command line names a reduce-scatter of two ranks, so that a part is half.
    let quoted = fixture("nccl-2.14-quoted.txt");
    assert_eq!(values(&quoted), sized(CollectiveKind::ReduceScatter, 2, 2));
    // Nothing but header and rows: without a reduction, checked in place, and busbw = 7/8 algbw.
    let alone = fixture("nccl-rows-alone.txt");
    assert_eq!(values(&alone), sized(CollectiveKind::AllGather, 8, 8));
}

#[test]
fn several_tests_of_a_file_are_read_and_others_left_out_in_a_line_each() {
    let file = fixture("nccl-2.17-several.txt");
    let expected = [sized(CollectiveKind::SendRecv, 2, 1), sized(REDUCE, 2, 1)].concat();
    assert_eq!(values(&file), expected);
    assert_eq!(kinds(&file), [TroubleKind::Absent, TroubleKind::Failed]);
}

#[test]
fn what_the_rows_do_not_tell_is_asked_and_taken_from_the_caller() {
    // Without checks an all-gather and an exchange of all look the same.
    let text = text_of("nccl-rows-alone.txt")
        .replace("      0 ", "    N/A ")
        .replace("      0\n", "    N/A\n");
    assert!(read_text("unchecked.txt", &text).is_err());
    let path = std::env::temp_dir().join(format!("tplens-asked-{}.txt", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let file = read_file_as(&path, Some(CollectiveKind::AllGather)).unwrap();
    std::fs::remove_file(path).unwrap();
    assert_eq!(values(&file), sized(CollectiveKind::AllGather, 8, 8));
}

#[test]
fn rows_that_contradict_the_head_or_themselves_are_troubles() {
    let whole = text_of("nccl-tests-2.19.6.txt");
    let count = |text: &str| {
        let file = whole_file("changed.txt", text);
        (file.values.len(), kinds(&file))
    };
    assert_eq!(count(&whole), (6, vec![]));
    // Three ranks listed and the bandwidths of two: those hold.
    let three = whole.replace("Rank  1 Group", "Rank  2 Group");
    assert_eq!(count(&three), (6, vec![TroubleKind::File]));
    assert_eq!(whole_file("three.txt", &three).values[0].series.ranks, 2);
    let wrong = whole.replacen(
        "0.00    0.00       0    10.34",
        "0.00    0.00       7    10.34",
        1,
    );
    assert_eq!(count(&wrong), (5, vec![TroubleKind::WrongData]));
    let negative = whole.replacen("10.34", "-1.00", 1);
    assert_eq!(count(&negative), (5, vec![TroubleKind::File]));
    // 262144 B in 60.67 us are 4.32 GB/s and not 8.55.
    let other = whole.replacen("30.67", "60.67", 1);
    assert_eq!(count(&other), (6, vec![TroubleKind::File]));
    // Cut in the middle of its second row, which is left out.
    let cut = &whole[..whole.find("30.67").unwrap()];
    assert_eq!(count(cut), (2, vec![TroubleKind::File, TroubleKind::File]));
}

#[test]
fn a_table_of_ones_own_names_the_cell_that_cannot_be() {
    for (text, part) in [
        ("op,ranks,bytes,us\nall_reduce,1,8,5\n", "ranks of line 2"),
        ("op,ranks,bytes,us\nall_reduce,2,0,5\n", "bytes of line 2"),
        ("op,ranks,bytes,us\nall_reduce,2,8\n", "the row of line 2"),
        // 64 MiB in 3 us are 22 TB/s: milliseconds.
        (
            "op,ranks,bytes,us\nall_reduce,2,67108864,3\n",
            "us of line 2",
        ),
        ("op,ranks,bytes,us\n", "no time"),
        ("a,b\n1,2\n", "nccl-tests"),
    ] {
        let words = read_text("table.csv", text).unwrap_err().to_string();
        assert!(words.contains(part), "{words}");
    }
    let half = text_of("nccl-tests-2.19.6.json");
    assert!(read_text("half.json", &half[..700]).is_err());
}

#[test]
fn what_went_wrong_in_a_record_is_told() {
    let hang = r#"{"is": "hang", "doing": "timing"}"#;
    let text = record(&["measured", "wrong", hang], r#"{"state": "broken"}"#);
    let path = std::env::temp_dir().join(format!("tplens-trouble-{}.json", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let found: Vec<bool> = read_file(&path)
        .unwrap()
        .faults()
        .iter()
        .map(Trouble::is_wrong_data)
        .collect();
    assert_eq!(
        (found, read(&path).unwrap().len()),
        (vec![true, false, false], 1)
    );
    std::fs::write(&path, record(&["measured"], r#"{"state": "complete"}"#)).unwrap();
    assert_eq!(read_file(&path).unwrap().faults(), []);
    std::fs::remove_file(path).unwrap();
}
