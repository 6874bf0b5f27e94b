//! `tplens monitor` as a child beside a load: its lines go to files, which are read when the load has ended.
//!
//! Vendor calls can block, so they are made in that program and not here. It dies with the thread that started it. Its clock's zero
//! is when its header is there, late by [`LOOK`] at most.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use record::{MonitorHeader, MonitorLine, private};
use runner::child::{PARENT_VARIABLE, TIED, last_line, tplens};
use rustix::process::{Pid, Signal, kill_process};

/// Readings a second.
const HZ: &str = "2";

/// How long the load waits for the header: a driver that nobody uses starts up first.
const FIRST: Duration = Duration::from_secs(15);

/// How often it is looked whether the header is there.
const LOOK: Duration = Duration::from_millis(5);

/// How long the child has to write its last line.
const LAST: Duration = Duration::from_secs(3);

/// Lines that are kept at most: with eight GPUs some hours.
const MAX_LINES: usize = 200_000;

/// A monitor under way.
pub(super) struct Monitor {
    child: Child,
    /// What it measures, and what it says on standard error.
    files: [PathBuf; 2],
    began: Instant,
}

impl Monitor {
    /// Starts it on these processes.
    ///
    /// # Errors
    /// It does not start; in words.
    pub(super) fn start(pids: &[u32]) -> Result<Self, String> {
        let start = || -> anyhow::Result<Self> {
            let name = |end| format!("tplens-monitor-{}.{end}", std::process::id());
            let files = ["jsonl", "log"].map(|end| std::env::temp_dir().join(name(end)));
            let open = |file: &PathBuf| {
                drop(std::fs::remove_file(file));
                private::create(file)
            };
            let (out, said): (File, File) = (open(&files[0])?, open(&files[1])?);
            let mut command = Command::new(std::env::current_exe()?);
            command
                .arg(TIED)
                .arg(tplens()?)
                .args(["monitor", "--hz", HZ])
                .env(PARENT_VARIABLE, std::process::id().to_string())
                .process_group(0)
                .stdin(Stdio::null())
                .stdout(out)
                .stderr(said);
            if !pids.is_empty() {
                let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
                command.arg("--pids").arg(pids.join(","));
            }
            let child = command.spawn()?;
            let began = Instant::now();
            Ok(Self {
                child,
                files,
                began,
            })
        };
        start().map_err(|error| format!("it does not start: {error}"))
    }

    /// Waits until its header is there, it ends, or it takes too long.
    pub(super) fn wait(&mut self, is_stopped: impl Fn() -> bool) {
        let begun = Instant::now();
        let is_empty = |file: &PathBuf| file.metadata().is_ok_and(|file| file.len() == 0);
        while begun.elapsed() < FIRST && !is_stopped() && is_empty(&self.files[0]) {
            if !matches!(self.child.try_wait(), Ok(None)) {
                break;
            }
            std::thread::sleep(LOOK);
        }
        self.began = Instant::now();
    }

    /// Ends it, and gives its header, when its clock began, and what it saw.
    ///
    /// # Errors
    /// It wrote no header; in words.
    pub(super) fn end(mut self) -> Result<(MonitorHeader, Instant, Vec<MonitorLine>), String> {
        if let Some(id) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // It may have ended by itself.
            let _ = kill_process(id, Signal::TERM);
        }
        let asked = Instant::now();
        while asked.elapsed() < LAST && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(LOOK);
        }
        let [out, said] = &self.files;
        let [out, said] = [out, said].map(|file| bounded::text(file, bounded::RESULT));
        let text = out.unwrap_or_default();
        // The last line of one that was killed may be half.
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let mut lines = lines.take(MAX_LINES + 1);
        match lines.next() {
            Some(MonitorLine::Header(header)) => Ok((*header, self.began, lines.collect())),
            _ => Err(format!(
                "tplens monitor says `{}`",
                last_line(&said.unwrap_or_default())
            )),
        }
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for file in &self.files {
            drop(std::fs::remove_file(file));
        }
    }
}
