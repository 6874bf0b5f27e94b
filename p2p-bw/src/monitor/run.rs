//! A monitor from its command line to its last line: finds the devices, writes the header, keeps time.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use inventory::{Built, Found};
use program::{Stop, provenance, say, signal_name, sim};
use record::exit;
use record::{
    LinkDevice, MONITOR_SCHEMA, MonitorDevice, MonitorEnd, MonitorGap, MonitorHeader, MonitorLate,
    MonitorLine, MonitorSample,
};
use runner::{Interrupt, Signal};
use rustix::param::clock_ticks_per_second;
use topology::Sysfs;

use super::args::MonitorArgs;
use super::processes::{Processes, Seen};
use super::stream::{Broken, Stream, ns};
use super::ticks::Ticks;
use super::watch::{Came, Watch};
use crate::begun::Begun;
use crate::messages::{Answer, SamplerReply, What};

/// How long a driver may take to list its devices.
const LISTING: Duration = Duration::from_secs(20);

/// How long the first answers may take, which the header waits for: a driver that nobody uses starts up first.
const FIRST: Duration = Duration::from_secs(10);

/// How long answers that are outstanding at the end may take.
const LAST: Duration = Duration::from_secs(1);

/// Watches until the time is over, a signal comes or the reader goes away, and gives the exit code.
///
/// # Errors
/// What ended it before its header, or a standard output that does not take it.
pub(crate) fn run(args: &MonitorArgs, interrupt: &Interrupt) -> Result<u8, Stop> {
    let ended = watch(args, interrupt);
    sim::forget();
    ended
}

fn watch(args: &MonitorArgs, interrupt: &Interrupt) -> Result<u8, Stop> {
    // Processes are those of this machine, on a simulated machine, too.
    let mut processes = Processes::watch(Sysfs::real(), &args.pids, clock_ticks_per_second())
        .map_err(Stop::Usage)?;
    let (begun, found) = Begun::look(&args.on, "monitor", LISTING, interrupt)?;
    begun.tell(&|line| say!("{line}"));
    let chosen = &begun.chosen;
    let addresses = found.iter().map(|found| found.pci.clone()).collect();
    let root = begun.sysfs.root().to_owned();
    let mut watch = Watch::start(chosen.backend, root, addresses, interrupt)?;
    let gaps = match first_answers(&mut watch, chosen.backend) {
        Ok(first) => first,
        Err(stop) => {
            watch.end();
            return Err(stop);
        }
    };
    let mut session = Session {
        stream: Stream::start(),
        known: known(&gaps, found.len()),
        backend: chosen.backend,
        watch,
    };
    let header = header(args, &begun, &found, &session.stream, gaps, &processes);
    processes.begin();
    let ended = session
        .stream
        .write(&MonitorLine::Header(Box::new(header)))
        .and_then(|()| session.keep_time(args, &mut processes));
    session.watch.end();
    match ended {
        Ok(code) => Ok(code),
        Err(Broken::ReaderGone) => Ok(exit::DONE),
        Err(Broken::Failed(stop)) => Err(stop),
    }
}

fn header(
    args: &MonitorArgs,
    begun: &Begun,
    found: &[Found],
    stream: &Stream,
    unavailable: Vec<MonitorGap>,
    processes: &Processes,
) -> MonitorHeader {
    let device = |device: LinkDevice| MonitorDevice {
        label: device.label,
        name: device.name,
        uuid: device.uuid,
        address: device.address,
        node: device.node,
        mig: device.mig,
    };
    MonitorHeader {
        schema: MONITOR_SCHEMA,
        program: env!("CARGO_PKG_NAME").to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started: provenance::now(),
        started_unix_ns: stream.started_unix_ns(),
        boot_id: begun.machine.boot_id.clone(),
        hz: args.hz,
        duration_s: args.duration.map(|duration| duration.as_secs_f64()),
        soft_box: begun.chosen.inventory.soft_box.clone(),
        backend: inventory::backend(&begun.chosen),
        devices: begun.describe(found).into_iter().map(device).collect(),
        processes: processes.list(),
        unavailable,
    }
}

/// What each device does not give, from a reading that is not written.
fn first_answers(watch: &mut Watch<'_>, backend: Built) -> Result<Vec<MonitorGap>, Stop> {
    let began = Instant::now();
    let mut gaps = Vec::new();
    (0..watch.devices()).for_each(|device| watch.ask(device, What::Values));
    while watch.is_waiting() {
        let left = FIRST.saturating_sub(began.elapsed());
        match watch.next(left) {
            Came::Answer(SamplerReply { device, answer }, _) => {
                let Answer::Values { missing, .. } = answer else {
                    continue;
                };
                let gap = |(key, reason): (String, String)| MonitorGap {
                    device,
                    key: Some(key),
                    reason,
                };
                gaps.extend(missing.into_iter().map(gap));
            }
            Came::Signal(signal) => return Err(Stop::Interrupted(signal)),
            Came::Ended(what) => return Err(Stop::Refused(what.into())),
            Came::Nothing if left.is_zero() => break,
            Came::Nothing => {}
        }
    }
    let silent =
        (0..watch.devices()).filter_map(|device| Some((device, watch.outstanding(device)?)));
    gaps.extend(silent.map(|(device, asked)| MonitorGap {
        device,
        key: None,
        reason: no_answer(backend, asked.elapsed()),
    }));
    gaps.sort_by(|a, b| (a.device, &a.key).cmp(&(b.device, &b.key)));
    Ok(gaps)
}

