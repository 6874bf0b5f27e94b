//! Files of a run: result folder, `--json`, `--csv`, what `show` makes of them, and what must never be in them.

use std::path::Path;

use measure::record::{Outcome, Record};

use super::common::{Kept, QUICK, Ran, Scratch, two_gpus};

/// A quick run on the box of two GPUs.
fn quick(scratch: &Scratch, more: &[&str]) -> Kept {
    let kept = scratch.soft(&two_gpus(), more);
    assert_eq!(kept.ran.code, 0, "{}", kept.ran.stderr);
    kept
}

fn show(scratch: &Scratch, arguments: &[&str]) -> String {
    let ran = scratch.run(&[&["show"][..], arguments].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{arguments:?}");
    ran.stdout
}

#[test]
fn json_and_csv_are_files_of_their_own() {
    let scratch = Scratch::new();
    let kept = quick(&scratch, &["--json", "r.json", "--csv", "r.csv"]);
    let json = std::fs::read_to_string(scratch.join("r.json")).unwrap();
    assert_eq!(Record::from_json(&json, "r.json").unwrap(), kept.record);
    let csv = std::fs::read_to_string(scratch.join("r.csv")).unwrap();
    // A row for each number, and one for each point that has none.
    let rows = |outcome: &Outcome| match outcome {
        Outcome::Measured { quantities, .. } => quantities.len(),
        _ => 1,
    };
    let points = kept.links().points.iter();
    let numbers: usize = points.map(|point| rows(&point.outcome)).sum();
    assert_eq!(csv.lines().count(), 1 + numbers);
    // 5 cases of one number on 2 devices and a chase, 1 of three on 2; on pairs 4 of one number both ways and a chase, 2 of
    // three once; 3 cases over all devices of two shares and a total; staged and driver-staged do not apply to a direct
    // pair: 2 cases x 2 rows without a number.
    let measured = 6 * 2 + 3 * 2 + 5 * 2 + 2 * 3 + 3 * 3;
    assert_eq!(numbers, measured + 2 * 2);
    assert_eq!(csv.matches(",measured,").count(), measured);
}

#[test]
fn csv_may_take_the_place_of_the_tables() {
    let scratch = Scratch::new();
    let kept = quick(&scratch, &["--csv", "-"]);
    assert!(kept.ran.stdout.starts_with("case,quantity,from,to,bytes,"));
    assert_eq!(kept.ran.stdout, show(&scratch, &["--csv", "out"]));
    assert!(!scratch.join("-").exists());
}

#[test]
fn show_prints_what_the_run_printed_from_folder_journal_and_record() {
    let scratch = Scratch::new();
    let kept = quick(&scratch, &[]);
    for file in ["out", "out/journal.jsonl", "out/record.json"] {
        assert_eq!(show(&scratch, &[file]), kept.ran.stdout, "{file}");
    }
    let csv = show(&scratch, &["out", "--csv"]);
    assert_eq!(show(&scratch, &["--csv", "out/record.json"]), csv);
}

#[test]
fn what_is_no_record_is_one_line() {
    let scratch = Scratch::new();
    quick(&scratch, &["--cases", "local_ce"]);
    let record = std::fs::read(scratch.join("out/record.json")).unwrap();
    let files: [(&str, &[u8]); 6] = [
        ("garbage.json", b"\x00\xffgarbage"),
        ("empty.json", b""),
        ("empty.jsonl", b""),
        ("list.json", b"[]"),
        ("garbage.jsonl", b"garbage\n"),
        ("half.json", &record[..record.len() / 2]),
    ];
    for (name, bytes) in files {
        std::fs::write(scratch.join(name), bytes).unwrap();
        scratch.run(&["show", name]).is_wrong_usage(name);
    }
    scratch.run(&["show", "absent"]).is_wrong_usage("absent");
    std::fs::create_dir(scratch.join("folder")).unwrap();
    scratch.run(&["show", "folder"]).is_wrong_usage("folder");
    let newer = String::from_utf8(record).unwrap();
    let newer = newer.replacen("\"schema\": 1", "\"schema\": 999", 1);
    std::fs::write(scratch.join("newer.json"), newer).unwrap();
    let ran = scratch.run(&["show", "newer.json"]);
    ran.is_wrong_usage("schema 999");
}

#[test]
fn a_folder_that_holds_a_result_is_left_alone() {
    let scratch = Scratch::new();
    quick(&scratch, &["--cases", "local_ce"]);
    let before = contents(&scratch.join("out"));
    let box_file = scratch.text("box.toml");
    let backends: [&[&str]; 2] = [&["--sim", &box_file], &["--backend", "host"]];
    for backend in backends {
        let ran = scratch.run(&[backend, &["--out", "out"], &QUICK].concat());
        ran.is_wrong_usage("out holds a result already");
    }
    assert_eq!(contents(&scratch.join("out")), before);
}

#[test]
fn every_rendering_of_a_soft_run_says_that_it_is_simulated() {
    let scratch = Scratch::new();
    let kept = quick(&scratch, &["--json", "r.json", "--csv", "r.csv"]);
    let first = kept.ran.stdout.lines().next().unwrap();
    assert!(first.contains("SIMULATED on soft box two-l40"), "{first}");
    // A title begins the line; notes that name cases are indented.
    let is_title = |line: &&str| !line.starts_with(' ') && line.contains("_ce");
    let tables = kept.ran.stdout.lines().filter(is_title);
    let unmarked: Vec<_> = tables
        .filter(|line| !line.contains("[simulated]"))
        .collect();
    assert_eq!(unmarked, [""; 0], "each table is marked");
    let json = std::fs::read_to_string(scratch.join("r.json")).unwrap();
    assert!(json.contains("\"box_name\": \"two-l40\""));
    let csv = std::fs::read_to_string(scratch.join("r.csv")).unwrap();
    let rows = csv.lines().skip(1);
    let unmarked: Vec<_> = rows.filter(|row| !row.ends_with(",two-l40")).collect();
    assert_eq!(unmarked, [""; 0], "each row is marked");
}

#[test]
fn secrets_of_the_environment_are_nowhere() {
    const CANARY: &str = "canary-5a17e9";
    let scratch = Scratch::new();
    let arguments = scratch.on(&two_gpus(), &["--json", "r.json", "--csv", "r.csv"]);
    let mut command = scratch.program(arguments);
    let command = command
        .env("HF_TOKEN", CANARY)
        .env("NCCL_API_KEY", CANARY)
        .env("NCCL_P2P_DISABLE", "1");
    let ran = Ran::of(command.output().unwrap());
    assert!(!ran.stdout.contains(CANARY) && !ran.stderr.contains(CANARY));
    let kept = scratch.left(ran);
    let environment = &kept.record.header.provenance.environment;
    assert_eq!(environment["NCCL_P2P_DISABLE"], "1");
    for (path, bytes) in contents(scratch.path()) {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(CANARY), "{path}");
    }
}

/// Every file below a folder with its bytes, sorted.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            files.extend(contents(&path));
        } else if kind.is_file() {
            files.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
    files.sort();
    files
}
