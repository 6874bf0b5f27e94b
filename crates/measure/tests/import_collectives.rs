//! Collective times of other tools: every fixture is taken, and what cannot be is refused by name.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::Path;

use measure::import::collectives::{CallFile, read, read_file, troubles};
use measure::import::{CurvePoint, ImportError};
use measure::record::{BufferPlacement, CallMode, CollectiveKind, ElementType};

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
fn our_csv_is_taken_by_the_names_of_its_columns() {
    let head = "op,ranks,element,bytes_per_rank,mode,outcome,time,unit,low,high,n,clock,busbw_gb_per_s,algbw_gb_per_s,verification,reason,library,transport,run,simulated,placement,cache,engine,arm,arm_number,launch";
    let line = |time: &str, arm: &str, launch: u32| {
        format!(
            "all_reduce,2,bf16,8192,graph,measured,{time},us,,,6,device_event,,,passed,,nccl 2.29.2,\"SHM, direct\",complete,,out_of_place,hot,,{arm},{launch}"
        )
    };
    // Medians of 10, 12 and 20 us: 12. The second arm is measured first.
    let text = [
        head.to_owned(),
        line("99", "off,1", 0),
        line("10", "on,0", 0),
        line("20", "on,0", 1),
        line("12", "on,0", 2),
        "all_gather,2,bf16,64,graph,hang,,,,,,,,,,\"waiting, long\",,,complete,,out_of_place,hot,,on,0,0".to_owned(),
    ]
    .join("\n");
    let file = whole_file("ours.csv", &text);
    assert_eq!(file.first_arm.as_deref(), Some("on"));
    assert_eq!(file.transport.as_deref(), Some("SHM, direct"));
    assert_eq!(file.troubles[0].words, "hang: waiting, long");
    let points = file.curve();
    assert_eq!(
        rows(&points),
        [(REDUCE, 2, 8192, 12.0, Some(CallMode::Graph))]
    );
    assert_eq!((points[0].n, points[0].low), (Some(3), None));
    assert_eq!(points[0].library.as_deref(), Some("nccl"));
    // What an older version wrote has fewer columns.
    let older =
        "op,ranks,element,bytes_per_rank,mode,outcome,time\nall_reduce,2,bf16,8,graph,measured,5\n";
    assert_eq!(read_text("older.csv", older).unwrap()[0].us, 5.0);
    // What is not to be judged is kept with its reason and is in no curve.
    let played = "op,ranks,element,bytes_per_rank,mode,outcome,time,reason\nall_reduce,2,bf16,8,host_synced,measured,5,\"not judged: late, all\"\n\
                  all_reduce,2,bf16,16,host_synced,measured,6,\n";
    let file = whole_file("played.csv", played);
    let kept: Vec<_> = file
        .values
        .iter()
        .map(|value| value.not_judged.as_deref())
        .collect();
    assert_eq!(kept, [Some("late, all"), None]);
    assert_eq!(file.curve().len(), 1);
    let bad =
        "op,ranks,element,bytes_per_rank,mode,outcome,time\nall_reduce,2,int3,8,graph,measured,5\n";
    assert_eq!(
        refusal("bad.csv", bad),
        ": element of line 2 is `int3`; expected a word that allreduce-bench writes"
    );
}

#[test]
fn launches_of_a_size_are_one_point_and_other_arms_and_places_none() {
    let text = record(&["measured", "measured"], COMPLETE);
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let collectives = value.pointer_mut("/payload/collectives").unwrap();
    collectives["arms"] =
        serde_json::json!([{"name": "on", "variables": []}, {"name": "off", "variables": []}]);
    let point = collectives["points"][0].clone();
    let of = |us: f64, launch: u32, arm: &str, placement: &str, engine: Option<&str>| {
        let mut point = point.clone();
        point["outcome"]["time"]["value"] = us.into();
        point["launch"] = launch.into();
        point["arm"] = arm.into();
        point["placement"] = placement.into();
        point["engine"] = engine.into();
        point
    };
    collectives["points"] = vec![
        of(50.0, 0, "on", "out_of_place", None),
        of(70.0, 1, "on", "out_of_place", None),
        of(10.0, 0, "off", "out_of_place", None),
        of(10.0, 0, "on", "in_place", None),
        of(30.0, 0, "on", "out_of_place", Some("vllm 0.13.0")),
    ]
    .into();
    let points = read_text("launches.json", &value.to_string()).unwrap();
    let seen: Vec<_> = points
        .iter()
        .map(|point| (point.us, point.n, point.engine.as_deref()))
        .collect();
    // (50 + 70) / 2 = 60 over two launches.
    assert_eq!(seen[0], (60.0, Some(2), None));
    assert_eq!((seen[1].0, seen[1].2), (30.0, Some("vllm 0.13.0")));
    assert_eq!(seen.len(), 2);
    assert_eq!(points[1].library, None);
}

