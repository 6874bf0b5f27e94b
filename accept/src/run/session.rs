//! A run under way: one step after another, each kept in the journal before the next begins, judged as far as is known; and the monitor beside
//! it. Where that is lost, the rest of the run stands.
//!
//! What a step's end means for its group is decided here; what its figures mean is for the judges.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use program::{Stop, say};
use record::{Payload, Record, load};
use runner::child::{self, Ended, Program};

use super::folder::{Done, Entry, Folder, Journal};
use super::monitor::{Monitor, read};
use super::outcome::{has_evidence, lost, missing};
use super::scene::library;
use super::start::Run;
use super::steps::{self, Bench, Step, more_of};
use super::write;
use crate::checks::{Group, KINDS};
use crate::findings::{Findings, Found};
use crate::judge;
use crate::report::{BoxVerdict, Came, ReasonCode, Report};

/// A program that says nothing and whose journal does not grow is hung after so many of its own deadlines, and a little: it has
/// deadlines for whatever can hang, and ends what hangs itself.
const DEADLINES: u32 = 3;

/// What a program may be silent besides: while a driver starts and a hang is ended, and while its own processes wait for a CPU, for
/// which they have a minute more ([`runner::ProgressDeadline`]).
const BESIDE: Duration = Duration::from_secs(30 + 60);

/// Names the noise of a process on a simulated machine: without it every process of a run would play the same again, and samples that are taken
/// anew would be copies.
const STREAM: &str = "TPLENS_SIM_STREAM";

/// By which network interface ranks of one machine find each other, NCCL's and RCCL's variable, and MetaX's: the loopback one, so that no port
/// is open to others, unless the user chose another.
const INTERFACE: [&str; 2] = ["NCCL_SOCKET_IFNAME", "MCCL_SOCKET_IFNAME"];

/// A run under way.
pub(crate) struct Session<'a> {
    pub(crate) bench: Bench<'a>,
    pub(crate) folder: &'a Folder,
    pub(crate) journal: Journal,
    pub(crate) findings: Findings,
    pub(crate) run: &'a Run<'a>,
    /// Steps that were done, by earlier processes of this run, too.
    pub(crate) done: Vec<Done>,
    /// Seconds that earlier processes of it took.
    pub(crate) before_s: f64,
    /// What all of it may take.
    pub(crate) budget: Duration,
    /// As it stands now.
    pub(crate) report: Report,
    /// What watches the devices beside the steps, or why nothing does; `None` before it was started and behind its end.
    pub(crate) monitor: Option<Result<Monitor, String>>,
}

