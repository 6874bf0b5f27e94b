//! The proof kit `bench/agree` on a simulated machine, with a stand-in for PyTorch whose numbers are chosen here.

use std::path::Path;
use std::process::{Command, Output};

use super::common::{Scratch, skip};

/// What the stand-in prints, in GB/s: the machine file of l40x4 has 25.6 to the device, 25.9 back and 9.0 from pageable memory.
fn kit(scratch: &Scratch, to_device: f64) -> Option<Output> {
    let told = format!(
        "{{\"row\": \"h2d pinned GPU0\", \"value\": {to_device}, \"unit\": \"GB/s\"}}\n\
         {{\"row\": \"d2h pinned GPU0\", \"value\": 25.9, \"unit\": \"GB/s\"}}\n\
         {{\"row\": \"h2d pageable GPU0\", \"value\": 9.0, \"unit\": \"GB/s\"}}\n"
    );
    std::fs::write(scratch.join("told"), told).unwrap();
    let kit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/agree/agree.py");
    let mut python = Command::new("python3");
    python.arg("-B").arg(kit).current_dir(scratch.path());
    python.arg("--tplens").arg(built::file());
    python.args(["--sim", "l40x4", "--gpus", "0", "--rounds", "3"]);
    python.args(["--torch-peer", "cat told", "--markdown", "table.md"]);
    match python.output() {
        Ok(output) => Some(output),
        Err(error) => {
            skip(&format!("python3: {error}"));
            None
        }
    }
}

/// The verdict of a row of the table, and its ratio.
fn row(table: &str, name: &str) -> (String, f64) {
    let line = table
        .lines()
        .find(|line| line.starts_with(&format!("| {name} |")));
    let cells: Vec<&str> = line.unwrap().split('|').map(str::trim).collect();
    (cells[9].to_owned(), cells[6].parse().unwrap())
}

#[test]
fn the_kit_says_which_number_of_a_peer_is_wrong_and_which_agrees() {
    let scratch = Scratch::new();
    let Some(right) = kit(&scratch, 25.6) else {
        return;
    };
    let table = std::fs::read_to_string(scratch.join("table.md")).unwrap();
    assert_eq!(right.status.code(), Some(0), "{table}{right:?}");
    assert_eq!(String::from_utf8_lossy(&right.stdout), table);
    assert_eq!(row(&table, "h2d pinned GPU0").0, "agrees");
    // A peer that says 10% more: 25.6 / 28.16 = 0.909; the machine's noise is 1%.
    let wrong = kit(&scratch, 28.16).unwrap();
    let table = std::fs::read_to_string(scratch.join("table.md")).unwrap();
    assert_eq!(wrong.status.code(), Some(1), "{table}");
    let (verdict, ratio) = row(&table, "h2d pinned GPU0");
    assert_eq!(verdict, "differs");
    assert!((ratio - 0.909).abs() < 0.01, "{ratio}");
    assert_eq!(row(&table, "d2h pinned GPU0").0, "agrees");
}

#[test]
fn without_a_gpu_the_kit_compares_nothing_and_says_so() {
    let scratch = Scratch::new();
    let kit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/agree/agree.py");
    let mut python = Command::new("python3");
    python
        .arg("-B")
        .arg(kit)
        .args(["--tplens", "/nonexistent/tplens"]);
    match python.current_dir(scratch.path()).output() {
        Ok(output) => assert_eq!(output.status.code(), Some(3), "{output:?}"),
        Err(error) => skip(&format!("python3: {error}")),
    }
}
