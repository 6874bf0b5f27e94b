//! `tplens monitor` beside the load, from before the first step to behind the last one: a process of its own, because vendor calls can
//! block. Its lines go to a file and are kept for judging.
//!
//! Where it dies or falls silent the rest of the run stands; only what it would have seen is missing.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use record::private;
use record::{MonitorLine, MonitorSample};
use runner::{Event, Interrupt, Ladder, LineSink, Worker};

use super::process;
use crate::judge::{BLOCKED, has_ended};

/// Readings a second.
const HZ: &str = "10";

/// How long its header may take: a driver that nobody uses starts up first.
const FIRST: Duration = Duration::from_secs(15);

/// Lines that are kept whole; of those behind them two or three a second, and every change of a link or of what holds clocks down.
const WHOLE: usize = 100_000;

/// Between two samples of a device that are kept where nothing changed, ns: often enough to show that somebody watched all the time.
const SPARSE_NS: u64 = 350_000_000;

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
    seen: Arc<Mutex<Seen>>,
}

/// What a monitor said.
#[derive(Debug)]
struct Seen {
    file: File,
    lines: Vec<MonitorLine>,
    /// The last sample of each device that was kept.
    kept: BTreeMap<usize, MonitorSample>,
    /// When the last line came.
    last: Instant,
}

/// What came of a monitor.
#[derive(Debug)]
pub(crate) struct Watched {
    /// Its lines.
    pub(crate) lines: Vec<MonitorLine>,
    /// Why it did not last to the end.
    pub(crate) lost: Option<String>,
}

impl Monitor {
    /// Starts it and waits for its header, for as long as a driver takes to start.
    ///
    /// # Errors
    /// The system refuses, or the file cannot be made.
    pub(crate) fn start(arguments: &[String], file: &Path, interrupt: &Interrupt) -> Result<Self> {
        let opened = private::append_new(file)
            .with_context(|| format!("cannot write {}", file.display()))?;
        let seen = Arc::new(Mutex::new(Seen {
            file: opened,
            lines: Vec::new(),
            kept: BTreeMap::new(),
            last: Instant::now(),
        }));
        let sink: LineSink = {
            let seen = Arc::clone(&seen);
            Arc::new(move |line: &str| lock(&seen).take(line))
        };
        let mut words = vec!["--hz".to_owned(), HZ.to_owned()];
        words.extend(arguments.iter().cloned());
        let mut monitor = Self {
            worker: process::start("monitor", "monitor", &words, sink)?,
            begun: Instant::now(),
            seen,
        };
        let begun = Instant::now();
        while begun.elapsed() < FIRST
            && monitor.is_running()
            && lock(&monitor.seen).lines.is_empty()
        {
            let waited = monitor
                .worker
                .next::<serde_json::Value>(Duration::from_millis(50), interrupt);
            if let Event::Interrupted(_) = waited {
                break;
            }
        }
        Ok(monitor)
    }

    fn is_running(&mut self) -> bool {
        self.ended().is_none()
    }

    /// How it ended, where it did.
    fn ended(&mut self) -> Option<ExitStatus> {
        let look = self
            .worker
            .next::<serde_json::Value>(Duration::ZERO, &Interrupt::none());
        match look {
            Event::Exited(status) => Some(status),
            _ => None,
        }
    }

    /// Why it no longer watches the load that runs now, or ran until now.
    pub(crate) fn lost(&mut self) -> Option<String> {
        if let Some(status) = self.ended() {
            return Some(format!("it ended before the load did: {status}"));
        }
        let seen = lock(&self.seen);
        let silent = seen.last.elapsed();
        if seen.lines.is_empty() {
            return Some("it said nothing".to_owned());
        }
        has_ended(silent, self.begun.elapsed()).then(|| {
            format!(
                "its last line was {:.0} s old when the load ended: {BLOCKED}",
                silent.as_secs_f64()
            )
        })
    }

    /// Ends it and gives what it saw.
    pub(crate) fn end(mut self) -> Watched {
        let lost = self.lost();
        self.worker.end(LADDER);
        let mut seen = lock(&self.seen);
        Watched {
            lines: std::mem::take(&mut seen.lines),
            lost,
        }
    }
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Seen {
    fn take(&mut self, text: &str) {
        // Its words on standard error come here, too.
        let Ok(line) = serde_json::from_str::<MonitorLine>(text) else {
            return;
        };
        self.last = Instant::now();
        if self.lines.len() < WHOLE || self.is_news(&line) {
            // The lines that are judged are kept here; those in the file may be lost on a full disk.
            let _ = writeln!(self.file, "{text}");
            if let MonitorLine::Sample(sample) = &line {
                self.kept.insert(sample.device, (**sample).clone());
            }
            self.lines.push(line);
        }
    }

    /// Whether a line tells more than that all is as it was.
    fn is_news(&self, line: &MonitorLine) -> bool {
        let MonitorLine::Sample(sample) = line else {
            return true;
        };
        let Some(before) = self.kept.get(&sample.device) else {
            return true;
        };
        let told = |of: &MonitorSample| {
            let values = of.values.clone();
            (
                (values.slot_link, values.device_link, values.throttle),
                (
                    values.pcie_replays,
                    values.ecc_corrected,
                    values.ecc_uncorrected,
                ),
                (values.row_remaps, values.retired_pages),
            )
        };
        told(sample) != told(before) || sample.asked_ns.saturating_sub(before.asked_ns) >= SPARSE_NS
    }
}

/// The lines that an earlier process of the run left in a file; torn ones are passed over.
pub(crate) fn read(file: &Path) -> Vec<MonitorLine> {
    let bytes = bounded::head(file, bounded::RECORD).unwrap_or_default();
    String::from_utf8_lossy(&bytes)
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}
