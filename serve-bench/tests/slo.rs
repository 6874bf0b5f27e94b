//! `tplens serve slo` on the embedded engine over HTTP: the knee that arithmetic gives, a search that was broken off, refusals.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::engine::served::Served;
use crate::study::common::{Scratch, skipped};

/// 11 in flight all go on at once, so each first token takes two steps at most, 13 ms together. The twelfth waits until a
/// place is free, 64 steps of 6.5 ms: 416 ms. A limit half way leaves 200 ms for a busy machine.
fn search(scratch: &Scratch, url: &str) -> Command {
    let line = "slo --slo max_ttft<=210ms --search concurrency --seed 1 --out search -- \
                --random-input-len 8 --random-output-len 32 --num-warmups 1 --base-url";
    let mut words: Vec<&str> = line.split_whitespace().collect();
    words.push(url);
    scratch.program(&words)
}

/// Records of runs whose end the search saw.
fn runs(out: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(out).into_iter().flatten();
    let mut records: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|run| !PathBuf::from(format!("{}.open", run.display())).exists())
        .map(|run| run.join("record.json"))
        .filter(|record| record.exists())
        .collect();
    records.sort();
    records
}

#[test]
fn the_largest_concurrency_is_the_number_of_sequences_and_a_killed_search_finds_it_too() {
    let scratch = Scratch::new();
    // Llama 3.1 8B on one device, twice as fast as the box, at most 11 sequences in a step.
    let engine = Served::start(2, &["--max-num-seqs", "11"]);
    let out = scratch.join("search");
    let mut broken = search(&scratch, &engine.url);
    broken.stdout(Stdio::null()).stderr(Stdio::null());
    let mut broken = broken.spawn().unwrap();
    // Killed where it hurts: the third run is under way, and nobody can tidy up.
    let begun = Instant::now();
    while runs(&out).len() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(120), "no second run");
        assert!(broken.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(5));
    }
    broken.kill().unwrap();
    broken.wait().unwrap();
    // What it had found is there.
    let open = scratch.json("search/slo.json");
    assert_eq!(open["found"]["outcome"], "open", "{open}");
    assert_eq!(open["runs"][0]["at"], 4.0, "{open}");
    let read = |record: PathBuf| (record.clone(), std::fs::read(record).unwrap());
    let before: Vec<(PathBuf, Vec<u8>)> = runs(&out).into_iter().map(read).collect();

    let output = search(&scratch, &engine.url).output().unwrap();
    let answer = scratch.json("search/slo.json");
    if answer["found"]["outcome"] == "client_limit" {
        skipped("the load generator was the limit: this machine is too busy");
        return;
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("resumes"), "{said}");
    for (record, bytes) in before {
        assert_eq!(std::fs::read(record).unwrap(), bytes, "done again");
    }
    assert_eq!(answer["found"]["outcome"], "found", "{answer}");
    assert_eq!(answer["found"]["met"], 11.0, "{answer}");
    assert_eq!(answer["found"]["not_met"], 12.0, "{answer}");
    // 4, 8, 16, then 11 (sqrt(8 * 16) = 11.3), 13 (sqrt(11 * 16) = 13.3), 12.
    let made = answer["runs"].as_array().unwrap();
    let mut loads: Vec<f64> = made.iter().map(|run| run["at"].as_f64().unwrap()).collect();
    // A run that a busy machine leaves undecided is made again.
    loads.dedup();
    assert_eq!(loads, [4.0, 8.0, 16.0, 11.0, 13.0, 12.0]);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("SIMULATED on rtxpro6000-mig"), "{shown}");
    assert!(
        shown.contains("11 in flight meets max TTFT 210 ms") && shown.lines().count() <= 25,
        "{shown}"
    );
    assert!(out.join("report.html").exists());

    // The same folder with another limit is another search.
    let other = scratch.line("slo --slo max_ttft<=1s --out search", &[]);
    other.expect(2);
}

#[test]
fn a_server_that_is_not_there_ends_the_search_with_its_reason() {
    // A port that was free a moment ago.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let line = "slo --slo mean_ttft<=1s --out search -- --base-url";
    let ran = Scratch::new().line(line, &[&url]);
    let said = &ran.expect(3).stderr;
    assert!(said.contains("run-01-1 ended with exit code 3"), "{said}");
}