impl Session<'_> {
    /// Every group that has no evidence yet, with the reason that holds where the run ends before it gets some.
    pub(crate) fn expect(&mut self) {
        let groups = KINDS.iter().map(|kind| kind.group);
        for group in groups.filter(|group| *group != Group::Inventory) {
            let code = steps::left_out(&self.bench, group).unwrap_or(ReasonCode::NotMeasured);
            self.findings.missing.insert(group, Came::without(code));
        }
    }

    /// Takes up what earlier processes of this run measured; a step whose record cannot be read is done again.
    pub(crate) fn take_up(&mut self) {
        for step in std::mem::take(&mut self.done) {
            let record = load(&self.folder.join(&step.folder)).ok();
            if record.is_some() || step.missing.is_some() {
                self.take(step, record);
            }
        }
    }

    /// Does every step of the plan, and measures again what is not decided, as often as the profile lets.
    ///
    /// # Errors
    /// A signal, or a disk that refuses.
    pub(crate) fn measure(&mut self) -> Result<(), Stop> {
        self.judge()?;
        for planned in steps::steps(&self.bench) {
            // Made anew: a device may have been lost since the plan.
            let group = planned.group;
            if let Some(code) = steps::left_out(&self.bench, group) {
                self.findings.missing.insert(group, Came::without(code));
            } else if let Some(step) = self.bench.step(group, planned.name, None) {
                self.step(&step, None)?;
            }
        }
        self.again()
    }

    /// Seconds that are left of the whole run's time.
    fn left(&self) -> Duration {
        let spent = Duration::from_secs_f64(self.before_s.max(0.0)) + self.run.begun.elapsed();
        self.budget.saturating_sub(spent)
    }

    /// Does a step, where it was not done before and the time suffices, while a load may run beside it that is told to end when the step
    /// has.
    ///
    /// # Errors
    /// A signal, or a disk that refuses.
    pub(crate) fn step(&mut self, step: &Step, load: Option<&Step>) -> Result<bool, Stop> {
        if self.done.iter().any(|done| done.name == step.name) {
            return Ok(true);
        }
        if let Some(signal) = self.run.interrupt.signal() {
            return Err(Stop::Interrupted(signal));
        }
        let left = self.left();
        if left.as_secs_f64() < step.seconds {
            let (takes, left) = (step.seconds, left.as_secs_f64());
            let text = format!("takes about {takes:.0} s, {left:.0} s are left");
            let text = format!("{text}: use --resume with a longer --budget");
            let missing = Came::open(ReasonCode::NotMeasured).saying(text);
            self.step_lacks(step.group, &step.name, missing);
            return Ok(false);
        }
        let of = |step: &Step, number| format!("groups/{}-{number}", step.name);
        let free = |step: &Step| self.folder.free(|number| of(step, number));
        let (place, load) = (free(step), load.map(|load| (load, free(load))));
        self.folder.make("groups")?;
        self.folder.has_room()?;
        say!("{}: about {:.0} s", step.name, step.seconds);
        let begun = Instant::now();
        let is_over = AtomicBool::new(false);
        let (ended, loaded) = thread::scope(|scope| {
            let this = &*self;
            let other = load.as_ref().map(|(load, place)| {
                let until = Some(&is_over);
                scope.spawn(move || this.start(load, place, left, until))
            });
            let ended = this.start(step, &place, left, None);
            is_over.store(true, Ordering::SeqCst);
            let gone = |_| Err(Stop::Internal(anyhow!("the thread of the load is gone")));
            (ended, other.map(|other| other.join().unwrap_or_else(gone)))
        });
        let took_s = begun.elapsed().as_secs_f64();
        let loaded = match (&load, loaded) {
            (Some((load, place)), Some(loaded)) => self.came(load, place, loaded?, 0.0),
            _ => Ok(()),
        };
        self.came(step, &place, ended?, took_s)?;
        loaded?;
        self.judge()?;
        Ok(true)
    }

    /// Keeps what came of a step. The time of one that ran beside another is the other's; one that broke is done again by a resumed run.
    fn came(
        &mut self,
        step: &Step,
        place: &str,
        ended: Option<Ended>,
        took_s: f64,
    ) -> Result<(), Stop> {
        let record = load(&self.folder.join(place)).ok();
        if let Some(Ended::Interrupted(signal)) = ended {
            // What was measured until then stands.
            if let Some(record) = record {
                self.add(step.group, record, place);
            }
            return Err(Stop::Interrupted(signal));
        }
        let lacks = missing(step, ended.as_ref(), record.as_ref());
        let is_open = lacks.as_ref().is_some_and(|(_, is_open)| *is_open);
        let done = Done {
            group: step.group,
            name: step.name.clone(),
            folder: place.to_owned(),
            took_s,
            missing: lacks.map(|(came, _)| came),
            is_watched: self.is_watched(),
        };
        if !is_open {
            self.journal.add(&Entry::Step(Box::new(done.clone())))?;
        }
        if let Some(missing) = &done.missing {
            say!("{}: {}", step.name, missing.detail);
        }
        self.take(done, record);
        Ok(())
    }

    /// Takes a step that has ended with what it measured and what it lacks.
    fn take(&mut self, done: Done, record: Option<Record>) {
        if let Some(record) = record {
            self.add(done.group, record, &done.folder);
        }
        if let Some(missing) = &done.missing {
            self.step_lacks(done.group, &done.name, missing.clone());
        }
        self.done.push(done);
    }

    fn start(
        &self,
        step: &Step,
        place: &str,
        left: Duration,
        until: Option<&AtomicBool>,
    ) -> Result<Option<Ended>, Stop> {
        let out = self.folder.join(place);
        let mut arguments = step.arguments.clone();
        arguments.extend(["--out".to_owned(), out.display().to_string()]);
        let is_unset = |name: &&&str| std::env::var_os(name).is_none();
        let unset = INTERFACE.iter().filter(is_unset);
        let unset = unset.map(|name| (OsString::from(name), "lo".into()));
        let stream = self.bench.args.on.sim.iter();
        let stream = stream.map(|_| (STREAM.into(), OsString::from(&step.name)));
        let program = Program {
            name: &step.name,
            command: step.command,
            arguments: &arguments,
            environment: &unset.chain(stream).collect::<Vec<_>>(),
            log: &self.folder.join(&format!("{place}.log")),
            is_kept: |_| true,
            grows: &out.join("journal.jsonl"),
            deadline: self.bench.args.deadline.saturating_mul(DEADLINES) + BESIDE,
        };
        let interrupt = self.run.interrupt;
        Ok(child::run_within(&program, left, until, interrupt)?)
    }

    /// A step has no result, or not all. Where a step that only takes more samples broke, what they were for stays open, and a fault that
    /// it met is one; where there was no time for it, that is a caveat.
    fn step_lacks(&mut self, group: Group, name: &str, missing: Came) {
        let is_more = name.starts_with(&more_of(group));
        if is_more {
            let note = format!("{name}: {}", missing.code.code());
            self.report.notes.push(note);
        }
        if !is_more || missing.code.is_fault() {
            self.findings.missing.insert(group, missing);
        }
    }

    /// Adds a record to what is judged.
    fn add(&mut self, group: Group, record: Record, place: &str) {
        let source = format!("{place}/record.json");
        // Devices that it shows as lost are left out of what follows.
        for (label, why) in lost(&record) {
            let before = self.bench.devices.len();
            self.bench.devices.retain(|device| device.label != label);
            if self.bench.devices.len() < before {
                say!("{label} is lost and left out from now on: {why}");
                let source = source.clone();
                self.findings.lost.insert(label, Found { it: why, source });
            }
        }
        if !has_evidence(&record) {
            return;
        }
        // A soak's rounds stand among the others: more of the same figures, later.
        let kind = match &record.payload {
            Payload::Links(_) => &mut self.findings.links,
            Payload::Numa(_) => &mut self.findings.numa,
            Payload::Collectives(collectives) => {
                self.report.node.fingerprint.collectives = library(collectives);
                &mut self.findings.collectives
            }
            Payload::Serve(_) => &mut self.findings.serving,
        };
        kind.push(Found { it: record, source });
        // A soak is not done with its first round, and a hang is not undone by what came to its end later.
        let missing = self.findings.missing.get(&group);
        let has_hung = missing.is_some_and(|missing| missing.code == ReasonCode::Hang);
        if group != Group::Soak && !has_hung {
            self.findings.missing.remove(&group);
        }
    }

    /// Judges what is known now, and keeps what is new of it.
    ///
    /// # Errors
    /// The disk refuses, or records do not belong together.
    pub(crate) fn judge(&mut self) -> Result<(), Stop> {
        let (args, report) = (self.bench.args, &mut self.report);
        let findings = &self.findings;
        report.checks = judge::judge(self.bench.profile, args.level, findings, &args.exclude);
        report.verdict = match BoxVerdict::of(&report.checks) {
            BoxVerdict::Rejected => BoxVerdict::Rejected,
            _ => BoxVerdict::Inconclusive,
        };
        report.exit_code = report.verdict.exit_code();
        report.took_s = self.before_s + self.run.begun.elapsed().as_secs_f64();
        write::keep(report, &self.folder.path, args.forms.identify)
    }

    /// The files of the monitors of this run: each process of it has one, numbered from 1.
    fn watches(&self) -> Vec<PathBuf> {
        let file = |number: usize| self.folder.join(&format!("monitor-{number}.jsonl"));
        let there = (1..).map(file).take_while(|file| file.exists());
        there.collect()
    }

    /// Starts a monitor.
    pub(super) fn watch(&mut self) {
        let number = self.watches().len() + 1;
        let file = self.folder.join(&format!("monitor-{number}.jsonl"));
        let interrupt = self.run.interrupt;
        let started = Monitor::start(&self.bench.watching(), &file, interrupt);
        self.monitor = Some(started.map_err(|error| format!("{error:#}")));
    }

    /// Whether somebody watches what runs now, or ran until now.
    pub(super) fn is_watched(&mut self) -> bool {
        match &mut self.monitor {
            Some(Ok(monitor)) => monitor.lost().is_none(),
            _ => false,
        }
    }

    /// Ends the monitor and takes what all of the run's saw. What ran unwatched is done, and stays unwatched.
    pub(super) fn unwatch(&mut self) {
        let monitor = self.monitor.take();
        let lost = monitor.and_then(|monitor| monitor.map_or_else(Some, Monitor::end));
        let lines = self.watches().into_iter().flat_map(|file| read(&file));
        self.findings.monitor = lines.collect();
        let unwatched = self.done.iter().find(|done| !done.is_watched);
        let unwatched = unwatched.map(|done| format!("not during {}", done.name));
        match lost.or(unwatched) {
            None => drop(self.findings.missing.remove(&Group::Watch)),
            Some(why) => {
                say!("the monitor was lost: {why}");
                let missing = Came::open(ReasonCode::Unreadable).saying(why);
                self.findings.missing.insert(Group::Watch, missing);
            }
        }
    }
}
