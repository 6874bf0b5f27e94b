//! A monitor from its command line to its last line: finds the devices, writes the header, keeps time.

use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use clap::Args;
use inventory::Built;
use program::command_line::seconds;
use program::{Stop, provenance, signal_name, sim};
use record::{
    LinkDevice, MONITOR_SCHEMA, MonitorDevice, MonitorEnd, MonitorGap, MonitorHeader, MonitorLate,
    MonitorLine, MonitorSample, exit,
};
use runner::{Interrupt, Signal};
use rustix::param::clock_ticks_per_second;
use topology::Sysfs;

use super::processes::Processes;
use super::stream::{Stream, Ticks, ns};
use super::watch::{Came, Watch};
use crate::begun::{Begun, DeviceArgs};
use crate::messages::{Answer, SamplerReply, What};

/// What to watch and how often.
#[derive(Debug, Clone, Args)]
pub(crate) struct MonitorArgs {
    #[command(flatten)]
    on: DeviceArgs,

    /// Readings a second, 0.01 to 100. NVIDIA's two PCIe counters take 20 ms each, so above about 20 some come late and
    /// are told as late. Default: 10, and 1 for lines of text.
    #[arg(long, value_name = "HZ", value_parser = rate, allow_negative_numbers = true)]
    hz: Option<f64>,

    /// Seconds after which to end. Default: until Ctrl-C.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    duration: Option<Duration>,

    /// Processes whose CPU use is reported by NUMA node, with their threads: ids separated by commas.
    #[arg(long, value_name = "PIDS", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pids: Vec<u32>,

    /// JSON lines with all values on a terminal, too, which else gets a short line of text for each reading.
    #[arg(long)]
    json: bool,
}

/// Parses readings a second, for clap.
fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok();
    rate.filter(|rate| (0.01..=100.0).contains(rate))
        .ok_or_else(|| format!("`{text}` is not between 0.01 and 100 readings a second"))
}

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
    let begun = Begun::look(&args.on, "monitor", LISTING, interrupt);
    let ended = begun.and_then(|begun| {
        begun.tell();
        let mut watch = Watch::start(&begun, interrupt)?;
        let ended = watched(args, &begun, &mut watch);
        watch.end();
        ended
    });
    sim::forget();
    ended
}

fn watched(args: &MonitorArgs, begun: &Begun, watch: &mut Watch<'_>) -> Result<u8, Stop> {
    let backend = begun.chosen.backend;
    let gaps = first_answers(watch, backend)?;
    // Processes are those of this machine, on a simulated machine, too.
    let processes = Processes::watch(Sysfs::real(), &args.pids, clock_ticks_per_second());
    let processes = processes.map_err(Stop::Usage)?;
    let is_read_along = !args.json && io::stdout().is_terminal();
    let hz = args.hz.unwrap_or(if is_read_along { 1.0 } else { 10.0 });
    let device = |device: LinkDevice| MonitorDevice {
        label: device.label,
        name: device.name,
        uuid: device.uuid,
        address: device.address,
        node: device.node,
        mig: device.mig,
    };
    let header = MonitorHeader {
        schema: MONITOR_SCHEMA,
        program: env!("CARGO_PKG_NAME").to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started: provenance::now(),
        started_unix_ns: None,
        boot_id: begun.machine.boot_id.clone(),
        hz,
        duration_s: args.duration.map(|duration| duration.as_secs_f64()),
        soft_box: begun.chosen.inventory.soft_box.clone(),
        backend: inventory::backend(&begun.chosen),
        devices: begun.devices.iter().cloned().map(device).collect(),
        processes: processes.list(),
        unavailable: gaps,
    };
    let session = Stream::begin(header, is_read_along).and_then(|stream| {
        let mut session = Session {
            stream,
            watch,
            processes,
            backend,
        };
        session.keep_time(Ticks::new(hz), args.duration.unwrap_or(Duration::MAX))
    });
    session.or_else(|error| match error.kind() {
        // As with `| head`; no failure.
        io::ErrorKind::BrokenPipe => Ok(exit::DONE),
        _ => Err(Stop::Internal(anyhow!(
            "cannot write to standard output: {error}"
        ))),
    })
}

/// What each device does not give, from a reading that is not written.
fn first_answers(watch: &mut Watch<'_>, backend: Built) -> Result<Vec<MonitorGap>, Stop> {
    let mut gaps = Vec::new();
    (0..watch.devices()).for_each(|device| watch.ask(device, What::Values));
    let ended = taken(watch, Instant::now() + FIRST, true, |reply, _| {
        let device = reply.device;
        if let Answer::Values(_, missing) = reply.answer {
            gaps.extend(missing.into_iter().map(|(key, reason)| MonitorGap {
                device,
                key: Some(key),
                reason,
            }));
        }
        Ok(())
    });
    match ended {
        Ok(Some(Ended::Signal(signal))) => return Err(Stop::Interrupted(signal)),
        Ok(Some(Ended::NoReader(what))) => return Err(Stop::Refused(what.into())),
        _ => {}
    }
    for device in 0..watch.devices() {
        gaps.extend(watch.outstanding(device).map(|asked| MonitorGap {
            device,
            key: None,
            reason: no_answer(backend, asked.elapsed()),
        }));
    }
    gaps.sort_by(|a, b| (a.device, &a.key).cmp(&(b.device, &b.key)));
    Ok(gaps)
}

