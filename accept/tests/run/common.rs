//! Folders, programs, simulated machines, and what a run leaves.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use boxfile::{BoxFile, Fault};
use serde_json::Value;

use crate::run::planted::{self, seeded};

/// A folder for one test, removed at its end.
pub(crate) struct Scratch(PathBuf);

/// The verdict and the reason of a check.
pub(crate) type Came = (String, String);

/// The profile and the box that [`Scratch::two`] writes.
pub(crate) const TWO: (&str, &str) = ("profile.toml", "box.toml");

/// A program that ended.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("accept-run-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The program, to be run in this folder.
    pub(crate) fn program(&self, arguments: &[&str]) -> Command {
        let mut command = built::named("accept");
        command
            .args(arguments)
            .current_dir(&self.0)
            .stdin(Stdio::null())
            .env("HOME", &self.0)
            .env_remove("XDG_STATE_HOME");
        command
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(&mut self.program(arguments))
    }

    /// Runs a profile on a box into a new folder.
    pub(crate) fn on(&self, on: (&str, &str), out: &str, more: &[&str]) -> Ran {
        self.run(&arguments(on, ["--out", out], more))
    }

    /// Writes a box file and gives its name.
    pub(crate) fn describe(&self, described: &BoxFile, name: &str) -> String {
        described.validate("a box of a test").unwrap();
        std::fs::write(self.join(name), described.to_toml().unwrap()).unwrap();
        name.to_owned()
    }

    /// Writes [`TWO`]: a box of two L40 with these faults, and a profile for it that takes few samples.
    pub(crate) fn two(&self, faults: Vec<Fault>) {
        let mut described = seeded("l40x4", 40);
        planted::two(&mut described);
        described.fault = faults;
        self.describe(&described, TWO.1);
        std::fs::write(self.join(TWO.0), PROFILE).unwrap();
    }

    /// A JSON file below the folder.
    #[track_caller]
    pub(crate) fn json(&self, name: &str) -> Value {
        let file = self.join(name);
        let text = std::fs::read_to_string(&file)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        serde_json::from_str(&text).unwrap()
    }
}

/// The arguments of a run of a profile on a box, into a new folder or in one that is resumed.
pub(crate) fn arguments<'a>(
    (profile, described): (&'a str, &'a str),
    [how, folder]: [&'a str; 2],
    more: &[&'a str],
) -> Vec<&'a str> {
    let mut words = vec!["run", "--profile", profile, "--sim", described, how, folder];
    words.extend(more);
    words
}

/// Two of the four devices of the shipped profile, at its limits; what a simulated machine of two devices cannot be judged by is left out.
const PROFILE: &str = r#"
schema = "accept-profile/1"
name = "two"
title = "two L40 of a test"
extends = "l40x4"

[match]
backend = "cuda"
names = ["NVIDIA L40"]
count = 2

[sampling]
repeats = 12
max_repeats = 24

[numa]
nodes = [0, 0]
source = "both cards of the test's box are on the first socket"

[required]
quick = ["inventory", "link", "h2d_pinned", "d2h_pinned", "peer_access", "p2p", "data", "counters"]
standard = ["inventory"]
soak = ["inventory", "h2d_pinned", "drift"]
"#;

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

impl Ran {
    pub(crate) fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self {
            code: output.status.code().unwrap(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    #[track_caller]
    pub(crate) fn expect(&self, code: i32) -> &Self {
        assert_eq!(self.code, code, "{}\n{}", self.stderr, self.stdout);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }
}

/// Waits until something is so, two minutes at most.
#[track_caller]
pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(120), "not so: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The verdict and the reason of each check of a report by its id.
pub(crate) fn checks(report: &Value) -> BTreeMap<String, Came> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let checks = report["checks"].as_array().unwrap().iter();
    checks
        .map(|check| {
            let came = (text(&check["verdict"]), text(&check["reason"]["code"]));
            (text(&check["id"]), came)
        })
        .collect()
}

/// Whether the simulated libraries are there; where not, the test is noted as skipped.
pub(crate) fn can_run() -> bool {
    let program = built::file();
    let folder = program.parent().unwrap();
    let soft = std::env::var_os("TPLENS_SOFT_DIR")
        .map_or_else(|| folder.parent().unwrap().join("soft"), PathBuf::from);
    let needed = [soft.join("libcuda.so.1"), soft.join("libnccl.so.2")];
    let missing: Vec<PathBuf> = needed.into_iter().filter(|file| !file.exists()).collect();
    if !missing.is_empty() {
        skipped(&format!(
            "a run needs {missing:?}; `cargo xtask test` builds them"
        ));
    }
    missing.is_empty()
}

/// Whether `cargo xtask test --full` runs: every seed, kill and combination, and not the few of each run.
pub(crate) fn full() -> bool {
    std::env::var_os("TPLENS_FULL").is_some()
}

/// Whether a test that takes minutes can run: by `cargo xtask test --full`; the golden corpus has what each run needs.
pub(crate) fn can_run_in_full() -> bool {
    if !full() {
        let name = std::thread::current().name().unwrap_or("a test").to_owned();
        skipped(&format!("accept {name}: `cargo xtask test --full` runs it"));
        return false;
    }
    can_run()
}

/// Notes a test that cannot run here.
pub(crate) fn skipped(reason: &str) {
    use std::io::Write as _;
    let Some(log) = std::env::var_os("TPLENS_SKIP_LOG") else {
        return;
    };
    let mut file = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(log)
        .unwrap();
    writeln!(file, "{reason}").unwrap();
}
