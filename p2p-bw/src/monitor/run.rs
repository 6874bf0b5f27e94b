//! A monitor from its command line to its last line: finds the devices, writes the header, keeps time.

use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant, SystemTime};

use anyhow::anyhow;
use clap::Args;
use inventory::Built;
use program::command_line::seconds;
use program::outputs::printed;
use program::{Stop, provenance, signal_name, sim};
use record::{
    LinkDevice, MONITOR_SCHEMA, MonitorDevice, MonitorEnd, MonitorGap, MonitorHeader, MonitorLate,
    MonitorLine, MonitorSample, exit,
};
use runner::Interrupt;
use rustix::param::clock_ticks_per_second;
use topology::Sysfs;

use super::ns;
use super::processes::Processes;
use super::text::text;
use super::watch::{Over, Watch};
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
    let unavailable = first_answers(watch, backend)?;
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
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let header = MonitorHeader {
        schema: MONITOR_SCHEMA,
        program: env!("CARGO_PKG_NAME").to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started: provenance::now(),
        started_unix_ns: since.ok().map(ns),
        boot_id: begun.machine.boot_id.clone(),
        hz,
        duration_s: args.duration.map(|duration| duration.as_secs_f64()),
        soft_box: begun.chosen.inventory.soft_box.clone(),
        backend: inventory::backend(&begun.chosen),
        devices: begun.devices.iter().cloned().map(device).collect(),
        processes: processes.list(),
        unavailable,
    };
    let mut session = Session {
        start: Instant::now(),
        header,
        is_read_along,
        samples: 0,
        late: 0,
        watch,
        processes,
        backend,
    };
    let code = session.keep_time(args.duration.unwrap_or(Duration::MAX));
    code.or_else(|error| match error.kind() {
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
    let gap = |device, key, reason| MonitorGap {
        device,
        key,
        reason,
    };
    (0..watch.devices()).for_each(|device| watch.ask(device, What::Values));
    let until = Instant::now() + FIRST;
    while watch.is_waiting() {
        let (SamplerReply { device, answer }, _) = match watch.next(until) {
            Some(Ok(came)) => came,
            Some(Err(Over::Signal(signal))) => return Err(Stop::Interrupted(signal)),
            Some(Err(Over::Ended(what))) => return Err(Stop::Refused(what.into())),
            None => break,
        };
        if let Answer::Values(_, missing) = answer {
            let missing = missing.into_iter();
            gaps.extend(missing.map(|(key, reason)| gap(device, Some(key), reason)));
        }
    }
    for device in 0..watch.devices() {
        let late = watch.outstanding(device);
        gaps.extend(late.map(|asked| gap(device, None, no_answer(backend, asked.elapsed()))));
    }
    gaps.sort_by(|a, b| (a.device, &a.key).cmp(&(b.device, &b.key)));
    Ok(gaps)
}

fn no_answer(backend: Built, waited: Duration) -> String {
    let source = backend.managed().map_or("nobody", |managed| managed.name);
    let waited = waited.as_secs_f64();
    format!("the reading through {source} has no answer after {waited:.1} s")
}

/// The lines of one run, each written whole and at once, and how many of which kind.
struct Session<'a, 'b> {
    start: Instant,
    header: MonitorHeader,
    is_read_along: bool,
    samples: u64,
    late: u64,
    watch: &'a mut Watch<'b>,
    processes: Processes,
    backend: Built,
}

/// Why lines end before their time is over, and the exit code.
type Ended = Option<(String, u8)>;

impl Session<'_, '_> {
    /// Writes lines until the end, the first and the last among them, and gives the exit code.
    fn keep_time(&mut self, end: Duration) -> io::Result<u8> {
        self.write(MonitorLine::Header(Box::new(self.header.clone())))?;
        // A fixed rhythm from the start; instants that went by are left out and never made up for.
        let period = Duration::from_secs_f64(1.0 / self.header.hz);
        let (mut next, mut skipped) = (0_u32, 0);
        let ended = loop {
            let due = period.saturating_mul(next).min(end);
            let ended = self.answers(due, false)?;
            if ended.is_some() || due == end {
                break ended;
            }
            let reached = self.now().as_nanos() / period.as_nanos().max(1);
            let current = u32::try_from(reached).unwrap_or(u32::MAX).max(next);
            skipped += u64::from(current - next);
            next = current.saturating_add(1);
            for device in 0..self.watch.devices() {
                self.tell_late(device)?;
                if self.watch.outstanding(device).is_none() {
                    self.watch.ask(device, What::Values);
                }
            }
            for line in self.processes.lines(self.now()) {
                self.write(line)?;
            }
        };
        if ended.is_none() {
            // A little is waited for what is outstanding.
            self.answers(self.now() + LAST, true)?;
            (0..self.watch.devices()).try_for_each(|device| self.tell_late(device))?;
        }
        let (reason, code) = ended.unwrap_or_else(|| ("duration".to_owned(), exit::DONE));
        self.write(MonitorLine::End(MonitorEnd {
            at_ns: ns(self.now()),
            reason,
            samples: self.samples,
            late: self.late,
            skipped,
        }))?;
        Ok(code)
    }

    /// Time since the start.
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Writes a line, as JSON or, where a person reads along, as text.
    fn write(&mut self, line: MonitorLine) -> io::Result<()> {
        let text = match self.is_read_along {
            true => text(&line, &self.header),
            false => serde_json::to_string(&line)?,
        };
        match line {
            MonitorLine::Sample(_) => self.samples += 1,
            MonitorLine::Late(_) => self.late += 1,
            _ => {}
        }
        printed(&(text + "\n"))
    }

    /// Writes the answers that come until a time from the start, or until none is outstanding.
    fn answers(&mut self, due: Duration, only_outstanding: bool) -> io::Result<Ended> {
        let until = self.start + due;
        while !only_outstanding || self.watch.is_waiting() {
            match self.watch.next(until) {
                Some(Ok((reply, asked))) => self.take(reply, asked)?,
                Some(Err(Over::Signal(signal))) => {
                    return Ok(Some((signal_name(signal).to_owned(), signal.exit_code())));
                }
                Some(Err(Over::Ended(what))) => return Ok(Some((what, exit::INCONCLUSIVE))),
                None => break,
            }
        }
        Ok(None)
    }

    fn take(&mut self, reply: SamplerReply, asked: Instant) -> io::Result<()> {
        let SamplerReply { device, answer } = reply;
        let Answer::Values(values, mut missing) = answer else {
            return Ok(());
        };
        // What the header said is not said again.
        let gaps = self.header.unavailable.iter();
        for gap in gaps.filter(|gap| gap.device == device) {
            missing.retain(|key, reason| gap.key.as_ref() != Some(key) || gap.reason != *reason);
        }
        self.write(MonitorLine::Sample(Box::new(MonitorSample {
            device,
            asked_ns: ns(asked.saturating_duration_since(self.start)),
            answered_ns: ns(self.now()),
            values: *values,
            missing,
        })))
    }

    /// Says that a device has not answered, where it has not.
    fn tell_late(&mut self, device: usize) -> io::Result<()> {
        let Some(asked) = self.watch.outstanding(device) else {
            return Ok(());
        };
        let waited = asked.elapsed();
        self.write(MonitorLine::Late(MonitorLate {
            device,
            at_ns: ns(self.now()),
            waited_ns: ns(waited),
            what: no_answer(self.backend, waited),
        }))
    }
}
