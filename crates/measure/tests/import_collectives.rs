//! Collective times of other tools: every fixture is taken, and what cannot be is refused by name.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::Path;

use measure::import::collectives::{read, troubles};
use measure::import::{CurvePoint, ImportError};
use measure::record::{CallMode, CollectiveKind};

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

fn refusal(name: &str, text: &str) -> String {
    let words = read_text(name, text).unwrap_err().to_string();
    words.split_once(name).unwrap().1.to_owned()
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

#[test]
fn a_list_of_devices_that_is_not_whole_is_found_by_the_bandwidths() {
    // Three ranks listed, bandwidths of two: busbw / algbw is 1, and 2 * 2 / 3 = 1.333 would be right for three.
    let three = text_of("nccl-tests-2.19.6.txt").replace(
        "#\n#    ",
        "#  Rank  2 Group  0 Pid   6171 on      host1 device  2 [0000:81:00] NVIDIA L40\n#\n#    ",
    );
    assert_eq!(
        refusal("three.txt", &three),
        ": busbw / algbw of the row of 262144 bytes is 1.000; expected 1.333 for the 3 ranks that the file lists; is its list of devices whole?"
    );
    let four = text_of("nccl-tests-2.19.6.json").replace("\"ngpus\":2", "\"ngpus\":4");
    assert!(refusal("four.json", &four).contains("for the 4 ranks"));
}

#[test]
fn wrong_data_and_other_operations_are_refused() {
    let json = text_of("nccl-tests-2.19.6.json").replacen("\"nwrong\":0.0", "\"nwrong\":7.0", 1);
    assert!(refusal("wrong.json", &json).starts_with(
        ": the row of 8 bytes is 7 wrong elements; expected none: times of wrong data stand for nothing"
    ));
    let row = text_of("nccl-tests-2.19.6.txt").replace(
        "0.00    0.00       0    10.34",
        "0.00    0.00       7    10.34",
    );
    assert!(refusal("wrong.txt", &row).starts_with(": the row of 8 bytes is 7 wrong elements"));
    let sendrecv = text_of("nccl-tests-2.19.6.txt").replace("all_reduce_perf", "sendrecv_perf");
    assert!(refusal("sendrecv.txt", &sendrecv).contains("all_reduce_perf or all_gather_perf"));
}

#[test]
fn bad_cells_name_line_and_column() {
    let row = |row: &str| refusal("bad.csv", &format!("op,ranks,bytes,us\n{row}\n"));
    assert_eq!(
        row("broadcast,2,1,1"),
        ": op of line 2 is `broadcast`; expected all_reduce or all_gather"
    );
    assert_eq!(
        row("all_reduce,1,1,1"),
        ": ranks of line 2 is `1`; expected a whole number of two or more"
    );
    assert_eq!(
        row("all_reduce,2,4K,1"),
        ": bytes of line 2 is `4K`; expected a whole number of bytes of one rank"
    );
    for time in ["0", "-1", "NaN", "inf", "fast"] {
        assert_eq!(
            row(&format!("all_reduce,2,1,{time}")),
            format!(": us of line 2 is `{time}`; expected microseconds above zero")
        );
    }
    assert_eq!(
        row("all_reduce,2,1"),
        ": the row of line 2 is `all_reduce,2,1`; expected 4 cells as in the header"
    );
    assert_eq!(
        refusal(
            "mode.csv",
            "op,ranks,bytes,us,mode\nall_reduce,2,1,1,eager\n"
        ),
        ": mode of line 2 is `eager`; expected host_synced, back_to_back or graph"
    );
}

#[test]
fn a_time_in_another_unit_is_refused_by_its_line() {
    let row = |row: &str| refusal("unit.csv", &format!("op,ranks,bytes,us\n{row}\n"));
    // 30 us in seconds: 262,144 B / 3e-5 us = 8,738,133 GB/s.
    assert_eq!(
        row("all_reduce,2,262144,0.00003"),
        ": us of line 2 is 0.00003 us, which is 8738133 GB/s of algorithm bandwidth; expected the time of one call in us; is it in another unit?"
    );
    // The gathered whole counts: 4 * 1 MiB / 1 us = 4194 GB/s, and 2 * 1 MiB / 1 us = 2097 GB/s.
    assert!(row("all_gather,4,1048576,1").contains("4194 GB/s"));
    let two = "op,ranks,bytes,us\nall_gather,2,1048576,1\n";
    assert_eq!(read_text("two.csv", two).unwrap().len(), 1);
    assert!(row("all_reduce,2,8,61000000").contains("which is 61 s a call"));
    assert!(row("all_reduce,2,8,0.03").contains("less than any message takes"));
    // 122.68 us in seconds, in the line of 1,048,576 bytes.
    let seconds = text_of("nccl-tests-2.19.6.txt").replacen("122.68", "0.0001", 1);
    let number = 1 + seconds
        .lines()
        .position(|line| line.contains("0.0001"))
        .unwrap();
    let words = refusal("unit.txt", &seconds);
    assert!(
        words.starts_with(&format!(
            ": the time of line {number}, 1048576 bytes, is 0.0001 us"
        )),
        "{words}"
    );
    let json = text_of("nccl-tests-2.19.6.json").replacen("30.67", "0.00003", 1);
    let words = refusal("unit.json", &json);
    assert!(
        words.starts_with(": the time of result 2, 262144 bytes,"),
        "{words}"
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

fn troubles_of(name: &str, text: &str) -> Vec<(bool, String)> {
    let path = std::env::temp_dir().join(format!("tplens-trouble-{}-{name}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let found = troubles(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    found
        .into_iter()
        .map(|trouble| (trouble.wrong_data, trouble.words))
        .collect()
}

const HANG: &str = r#"{"is": "hang", "doing": "timing: no answer within 20 s"}"#;
const FAILED: &str = r#"{"is": "failed", "reason": "rank 1 died"}"#;
const SKIPPED: &str = r#"{"is": "skipped", "reason": "lost"}"#;
const COMPLETE: &str = r#"{"state": "complete"}"#;

#[test]
fn what_is_no_time_is_told() {
    let text = record(
        &["measured", "wrong", HANG, FAILED, SKIPPED],
        r#"{"state": "broken"}"#,
    );
    assert_eq!(read_text("troubled.json", &text).unwrap().len(), 1);
    let tell = |wrong: bool, words: &str| (wrong, words.to_owned());
    assert_eq!(
        troubles_of("troubled.json", &text),
        [
            tell(
                true,
                "all_reduce of 256 KiB, graph: wrong data: element 0 is 3, not 4"
            ),
            tell(
                false,
                "all_reduce of 256 KiB, graph: hang while timing: no answer within 20 s"
            ),
            tell(false, "all_reduce of 256 KiB, graph: failed: rank 1 died"),
            tell(
                false,
                "the run was broken off: KILLED, crashed, its disk full, or the machine went down, 5 points"
            ),
        ]
    );
    for (status, words) in [
        (
            r#"{"state": "interrupted", "signal": "SIGINT"}"#,
            "the run was broken off: INTERRUPTED by SIGINT, 1 point",
        ),
        (
            r#"{"state": "failed", "reason": "no space"}"#,
            "the run was broken off: FAILED, no space, 1 point",
        ),
    ] {
        let text = record(&["measured"], status);
        assert_eq!(troubles_of("ended.json", &text), [tell(false, words)]);
    }
    assert_eq!(
        troubles_of("good.json", &record(&["measured"], COMPLETE)),
        []
    );
    assert_eq!(troubles_of("curve.csv", &text_of("curve.csv")), []);
    assert!(troubles(Path::new("/nowhere/at/all")).is_err());
}

#[test]
fn a_record_without_a_time_says_what_went_wrong() {
    assert_eq!(
        refusal("none.json", &record(&["wrong", HANG], COMPLETE)),
        " holds no time of an all-reduce or all-gather (all_reduce of 256 KiB, graph: wrong data: element 0 is 3, not 4; and 1 more); measure again"
    );
}

#[test]
fn nothing_and_nonsense_say_what_was_looked_for() {
    for text in ["hello", "{}", "", "a,b\n1,2\n"] {
        let words = refusal("unknown.txt", text);
        assert!(
            words.contains("op,ranks,bytes,us") && words.contains("nccl-tests"),
            "{words}"
        );
    }
    assert!(refusal("empty.csv", "op,ranks,bytes,us\n").contains("holds no time"));
    // A run that crashed leaves half a file.
    let whole = text_of("nccl-tests-2.19.6.json");
    assert!(refusal("half.json", &whole[..700]).contains("no format that is known here"));
}
