//! `tplens monitor` beside the load, from before the first step to behind the last one: a process of its own, because vendor calls can
//! block. Its lines go to a file and are kept for judging.
//!
//! Where it dies or falls silent the rest of the run stands; only what it would have seen is missing.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use record::private;
use record::{MonitorLine, MonitorSample};
use runner::child::{TIED, tplens};
use runner::{Event, Interrupt, Ladder, LineSink, Worker, WorkerSpec};

use crate::judge::has_ended;

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
    seen: Arc<Mutex<Lines>>,
}

/// The lines of a monitor.
struct Lines {
    file: File,
    lines: Vec<MonitorLine>,
    /// The last sample of each device that was kept.
    kept: BTreeMap<usize, MonitorSample>,
    /// When the last line came.
    last: Instant,
}

impl Monitor {
    /// Starts it and waits for its header, for as long as a driver takes to start.
    ///
    /// # Errors
    /// The system refuses, or the file cannot be made.
    pub(crate) fn start(arguments: &[String], file: &Path, interrupt: &Interrupt) -> Result<Self> {
        let opened = private::append_new(file)
            .with_context(|| format!("cannot write {}", file.display()))?;
        let seen = Arc::new(Mutex::new(Lines {
            file: opened,
            lines: Vec::new(),
            kept: BTreeMap::new(),
            last: Instant::now(),
        }));
        let sink: LineSink = {
            let seen = Arc::clone(&seen);
            Arc::new(move |line: &str| lock(&seen).take(line))
        };
        let words = [TIED.into(), tplens()?.into()].into_iter();
        let words = words.chain(["monitor", "--hz", HZ].map(OsString::from));
        let mut spec =
            WorkerSpec::this_program("monitor", words.chain(arguments.iter().map(OsString::from)))?;
        spec.noise = Some(sink);
        let mut monitor = Self {
            worker: Worker::spawn(spec)?,
            begun: Instant::now(),
            seen,
        };
        while monitor.begun.elapsed() < FIRST && lock(&monitor.seen).lines.is_empty() {
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
        let now = Duration::ZERO;
        let look = self
            .worker
            .next::<serde_json::Value>(now, &Interrupt::none());
        if let Event::Exited(status) = look {
            return Some(format!("it ended before the load did: {status}"));
        }
        let seen = lock(&self.seen);
        let silent = seen.last.elapsed();
        let is_lost = seen.lines.is_empty() || has_ended(silent, self.begun.elapsed());
        is_lost.then(|| format!("it was silent for {:.0} s", silent.as_secs_f64()))
    }

    /// Ends it and gives its lines.
    pub(super) fn end(mut self) -> Vec<MonitorLine> {
        self.worker.end(LADDER);
        std::mem::take(&mut lock(&self.seen).lines)
    }
}

fn lock(seen: &Mutex<Lines>) -> MutexGuard<'_, Lines> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Lines {
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
        let lasting = |of: &MonitorSample| {
            let values = of.values.clone();
            (
                (values.slot_link, values.device_link, values.throttle),
                (values.pcie_replays, values.ecc_corrected),
                (values.ecc_uncorrected, values.row_remaps),
                values.retired_pages,
            )
        };
        lasting(sample) != lasting(before)
            || sample.asked_ns.saturating_sub(before.asked_ns) >= SPARSE_NS
    }
}

/// The lines that an earlier process of the run left in a file; torn ones are passed over.
pub(super) fn read(file: &Path) -> Vec<MonitorLine> {
    let bytes = bounded::head(file, bounded::RECORD).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().map(serde_json::from_str);
    lines.filter_map(Result::ok).collect()
}
