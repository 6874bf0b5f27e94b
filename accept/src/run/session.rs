//! A run under way: one step after another, each kept in the journal before the next begins, judged as far as is known.
//!
//! What a step's end means for its group is decided here; what its figures mean is for the judges.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use program::{Stop, say as tell};
use record::{Payload, Record, load};
use runner::Interrupt;

use super::folder::Folder;
use super::journal::{Done, Entry, Journal, not_durable};
use super::monitor::Monitor;
use super::outcome::{has_evidence, lost, missing};
use super::process::{self, Ended, Limits, Program};
use super::steps::{self, Bench, Step, more_of};
use super::{machine, write};
use crate::checks::{Group, KINDS};
use crate::findings::{Findings, Found, Missing};
use crate::judge;
use crate::report::{BoxVerdict, ReasonCode, Report, Verdict};

/// A program that says nothing and whose journal does not grow is hung after so many of its own deadlines, and a little: it has
/// deadlines for whatever can hang, and ends what hangs itself.
const DEADLINES: u32 = 3;

/// What a program may be silent besides: while a driver starts and a hang is ended, and while its own processes wait for a CPU, for
/// which they have a minute more ([`runner::ProgressDeadline`]).
const BESIDE: Duration = Duration::from_secs(30 + 60);

/// A run under way.
pub(crate) struct Session<'a> {
    pub(crate) bench: Bench<'a>,
    pub(crate) folder: &'a Folder,
    pub(crate) journal: Journal,
    pub(crate) findings: Findings,
    pub(crate) interrupt: &'a Interrupt,
    /// Steps that an earlier process of this run did.
    pub(crate) done: Vec<Done>,
    /// When this process took the run up.
    pub(crate) begun: Instant,
    /// Seconds that earlier processes of it took.
    pub(crate) before_s: f64,
    /// What all of it may take.
    pub(crate) budget: Duration,
    /// As it stands now.
    pub(crate) report: Report,
    /// Checks that more samples may settle.
    pub(crate) undecided: Vec<(String, Vec<String>)>,
    /// What watches the devices beside the steps, or why nothing does; `None` before it was started and behind its end.
    pub(crate) monitor: Option<Result<Monitor, String>>,
}

