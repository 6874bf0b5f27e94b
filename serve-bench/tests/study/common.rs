//! Folders, programs, and what a study leaves.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

/// A folder for one test, removed at its end.
pub(crate) struct Scratch(PathBuf);

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
        let path =
            std::env::temp_dir().join(format!("serve-bench-study-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file and gives its name.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let file = self.join(name);
        std::fs::write(&file, text).unwrap();
        file.display().to_string()
    }

    /// A result of vLLM's client: 16 in flight, 64 requests of 64 tokens in and 128 out.
    pub(crate) fn vllm(&self, name: &str, tpot: f64) -> String {
        // TTFT 200 ms and 127 gaps; four waves of 16.
        let duration = 4.0 * (200.0 + 127.0 * tpot) / 1e3;
        let value = serde_json::json!({
            "model_id": "qwen2.5-72b", "num_prompts": 64, "request_rate": "inf", "max_concurrency": 16,
            "duration": duration, "completed": 64, "failed": 0, "total_input_tokens": 64 * 64, "total_output_tokens": 64 * 128,
            "request_throughput": 64.0 / duration, "output_throughput": 64.0 * 128.0 / duration,
            "mean_ttft_ms": 200.0, "median_ttft_ms": 200.0, "std_ttft_ms": 1.0, "p99_ttft_ms": 201.0,
            "mean_tpot_ms": tpot, "median_tpot_ms": tpot, "std_tpot_ms": 0.01, "p99_tpot_ms": tpot,
            "mean_itl_ms": tpot, "median_itl_ms": tpot, "std_itl_ms": 0.01, "p99_itl_ms": tpot,
        });
        self.write(name, &value.to_string())
    }

    /// The program, to be run in this folder.
    pub(crate) fn program(&self, arguments: &[&str]) -> Command {
        let mut command = built::named("serve-bench");
        command
            .args(arguments)
            .current_dir(&self.0)
            .stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        let output = self.program(arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ran {
            code: output.status.code().unwrap(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// Runs the program with the words of a line and more of them.
    pub(crate) fn line(&self, line: &str, more: &[&str]) -> Ran {
        let words = line.split_whitespace().chain(more.iter().copied());
        self.run(&words.collect::<Vec<_>>())
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

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

impl Ran {
    #[track_caller]
    pub(crate) fn expect(&self, code: i32) -> &Self {
        assert_eq!(self.code, code, "{}\n{}", self.stderr, self.stdout);
        self
    }
}

/// The program's file.
pub(crate) fn own() -> String {
    built::file().display().to_string()
}

/// Whether the simulated libraries are there; where not, the test is noted as skipped.
pub(crate) fn can_study() -> bool {
    let soft = built::file()
        .ancestors()
        .nth(2)
        .unwrap()
        .join("soft/libnccl.so.2");
    if !soft.exists() {
        skipped(&format!(
            "a study needs {soft:?}; `cargo xtask soft` builds it"
        ));
    }
    soft.exists()
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

/// 5%, 50% and 95% of a range in an explanation.
#[track_caller]
pub(crate) fn range(value: &Value) -> (f64, f64, f64) {
    let of = |name: &str| {
        value[name]
            .as_f64()
            .unwrap_or_else(|| panic!("no {name} in {value}"))
    };
    (of("low"), of("mid"), of("high"))
}

/// A bar of the waterfall.
#[track_caller]
pub(crate) fn bar<'a>(explanation: &'a Value, cause: &str) -> &'a Value {
    let attribution = &explanation["outcome"]["attribution"];
    if cause == "communication" && attribution["communication"].is_object() {
        return &attribution["communication"];
    }
    let bars = attribution["bars"].as_array();
    let bars = bars.unwrap_or_else(|| panic!("nothing attributed: {explanation}"));
    bars.iter()
        .find(|bar| bar["cause"] == cause)
        .unwrap_or_else(|| panic!("no {cause} in {bars:?}"))
}
