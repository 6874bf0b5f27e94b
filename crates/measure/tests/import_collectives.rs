//! Collective times of other tools: every fixture is taken, and what cannot be is refused by name.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::Path;

use measure::import::collectives::read;
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