#[test]
fn an_engine_is_held_to_the_librarys_type() {
    let head = "op,ranks,element,bytes_per_rank,mode,outcome,time,engine\n";
    let kept = |rows: &str| -> Vec<f64> {
        let points = read_text("types.csv", &format!("{head}{rows}")).unwrap();
        points.iter().map(|point| point.us).collect()
    };
    let row = |element: &str, us: u32, engine: &str| {
        format!("all_reduce,2,{element},1024,graph,measured,{us},{engine}\n")
    };
    let both = |engine: &str| row("f32", 9, engine) + &row("bf16", 5, engine);
    // Equal bytes of two types are two times and not the mean of both.
    assert_eq!(
        kept(&(row("bf16", 20, "") + &row("f32", 30, "") + &both("vllm 0.13.0"))),
        [20.0, 5.0]
    );
    assert_eq!(
        kept(&(row("f32", 30, "") + &both("vllm 0.13.0"))),
        [30.0, 9.0]
    );
    assert_eq!(kept(&both("vllm 0.13.0")), [5.0]);
    // An engine that was not timed in the library's type has its own.
    assert_eq!(
        kept(&(row("f16", 30, "") + &both("vllm 0.13.0"))),
        [30.0, 5.0]
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
    let alltoall = text_of("nccl-tests-2.19.6.txt").replace("all_reduce_perf", "alltoall_perf");
    assert!(
        refusal("alltoall.txt", &alltoall).contains("all_reduce_perf or all_gather_perf or reduce")
    );
}

#[test]
fn a_long_row_is_cut_where_it_is_quoted() {
    let long = format!("all_reduce,2,{}", "9".repeat(1_000_000));
    // 13 characters and 67 digits; 1,000,000 - 67 digits are left.
    let quoted = format!("`all_reduce,2,{}`… (999933 more bytes)", "9".repeat(67));
    assert_eq!(
        refusal("long.csv", &format!("op,ranks,bytes,us\n{long}\n")),
        format!(": the row of line 2 is {quoted}; expected 4 cells as in the header")
    );
    let text = text_of("nccl-tests-2.19.6.txt").replacen("30.67", &long, 1);
    let words = refusal("long.txt", &text);
    assert!(words.len() < 300, "{} bytes", words.len());
    assert!(words.contains("more bytes"), "{words}");
}

#[test]
fn bad_cells_name_line_and_column() {
    let row = |row: &str| refusal("bad.csv", &format!("op,ranks,bytes,us\n{row}\n"));
    assert_eq!(
        row("alltoall,2,1,1"),
        ": op of line 2 is `alltoall`; expected all_reduce, all_gather, reduce_scatter, broadcast or sendrecv"
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
        ": mode of line 2 is `eager`; expected host_synced, back_to_back, graph or interleaved"
    );
}

#[test]
fn a_time_in_another_unit_is_refused_by_its_line() {
    let row = |row: &str| refusal("unit.csv", &format!("op,ranks,bytes,us\n{row}\n"));
    // 30 us in seconds: 262,144 B / 3e-5 us = 8,738,133 GB/s.
    assert_eq!(
        row("all_reduce,2,262144,0.00003"),
        ": us of line 2 is 0.00003 us, which is 8738133 GB/s of algorithm bandwidth; expected the time of one call in us; this looks like the wrong unit"
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
        " holds no time of a collective (all_reduce of 256 KiB, graph: wrong data: element 0 is 3, not 4; and 1 more); measure again"
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
    assert!(refusal("half.json", &whole[..700]).contains("before it is complete"));
}
