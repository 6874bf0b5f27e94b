//! `tplens monitor` beside the load, from before the first step to behind the last one: a process of its own, because vendor calls can
//! block. Its lines go to a file, from which they are judged.
//!
//! Where it dies or falls silent the rest of the run stands; only what it would have seen is missing.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use record::MonitorLine;
use record::private;
use runner::child::{TIED, tplens};
use runner::{Event, Interrupt, Ladder, Worker, WorkerSpec};

use crate::judge::has_ended;

/// How long its header may take: a driver that nobody uses starts up first.
const FIRST: Duration = Duration::from_secs(15);

/// Ends it.
const LADDER: Ladder = Ladder {
    abort: Duration::from_millis(10),
    term: Duration::from_secs(3),
    kill: Duration::from_secs(5),
};

/// A monitor under way.
pub(crate) struct Monitor {
    worker: Worker,
    begun: Instant,
    /// When its last line came.
    last: Arc<Mutex<Option<Instant>>>,
}

impl Monitor {
    /// Starts it and waits for its header, for as long as a driver takes to start.
    ///
    /// # Errors
    /// The system refuses, or the file cannot be made.
    pub(crate) fn start(arguments: &[String], file: &Path, interrupt: &Interrupt) -> Result<Self> {
        let opened = private::append_new(file)
            .with_context(|| format!("cannot write {}", file.display()))?;
        let last = Arc::new(Mutex::new(None));
        let seen = Arc::clone(&last);
        let sink = move |line: &str| {
            // Its words on standard error come here, too.
            if serde_json::from_str::<MonitorLine>(line).is_ok() {
                *lock(&seen) = Some(Instant::now());
                // What a full disk loses is not found good.
                let _ = writeln!(&opened, "{line}");
            }
        };
        let words = [TIED.into(), tplens()?.into(), "monitor".into()].into_iter();
        let words = words.chain(arguments.iter().map(OsString::from));
        let mut spec = WorkerSpec::this_program("monitor", words)?;
        spec.noise = Some(Arc::new(sink));
        let mut monitor = Self {
            worker: Worker::spawn(spec)?,
            begun: Instant::now(),
            last,
        };
        while monitor.begun.elapsed() < FIRST && lock(&monitor.last).is_none() {
            let wait = Duration::from_millis(50);
            let waited = monitor.worker.next::<serde_json::Value>(wait, interrupt);
            if let Event::Interrupted(_) | Event::Exited(_) = waited {
                break;
            }
        }
        Ok(monitor)
    }

    /// Why it no longer watches the load that runs now, or ran until now.
    pub(super) fn lost(&mut self) -> Option<String> {
        let (now, none) = (Duration::ZERO, Interrupt::none());
        let look = self.worker.next::<serde_json::Value>(now, &none);
        if let Event::Exited(status) = look {
            return Some(format!("it ended before the load did: {status}"));
        }
        let last = *lock(&self.last);
        let silent = last.unwrap_or(self.begun).elapsed();
        let is_lost = last.is_none() || has_ended(silent, self.begun.elapsed());
        is_lost.then(|| format!("it was silent for {:.0} s", silent.as_secs_f64()))
    }

    /// Ends it; why it was lost before, where it was.
    pub(super) fn end(mut self) -> Option<String> {
        let lost = self.lost();
        self.worker.end(LADDER);
        lost
    }
}

fn lock(last: &Mutex<Option<Instant>>) -> MutexGuard<'_, Option<Instant>> {
    last.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The lines of a file; torn ones are passed over.
pub(super) fn read(file: &Path) -> Vec<MonitorLine> {
    let lines = File::open(file).into_iter();
    let lines = lines.flat_map(|file| BufReader::new(file).split(b'\n').map_while(Result::ok));
    lines
        .filter_map(|line| serde_json::from_slice(&line).ok())
        .collect()
}
