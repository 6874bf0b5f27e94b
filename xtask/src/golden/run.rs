//! One case: its command is run in a folder of its own, and its document becomes values.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::cases::{Case, Cases, Form};
use super::csv;
use super::names::Names;

/// A case that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(300);

/// Kind of a case of which only the exit code counts.
const NO_DOCUMENT: &str = "none";

/// Variables that would change what is measured begin so.
const FOREIGN: &[&str] = &[
    "CUDA_", "HIP_", "NCCL_", "RCCL_", "ROCR_", "TPLENS_", "VLLM_",
];

/// What every case needs.
pub(super) struct Bench {
    pub(super) root: PathBuf,
    /// Where folders of cases are made.
    pub(super) scratch: PathBuf,
    /// The simulated libraries.
    pub(super) soft: PathBuf,
    /// The file of the program.
    pub(super) program: PathBuf,
    pub(super) cases: Cases,
    pub(super) names: Names,
}

impl Bench {
    /// Runs a case and gives its values by name.
    ///
    /// # Errors
    /// It ended with another exit code or not at all, or its document does not read.
    pub(super) fn values(&self, case: &Case) -> Result<BTreeMap<String, String>> {
        let folder = self.scratch.join(case.id.replace('/', "-"));
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        if let Some(described) = &case.described {
            fs::write(folder.join("box.toml"), described.text(&self.root)?)?;
        }
        for command in &case.before {
            let code = self.command(command, &folder)?;
            ensure!(code == 0, "exit {code} of `{command}`, which comes before");
        }
        let code = self.command(&case.run, &folder)?;
        if code != case.exit {
            let text = fs::read_to_string(folder.join("stderr")).unwrap_or_default();
            let last = text.lines().rfind(|line| !line.trim().is_empty());
            bail!(
                "exit {code}, expected {}: {}",
                case.exit,
                last.unwrap_or_default()
            );
        }
        if case.kind == NO_DOCUMENT {
            return Ok(BTreeMap::new());
        }
        let text = fs::read_to_string(folder.join("stdout"))?;
        let document = match case.form {
            Form::Json => serde_json::from_str(&text).context("it printed no JSON")?,
            Form::Csv => csv::rows(&text),
            Form::Table => csv::table(&text),
        };
        self.names.values(&case.kind, &document)
    }

    /// Runs a command of cases.toml to its end and gives its exit code; what it prints goes into the folder.
    fn command(&self, command: &str, folder: &Path) -> Result<i32> {
        let place = folder.to_string_lossy();
        let described = folder.join("box.toml");
        let mut words = command.split_whitespace();
        let call = words.next().and_then(|name| self.cases.programs.get(name));
        let leading = call.context("a command stands not under [program]")?;
        let fill = |word: &str| {
            word.replace("{out}", &place)
                .replace("{box}", &described.to_string_lossy())
        };
        let mut command = Command::new(&self.program);
        for (name, _) in std::env::vars_os() {
            if FOREIGN
                .iter()
                .any(|start| name.to_string_lossy().starts_with(start))
            {
                command.env_remove(name);
            }
        }
        let mut child = command
            .args(leading)
            .args(words.map(fill))
            .current_dir(&self.root)
            .env("HOME", folder)
            .env_remove("XDG_STATE_HOME")
            .env("TPLENS_SOFT_DIR", &self.soft)
            .stdin(Stdio::null())
            .stdout(File::create(folder.join("stdout"))?)
            .stderr(File::create(folder.join("stderr"))?)
            .spawn()
            .context("tplens did not start")?;
        let begun = Instant::now();
        loop {
            if let Some(status) = child.try_wait()? {
                return status
                    .code()
                    .with_context(|| format!("tplens died: {status}"));
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
