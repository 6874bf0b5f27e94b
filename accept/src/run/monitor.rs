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
use program::say;
use record::private;
use record::{MonitorLine, MonitorSample};
use runner::child::{TIED, tplens};
use runner::{Event, Interrupt, Ladder, LineSink, Worker, WorkerSpec};

use super::session::Session;
use crate::checks::Group;
use crate::findings::Missing;
use crate::judge::has_ended;
use crate::report::ReasonCode;

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
    fn lost(&mut self) -> Option<String> {
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

/// The name of the file of this number, from 1 on; each process of a run has one.
pub(crate) fn monitor_file(number: usize) -> String {
    format!("monitor-{number}.jsonl")
}

/// The lines that an earlier process of the run left in a file; torn ones are passed over.
fn read(file: &Path) -> Vec<MonitorLine> {
    let bytes = bounded::head(file, bounded::RECORD).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().map(serde_json::from_str);
    lines.filter_map(Result::ok).collect()
}

impl Session<'_> {
    /// Takes up what the monitors of earlier processes of this run saw, and starts one.
    pub(super) fn watch(&mut self) {
        let names = (1..).map(monitor_file).map(|name| self.folder.join(&name));
        let earlier: Vec<_> = names.take_while(|file| file.exists()).collect();
        let lines = earlier.iter().flat_map(|file| read(file));
        self.findings.monitor = lines.collect();
        let devices = self.bench.devices.iter().map(|one| one.number.as_str());
        let devices: Vec<&str> = devices.collect();
        let words = [
            "--backend",
            self.bench.backend,
            "--gpus",
            &devices.join(","),
        ];
        let mut words = words.map(str::to_owned).to_vec();
        words.extend(self.bench.simulated());
        let file = self.folder.join(&monitor_file(earlier.len() + 1));
        let started = Monitor::start(&words, &file, self.interrupt);
        self.monitor = Some(started.map_err(|error| format!("{error:#}")));
    }

    /// Whether somebody watches what runs now, or ran until now.
    pub(super) fn is_watched(&mut self) -> bool {
        match &mut self.monitor {
            Some(Ok(monitor)) => monitor.lost().is_none(),
            _ => false,
        }
    }

    /// Ends the monitor and takes what it saw. What ran unwatched is done, and stays unwatched.
    pub(super) fn unwatch(&mut self) {
        let lost = match self.monitor.take() {
            None => None,
            Some(Err(why)) => Some(why),
            Some(Ok(mut monitor)) => {
                let lost = monitor.lost();
                monitor.worker.end(LADDER);
                let lines = std::mem::take(&mut lock(&monitor.seen).lines);
                self.findings.monitor.extend(lines);
                lost
            }
        };
        let mut unwatched = self.done.iter().filter(|done| !done.is_watched);
        let unwatched = unwatched
            .next()
            .map(|done| format!("not during {}", done.name));
        match lost.or(unwatched) {
            None => drop(self.findings.missing.remove(&Group::Watch)),
            Some(why) => {
                say!("the monitor was lost: {why}");
                let missing = Missing::of(ReasonCode::Unreadable, why);
                self.findings.missing.insert(Group::Watch, missing);
            }
        }
    }
}