fn no_answer(backend: Built, waited: Duration) -> String {
    let source = backend.managed().map_or("nobody", |managed| managed.name);
    format!(
        "the reading through {source} has no answer after {:.1} s",
        waited.as_secs_f64()
    )
}

/// The reasons that the header gives, by device and key.
fn known(gaps: &[MonitorGap], devices: usize) -> Vec<BTreeMap<String, String>> {
    let mut known = vec![BTreeMap::new(); devices];
    for gap in gaps {
        if let Some(key) = &gap.key {
            known[gap.device].insert(key.clone(), gap.reason.clone());
        }
    }
    known
}

/// A stream under way.
struct Session<'a> {
    stream: Stream,
    watch: Watch<'a>,
    known: Vec<BTreeMap<String, String>>,
    backend: Built,
}

impl Session<'_> {
    /// Writes lines until the end, the last one among them, and gives the exit code.
    fn keep_time(&mut self, args: &MonitorArgs, processes: &mut Processes) -> Result<u8, Broken> {
        let mut ticks = Ticks::new(args.hz);
        let end = args.duration.unwrap_or(Duration::MAX);
        let ended = loop {
            let due = ticks.due().min(end);
            if let Some(ended) = self.until(due)? {
                break ended;
            }
            if due == end {
                break Ended::Duration;
            }
            ticks.take(self.stream.now());
            self.tick(processes)?;
        };
        if let Ended::Duration = ended {
            self.last_answers()?;
        }
        let (reason, code) = match &ended {
            Ended::Duration => ("duration".to_owned(), exit::DONE),
            Ended::Signal(signal) => (signal_name(*signal).to_owned(), signal.exit_code()),
            Ended::NoReader(what) => (what.clone(), exit::INCONCLUSIVE),
        };
        self.stream.write(&MonitorLine::End(MonitorEnd {
            at_ns: ns(self.stream.now()),
            reason,
            samples: self.stream.samples,
            late: self.stream.late,
            skipped: ticks.skipped,
        }))?;
        Ok(code)
    }

    /// Asks every device that has answered, says which has not, and tells what processes used.
    fn tick(&mut self, processes: &mut Processes) -> Result<(), Broken> {
        for device in 0..self.watch.devices() {
            match self.watch.outstanding(device) {
                None => self.watch.ask(device, What::Values),
                Some(asked) => self.late(device, asked)?,
            }
        }
        let now = self.stream.now();
        for seen in processes.seen(now) {
            self.stream.write(&match seen {
                Seen::Used(used) => MonitorLine::Cpu(used),
                Seen::Gone(pid) => MonitorLine::Gone {
                    at_ns: ns(now),
                    pid,
                },
            })?;
        }
        Ok(())
    }

    /// Writes what comes until an instant; what ends the stream before it is given back.
    fn until(&mut self, due: Duration) -> Result<Option<Ended>, Broken> {
        loop {
            let left = due.saturating_sub(self.stream.now());
            match self.watch.next(left) {
                Came::Answer(reply, asked) => self.answer(reply, asked)?,
                Came::Signal(signal) => return Ok(Some(Ended::Signal(signal))),
                Came::Ended(what) => return Ok(Some(Ended::NoReader(what))),
                Came::Nothing if left.is_zero() => return Ok(None),
                Came::Nothing => {}
            }
        }
    }

    fn answer(&mut self, reply: SamplerReply, asked: Instant) -> Result<(), Broken> {
        let SamplerReply { device, answer } = reply;
        let Answer::Values { values, missing } = answer else {
            return Ok(());
        };
        let known = self.known.get(device);
        let is_news = |(key, reason): &(String, String)| {
            known.and_then(|known| known.get(key)) != Some(reason)
        };
        let sample = MonitorSample {
            device,
            asked_ns: ns(self.stream.since_start(asked)),
            answered_ns: ns(self.stream.now()),
            values: *values,
            missing: missing.into_iter().filter(is_news).collect(),
        };
        self.stream.write(&MonitorLine::Sample(Box::new(sample)))
    }

    fn late(&mut self, device: usize, asked: Instant) -> Result<(), Broken> {
        let waited = asked.elapsed();
        self.stream.write(&MonitorLine::Late(MonitorLate {
            device,
            at_ns: ns(self.stream.now()),
            waited_ns: ns(waited),
            what: no_answer(self.backend, waited),
        }))
    }

    /// Waits a little for what is outstanding once the time is over, and says what did not come.
    fn last_answers(&mut self) -> Result<(), Broken> {
        let end = self.stream.now() + LAST;
        while self.watch.is_waiting() {
            let left = end.saturating_sub(self.stream.now());
            match self.watch.next(left) {
                Came::Answer(reply, asked) => self.answer(reply, asked)?,
                Came::Nothing if !left.is_zero() => {}
                _ => break,
            }
        }
        for device in 0..self.watch.devices() {
            if let Some(asked) = self.watch.outstanding(device) {
                self.late(device, asked)?;
            }
        }
        Ok(())
    }
}

/// Why a stream ends.
enum Ended {
    Duration,
    Signal(Signal),
    /// The process that reads devices ended.
    NoReader(String),
}