impl Session<'_> {
    /// Every group that has no evidence yet, with the reason that holds where the run ends before it gets some.
    pub(crate) fn expect(&mut self) {
        for group in KINDS.iter().map(|kind| kind.group) {
            if group == Group::Inventory {
                continue;
            }
            let (code, text) = steps::left_out(&self.bench, group)
                .unwrap_or_else(|| (ReasonCode::NotMeasured, "the run ended before".to_owned()));
            self.findings.missing.insert(group, Missing::of(code, text));
        }
    }

    /// Takes up what earlier processes of this run measured; a step whose record cannot be read is done again.
    pub(crate) fn take_up(&mut self) {
        let done = std::mem::take(&mut self.done);
        for step in done {
            match load(&self.folder.join(&step.folder)) {
                Ok(record) => self.add(step.group, record, &step.folder),
                Err(_) if step.missing.is_some() => {}
                Err(_) => continue,
            }
            if let Some(missing) = &step.missing {
                self.step_lacks(step.group, &step.name, missing.clone());
            }
            self.done.push(step);
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
            let Some(step) = self.bench.step(planned.group, planned.name, None) else {
                continue;
            };
            if let Some((code, text)) = steps::left_out(&self.bench, step.group) {
                let missing = Missing::of(code, text);
                self.findings.missing.insert(step.group, missing);
                continue;
            }
            self.step(&step)?;
        }
        self.again()
    }

    /// Seconds that are left of the whole run's time.
    pub(crate) fn left(&self) -> Duration {
        let spent = Duration::from_secs_f64(self.before_s.max(0.0)) + self.begun.elapsed();
        self.budget.saturating_sub(spent)
    }

    /// Does a step, where it was not done before and the time suffices.
    ///
    /// # Errors
    /// A signal, or a disk that refuses.
    pub(crate) fn step(&mut self, step: &Step) -> Result<bool, Stop> {
        self.step_beside(step, None)
    }

    /// The same, while a load runs beside it that is told to end when the step has.
    ///
    /// # Errors
    /// As [`Self::step`].
    pub(crate) fn step_beside(&mut self, step: &Step, load: Option<&Step>) -> Result<bool, Stop> {
        if self.done.iter().any(|done| done.name == step.name) {
            return Ok(true);
        }
        if let Some(signal) = self.interrupt.signal() {
            return Err(Stop::Interrupted(signal));
        }
        let left = self.left();
        if left.as_secs_f64() < step.seconds {
            let text = format!(
                "takes about {:.0} s, {:.0} s are left: use --resume with a longer --budget",
                step.seconds,
                left.as_secs_f64()
            );
            let missing = Missing {
                is_open: true,
                ..Missing::of(ReasonCode::NotMeasured, text)
            };
            self.step_lacks(step.group, &step.name, missing);
            return Ok(false);
        }
        let place = self.folder.free(&step.name);
        let load = load.map(|load| (load, self.folder.free(&load.name)));
        self.folder.make("groups")?;
        let room = self.folder.has_room();
        room.map_err(|stop| not_durable(stop, self.folder.path()))?;
        tell!("{}: about {:.0} s", step.name, step.seconds);
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
            let gone = || Err(Stop::Internal(anyhow!("the thread of the load is gone")));
            (
                ended,
                other.map(|other| other.join().unwrap_or_else(|_| gone())),
            )
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

    /// Keeps what came of a step. The time of one that ran beside another is the other's.
    fn came(&mut self, step: &Step, place: &str, ended: Ended, took_s: f64) -> Result<(), Stop> {
        let record = load(&self.folder.join(place)).ok();
        if let Ended::Interrupted(signal) = ended {
            // What was measured until then stands.
            if let Some(record) = record {
                self.add(step.group, record, place);
                self.findings.cut = Some(step.group);
            }
            return Err(Stop::Interrupted(signal));
        }
        let done = Done {
            group: step.group,
            name: step.name.clone(),
            folder: place.to_owned(),
            took_s,
            missing: missing(step, &ended, record.as_ref()),
            unwatched: self.unwatched(),
        };
        self.keep(&Entry::Step(done.clone()))?;
        let missing = done.missing.clone();
        self.done.push(done);
        if let Some(record) = record {
            self.add(step.group, record, place);
        }
        if let Some(missing) = missing {
            tell!("{}: {}", step.name, missing.text);
            self.step_lacks(step.group, &step.name, missing);
        }
        Ok(())
    }

    fn start(
        &self,
        step: &Step,
        place: &str,
        left: Duration,
        until: Option<&AtomicBool>,
    ) -> Result<Ended, Stop> {
        let out = self.folder.join(place);
        let mut arguments = step.arguments.clone();
        arguments.extend(["--out".to_owned(), out.display().to_string()]);
        let log = self.folder.join(&format!("{place}.log"));
        let program = Program {
            name: &step.name,
            command: step.command,
            arguments: &arguments,
            log: &log,
            grows: &out.join("journal.jsonl"),
            until,
        };
        let limits = Limits {
            silent: self.bench.args.deadline.saturating_mul(DEADLINES) + BESIDE,
            total: left,
        };
        Ok(process::run(&program, limits, self.interrupt)?)
    }

    /// A step has no result, or not all. Where a step that only takes more samples broke, what they were for stays open, and a fault that
    /// it met is one; where there was no time for it, that is a caveat.
    fn step_lacks(&mut self, group: Group, name: &str, missing: Missing) {
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
        self.lose(&record, place);
        if !has_evidence(&record) {
            return;
        }
        // A soak's rounds stand among the others: more of the same figures, later.
        let kind = match &record.payload {
            Payload::Links(_) => &mut self.findings.links,
            Payload::Numa(_) => &mut self.findings.numa,
            Payload::Collectives(collectives) => {
                if let Some(fingerprint) = &mut self.findings.fingerprint {
                    fingerprint.collectives = machine::library(collectives);
                }
                &mut self.findings.collectives
            }
            Payload::Serve(_) => &mut self.findings.serving,
        };
        kind.push(Found {
            it: record,
            source: format!("{place}/record.json"),
        });
        // A soak is not done with its first round, and a hang is not undone by what came to its end later.
        let has_hung = self
            .findings
            .missing
            .get(&group)
            .is_some_and(|missing| missing.code == ReasonCode::Hang);
        if group != Group::Soak && !has_hung {
            self.findings.missing.remove(&group);
        }
    }

    /// Leaves devices that a record shows as lost out of what follows.
    fn lose(&mut self, record: &Record, place: &str) {
        for (label, why) in lost(record) {
            if !self
                .bench
                .devices
                .iter()
                .any(|device| device.label == label)
            {
                continue;
            }
            tell!("{label} is lost and left out from now on: {why}");
            self.bench.devices.retain(|device| device.label != label);
            let source = format!("{place}/record.json");
            let found = Found { it: why, source };
            self.findings.lost.insert(label, found);
        }
    }

    /// Judges what is known now, and keeps what is new of it.
    ///
    /// # Errors
    /// The disk refuses, or records do not belong together.
    pub(crate) fn judge(&mut self) -> Result<(), Stop> {
        let args = self.bench.args;
        let profile = self.bench.profile;
        let checks = judge::judge(profile, args.level, &self.findings, &args.exclude);
        let report = &mut self.report;
        report.checks = checks;
        self.undecided = judge::undecided(&report.checks);
        let mut checks = report.checks.iter();
        let is_rejected = checks.any(|check| check.required && check.verdict == Verdict::Fail);
        report.verdict = match is_rejected {
            true => BoxVerdict::Rejected,
            false => BoxVerdict::Inconclusive,
        };
        report.exit_code = report.verdict.exit_code();
        report.took_s = self.before_s + self.begun.elapsed().as_secs_f64();
        if let Some(fingerprint) = &self.findings.fingerprint {
            report.node.fingerprint.clone_from(fingerprint);
        }
        write::keep(report, self.folder.path(), args.forms.identify)
    }

    /// Puts a line into the journal.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn keep(&mut self, entry: &Entry) -> Result<(), Stop> {
        let added = self.journal.add(entry);
        added.map_err(|stop| not_durable(stop, self.folder.path()))
    }
}
