//! Cases are run, each command in a folder of its own, and their documents become values.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value};

use super::cases::{self, Case};
use super::names::Names;
use crate::cargo::{self, PROGRAM};
use crate::files::{empty, read};

/// A case that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(300);

/// Kind of a case of which only the exit code counts.
const NO_DOCUMENT: &str = "none";

/// Variables that would change what is measured begin so.
const FOREIGN: &[&str] = &[
    "CUDA_",
    "HIP_",
    "NCCL_",
    "RCCL_",
    "ROCR_",
    "TPLENS_",
    "VLLM_",
    "XDG_STATE_HOME",
];

/// What every case needs.
pub(super) struct Bench {
    root: PathBuf,
    target: PathBuf,
    names: Names,
    pub(super) file: cases::File,
}

impl Bench {
    /// Reads what stands in the folder `golden`.
    pub(super) fn open(golden: &Path) -> Result<Self> {
        let file = cases::read(&read(&golden.join("cases.toml"))?)?;
        let names = read(&golden.join("names.toml"))?;
        Ok(Self {
            root: cargo::root()?,
            target: cargo::build_directory()?,
            names: toml::from_str(&names).context("names.toml does not read")?,
            file,
        })
    }

    /// Runs cases on all processors and gives the values of each by name.
    pub(super) fn run<'a>(
        &self,
        cases: &[&'a Case],
    ) -> Vec<(&'a Case, Result<BTreeMap<String, String>>)> {
        let (open, done) = (Mutex::new(cases.iter()), Mutex::new(Vec::new()));
        let next = || open.lock().ok()?.next().copied();
        let work = || {
            while let Some(case) = next() {
                let outcome = self.values(case);
                // A thread that panicked holds no lock, and ends the scope below.
                if let Ok(mut done) = done.lock() {
                    done.push((case, outcome));
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(work);
            }
        });
        done.into_inner().unwrap_or_default()
    }

    /// Runs a case and gives its values.
    ///
    /// # Errors
    /// It ended with another exit code or not at all, or its document does not read.
    fn values(&self, case: &Case) -> Result<BTreeMap<String, String>> {
        let folder = self.target.join("golden").join(case.id.replace('/', "-"));
        empty(&folder)?;
        if let Some(described) = &case.described {
            let from = self.root.join(self.filled(case, &folder, &described.from));
            fs::write(folder.join("box.toml"), described.apply(&read(&from)?)?)?;
        }
        let before = case.before.iter().map(|before| (before, 0));
        for (command, exit) in before.chain([(&case.run, case.exit)]) {
            let code = self.command(&self.filled(case, &folder, command), &folder)?;
            if code != exit {
                let text = fs::read_to_string(folder.join("stderr")).unwrap_or_default();
                let last = text.lines().rfind(|line| !line.trim().is_empty());
                let last = last.unwrap_or_default();
                bail!("exit {code}, expected {exit} of `{command}`: {last}");
            }
        }
        if case.kind == NO_DOCUMENT {
            return Ok(BTreeMap::new());
        }
        let text = fs::read_to_string(folder.join("stdout"))?;
        let document = match text.starts_with(['{', '[']) {
            true => serde_json::from_str(&text).context("its JSON does not read")?,
            false => rows(&text)?,
        };
        self.names.values(&case.kind, &document)
    }

    /// A text of a case with what stands for names in braces.
    fn filled(&self, case: &Case, folder: &Path, text: &str) -> String {
        let described = folder.join("box.toml");
        let text = text.replace("{}", &case.word);
        let text = text.replace("{out}", &folder.to_string_lossy());
        let mut text = text.replace("{box}", &described.to_string_lossy());
        for (name, path) in &self.file.path {
            text = text.replace(&format!("{{{name}}}"), path);
        }
        text
    }

    /// Runs a command of cases.toml to its end and gives its exit code; what it prints goes into the folder.
    fn command(&self, command: &str, folder: &Path) -> Result<i32> {
        let (program, rest) = command.split_once(' ').unwrap_or((command, ""));
        let leading = self.file.program.get(program);
        let leading = leading.with_context(|| format!("[program] has no {program}"))?;
        let mut command = Command::new(self.target.join("debug").join(PROGRAM));
        let is_ours = |(name, _): &(OsString, OsString)| {
            let name = name.to_string_lossy();
            !FOREIGN.iter().any(|start| name.starts_with(start))
        };
        let mut child = command
            .env_clear()
            .envs(std::env::vars_os().filter(is_ours))
            .args(leading.split_whitespace().chain(rest.split_whitespace()))
            .current_dir(&self.root)
            .env("HOME", folder)
            .env("TPLENS_SOFT_DIR", self.target.join("soft"))
            .stdin(Stdio::null())
            .stdout(File::create(folder.join("stdout"))?)
            .stderr(File::create(folder.join("stderr"))?)
            .spawn()
            .context("tplens did not start")?;
        let begun = Instant::now();
        loop {
            if let Some(status) = child.try_wait()? {
                let code = status.code();
                return code.with_context(|| format!("tplens died: {status}"));
            }
            if begun.elapsed() > LONGEST {
                child.kill()?;
                child.wait()?;
                bail!("tplens did not end within {} s", LONGEST.as_secs());
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Rows of a CSV text as an array of objects by the names of the first line: numbers become numbers, an empty field is null. A quote
/// within a field is not read: none of ours has one.
fn rows(text: &str) -> Result<Value> {
    let fields = |line: &str| -> Vec<String> {
        let mut is_quoted = false;
        let fields = line.split(|letter| {
            is_quoted ^= letter == '"';
            letter == ',' && !is_quoted
        });
        let bare = |field: &str| field.trim_matches('"').to_owned();
        fields.map(bare).collect()
    };
    let mut lines = text.lines().map(fields);
    let head = lines.next().unwrap_or_default();
    let value = |field: String| match serde_json::from_str(&field) {
        Ok(number @ Value::Number(_)) => number,
        _ if field.is_empty() => Value::Null,
        _ => Value::String(field),
    };
    let row = |fields: Vec<String>| {
        ensure!(fields.len() == head.len(), "not as many fields: {fields:?}");
        let pairs = head.iter().cloned().zip(fields.into_iter().map(value));
        Ok(Value::Object(pairs.collect::<Map<_, _>>()))
    };
    lines.map(row).collect()
}
