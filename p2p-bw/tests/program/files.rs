//! Files of a run: result folder, `--json`, `--csv`, what `show` makes of them, and what must never be in them.

use std::path::Path;

use record::{Outcome, Record};

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
    // 4 host cases, 1 local one and 1 chase on 2 devices; 2 cases and a chase on the pair, each way; staged copies do not apply
    // to a direct pair: 2 rows without a number.
    let measured = 6 * 2 + 3 * 2;
    assert_eq!(numbers, measured + 2);
    assert_eq!(csv.matches(",measured,").count(), measured);
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
fn a_run_on_host_memory_says_how_long_it_takes_and_ends_with_an_interval() {
    let scratch = Scratch::new();
    let host = [
        "--backend",
        "host",
        "--cases",
        "d2d_write_ce",
        "--out",
        "out",
    ];
    let ran = scratch.run(&[&host[..], &QUICK].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    // Two directions of 64 KiB: two parts of 0.2 s, at most 6 samples of 20 ms each and two probes of 1 s: 2.64 s.
    assert!(
        ran.stderr.contains("2 points to measure, about 3 s"),
        "{}",
        ran.stderr
    );
    assert!(ran.stdout.contains(" ±"), "{}", ran.stdout);
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
