//! `tplens serve slo` on the embedded engine over HTTP: the knee that arithmetic gives, a search that was broken off, refusals.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::study::common::skipped;

/// A folder and an engine for one test; both go with it.
struct Scene {
    folder: PathBuf,
    engine: Child,
    url: String,
}

fn program() -> Command {
    built::named("serve-bench")
}

impl Scene {
    /// Llama 3.1 8B on one device, twice as fast as the box, at most 11 sequences in a step.
    fn new(name: &str) -> Self {
        let name = format!("serve-bench-slo-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let arguments =
            "engine --box rtxpro6000-mig --model llama-3.1-8b --port 0 --speed 2 --max-num-seqs 11";
        let mut engine = program()
            .args(arguments.split(' '))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut first = String::new();
        BufReader::new(engine.stdout.take().unwrap())
            .read_line(&mut first)
            .unwrap();
        let url = first.trim_end().strip_prefix("listening on ").unwrap();
        Self {
            folder,
            engine,
            url: url.to_owned(),
        }
    }

    fn out(&self) -> PathBuf {
        self.folder.join("search")
    }

    /// 11 in flight all go on at once, so each first token takes two steps at most, 13 ms together. The twelfth waits until a
    /// place is free, 64 steps of 6.5 ms: 416 ms. A limit half way leaves 200 ms for a busy machine.
    fn search(&self) -> Command {
        let mut command = program();
        command
            .args(["slo", "--slo", "max_ttft<=210ms", "--search", "concurrency"])
            .args(["--seed", "1", "--out"])
            .arg(self.out())
            .args(["--", "--base-url", &self.url])
            .args(["--random-input-len", "8", "--random-output-len", "32"])
            .args(["--num-warmups", "1"])
            .stdin(Stdio::null());
        command
    }

    fn answer(&self) -> Value {
        let text = std::fs::read_to_string(self.out().join("slo.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        drop(self.engine.kill());
        drop(self.engine.wait());
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

#[track_caller]
fn ended(output: &Output, code: i32) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{said}");
    said
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
    let scene = Scene::new("knee");
    let mut broken = scene
        .search()
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Killed where it hurts: the third run is under way, and nobody can tidy up.
    let begun = Instant::now();
    while runs(&scene.out()).len() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(120), "no second run");
        assert!(broken.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(5));
    }
    broken.kill().unwrap();
    broken.wait().unwrap();
    let before: Vec<(PathBuf, Vec<u8>)> = runs(&scene.out())
        .into_iter()
        .map(|record| (record.clone(), std::fs::read(record).unwrap()))
        .collect();

    let output = scene.search().output().unwrap();
    if scene.answer()["found"]["outcome"] == "client_limit" {
        skipped("the load generator was the limit: this machine is too busy");
        return;
    }
    let said = ended(&output, 0);
    assert!(said.contains("resumes"), "{said}");
    for (record, bytes) in before {
        assert_eq!(std::fs::read(record).unwrap(), bytes, "done again");
    }
    let answer = scene.answer();
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
        shown.contains("11 in flight") && shown.lines().count() <= 25,
        "{shown}"
    );
    assert!(scene.out().join("report.html").exists());

    // The same folder with another limit is another search.
    let output = program()
        .args(["slo", "--slo", "max_ttft<=1s", "--out"])
        .arg(scene.out())
        .output()
        .unwrap();
    ended(&output, 2);
}

#[test]
fn a_server_that_is_not_there_ends_the_search_with_its_reason() {
    let folder = std::env::temp_dir().join(format!("serve-bench-slo-none-{}", std::process::id()));
    // A port that was free a moment ago.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let output = program()
        .args(["slo", "--slo", "mean_ttft<=1s", "--out"])
        .arg(&folder)
        .args(["--", "--base-url", &url])
        .output()
        .unwrap();
    let said = ended(&output, 3);
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(said.contains("run-01-1 ended with exit code 3"), "{said}");
}