fn no_answer(backend: Built, waited: Duration) -> String {
    let source = backend.managed().map_or("nobody", |managed| managed.name);
    let waited = waited.as_secs_f64();
    format!("the reading through {source} has no answer after {waited:.1} s")
}

/// Takes answers until an instant, or until none is outstanding where no more is asked for; gives what ended it before that.
fn taken(
    watch: &mut Watch<'_>,
    until: Instant,
    only_outstanding: bool,
    mut each: impl FnMut(SamplerReply, Instant) -> io::Result<()>,
) -> io::Result<Option<Ended>> {
    while !only_outstanding || watch.is_waiting() {
        let left = until.saturating_duration_since(Instant::now());
        match watch.next(left) {
            Came::Answer(reply, asked) => each(reply, asked)?,
            Came::Signal(signal) => return Ok(Some(Ended::Signal(signal))),
            Came::Ended(what) => return Ok(Some(Ended::NoReader(what))),
            Came::Nothing if left.is_zero() => break,
            Came::Nothing => {}
        }
    }
    Ok(None)
}

/// A stream under way.
struct Session<'a, 'b> {
    stream: Stream,
    watch: &'a mut Watch<'b>,
    processes: Processes,
    backend: Built,
}

impl Session<'_, '_> {
    /// Writes lines until the end, the last one among them, and gives the exit code.
    fn keep_time(&mut self, mut ticks: Ticks, end: Duration) -> io::Result<u8> {
        let ended = loop {
            let due = ticks.due().min(end);
            let ended = self.answers(due, false)?;
            if ended.is_some() || due == end {
                break ended;
            }
            ticks.take(self.stream.now());
            for device in 0..self.watch.devices() {
                self.late(device)?;
                if self.watch.outstanding(device).is_none() {
                    self.watch.ask(device, What::Values);
                }
            }
            for line in self.processes.lines(self.stream.now()) {
                self.stream.write(line)?;
            }
        };
        let (reason, code) = match ended {
            None => {
                // A little is waited for what is outstanding.
                self.answers(self.stream.now() + LAST, true)?;
                (0..self.watch.devices()).try_for_each(|device| self.late(device))?;
                ("duration".to_owned(), exit::DONE)
            }
            Some(Ended::Signal(signal)) => (signal_name(signal).to_owned(), signal.exit_code()),
            Some(Ended::NoReader(what)) => (what, exit::INCONCLUSIVE),
        };
        let end = MonitorEnd {
            at_ns: ns(self.stream.now()),
            reason,
            samples: self.stream.samples,
            late: self.stream.late,
            skipped: ticks.skipped,
        };
        self.stream.write(MonitorLine::End(end))?;
        Ok(code)
    }

    /// Writes the answers that come until a time from the start, or until none is outstanding.
    fn answers(&mut self, due: Duration, only_outstanding: bool) -> io::Result<Option<Ended>> {
        let stream = &mut self.stream;
        let until = stream.start.checked_add(due);
        // Without a duration the next reading is due long before.
        let until = until.unwrap_or(stream.start + Duration::from_secs(1 << 32));
        taken(self.watch, until, only_outstanding, |reply, asked| {
            let Answer::Values(values, mut missing) = reply.answer else {
                return Ok(());
            };
            let device = reply.device;
            // What the header said is not said again.
            let gaps = stream.header.unavailable.iter();
            for gap in gaps.filter(|gap| gap.device == device) {
                missing
                    .retain(|key, reason| gap.key.as_ref() != Some(key) || gap.reason != *reason);
            }
            stream.write(MonitorLine::Sample(Box::new(MonitorSample {
                device,
                asked_ns: ns(asked.saturating_duration_since(stream.start)),
                answered_ns: ns(stream.now()),
                values: *values,
                missing,
            })))
        })
    }

    /// Says that a device has not answered, where it has not.
    fn late(&mut self, device: usize) -> io::Result<()> {
        let Some(asked) = self.watch.outstanding(device) else {
            return Ok(());
        };
        let waited = asked.elapsed();
        self.stream.write(MonitorLine::Late(MonitorLate {
            device,
            at_ns: ns(self.stream.now()),
            waited_ns: ns(waited),
            what: no_answer(self.backend, waited),
        }))
    }
}

/// Why a stream ends before its time is over.
enum Ended {
    Signal(Signal),
    /// The process that reads devices ended.
    NoReader(String),
}
