//! How long `tplens accept fleet` takes over a thousand reports of eight GPUs each, and how much memory: the program itself, as a process.
//!
//! `cargo bench -p accept --bench fleet`. It writes some hundred MiB into the folder for temporary files and removes them.
#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]

#[path = "../tests/fleet/files.rs"]
mod files;

use std::process::Stdio;
use std::time::Instant;

use files::{Shape, watched, write};

/// Runs; the first also brings the files into memory, where they were just written.
const RUNS: usize = 10;

fn main() {
    let folder = std::env::temp_dir().join(format!("accept-bench-fleet-{}", std::process::id()));
    let shape = Shape {
        boxes: 1000,
        gpus: 8,
        points: 300,
    };
    let bytes = write(&folder, shape);
    println!(
        "{} reports of {} GPUs, {} MB together",
        shape.boxes,
        shape.gpus,
        bytes / 1_000_000
    );
    let mut seconds: Vec<f64> = Vec::new();
    let mut most = 0;
    for _ in 0..RUNS {
        let begun = Instant::now();
        let started = built::named("accept")
            .arg("fleet")
            .arg(&folder)
            .stdout(Stdio::null())
            .spawn()
            .expect("accept was built");
        let (ended, held) = watched(started);
        seconds.push(begun.elapsed().as_secs_f64());
        most = most.max(held);
        // One planted outlier.
        assert_eq!(ended.code(), Some(1));
    }
    let median = stats::median(&seconds).unwrap_or_default();
    let interval = stats::median_interval(&seconds);
    println!(
        "{median:.2} s, 95% interval {interval:?}, n={RUNS}; at most {} MB",
        most / 1_000_000
    );
    std::fs::remove_dir_all(&folder).expect("the files of this bench");
}
