//! The course of a run: counters before, a monitor beside, the steps, a soak's rounds, counters behind, the report.
//!
//! In a soak no memory is marched over, tensor cores idle, and no power virus runs: what that would find is not looked for, and the report
//! says so.

use std::time::{Duration, Instant};

use program::kernel_log::KernelLog;
use program::{Stop, provenance, say, signal_name};
use record::exit;
use runner::Signal;
use topology::Sysfs;

use super::counters::Reading;
use super::folder::{Before, Done, Entry, Folder, Journal, key};
use super::scene::{self, Scene};
use super::session::Session;
use super::start::{Run, is_open, time_budget};
use super::steps::Bench;
use super::write;
use crate::checks::{self, Group, plural};
use crate::findings::Findings;
use crate::report::{BoxVerdict, RunStatus};

impl Run<'_> {
    /// Runs on a machine that was looked at, to the end of the report.
    pub(super) fn on(&self, scene: &Scene, folder: &Folder) -> Result<u8, Stop> {
        let program = provenance::provenance(&scene.machine).binary_sha256;
        let boot = Sysfs::read_text(&scene.sysfs, "proc/sys/kernel/random/boot_id");
        let key = key(&scene.links, program.as_deref(), boot);
        let mut report = self.report(scene.node());
        report.program_sha256 = program;
        report.devices = scene.devices();
        if !scene.is_simulated() {
            report.notes.extend(note_of_environment());
        }
        let (mut journal, entries) = Journal::open(&folder.path)?;
        let mut entries = entries.into_iter();
        let before = match entries.next() {
            Some(Entry::Before(was)) => *was,
            _ => {
                let before = Before {
                    key: key.clone(),
                    started: self.started.clone(),
                    reading: scene.counters(),
                };
                journal.add(&Entry::Before(Box::new(before.clone())))?;
                before
            }
        };
        let parts = before.key.iter();
        let differs = parts.filter(|(part, value)| key.get(*part) != Some(value));
        let differs: Vec<&str> = differs.map(|(part, _)| part.as_str()).collect();
        if !differs.is_empty() {
            let (shown, differs) = (folder.path.display(), differs.join(", "));
            let why = format!("cannot be resumed: what differs is {differs}; use another --out");
            return Err(Stop::Usage(format!("the run in {shown} {why}")));
        }
        report.started.clone_from(&before.started);
        let done = entries.filter_map(|entry| match entry {
            Entry::Step(done) => Some(*done),
            Entry::Before(_) => None,
        });
        let done: Vec<Done> = done.collect();
        if self.args.resume.is_some() {
            let steps = plural(done.len(), "step");
            report.notes.push(format!("resumed with {steps} done"));
            // The page of an earlier end says what is not so any more.
            drop(std::fs::remove_file(folder.path.join(write::PAGE)));
        }
        let left_out = scene.left_out(&self.args.on, self.matches.count);
        if left_out > 0 {
            self.say_open(left_out);
        }
        let with_memory = |node: &&topology::NumaNode| node.memory_bytes != Some(0);
        let mut session = Session {
            bench: Bench {
                profile: &self.loaded.profile,
                args: self.args,
                backend: self.backend(),
                devices: scene.named(),
                nodes: Some(scene.machine.nodes.iter().filter(with_memory).count()),
            },
            folder,
            journal,
            findings: Findings {
                left_out,
                links: vec![scene.found.clone()],
                ..Findings::default()
            },
            report,
            run: self,
            before_s: done.iter().map(|done| done.took_s).sum(),
            done,
            budget: time_budget(self.args, &self.loaded.profile),
            monitor: None,
        };
        let status = match self.measured(&mut session, scene, &before.reading) {
            Ok(()) => RunStatus::Complete,
            Err(Stop::Interrupted(signal)) => RunStatus::Interrupted {
                signal: signal_name(signal).to_owned(),
            },
            Err(stop) => return Err(stop),
        };
        self.end(session, status)
    }

    /// Says what a run of some devices cannot decide by a profile of all of them.
    fn say_open(&self, left_out: usize) {
        let required = self.loaded.profile.required.at(self.args.level);
        let is_open = |kind: &&String| {
            let numa = self.loaded.profile.numa.is_some();
            kind.as_str() == "inventory" || (kind.as_str() == "numa_node" && numa)
        };
        let open = required.iter().filter(is_open);
        let open: Vec<&str> = open.map(|kind| checks::title(kind)).collect();
        say!(
            "--gpus leaves {left_out} of {} out, so that {} cannot be decided and the machine is not accepted; \
             `tplens accept profile draft` with the same --gpus writes a profile of these",
            plural(self.matches.count, "device"),
            open.join(" and "),
        );
    }

    fn measured(
        &self,
        session: &mut Session<'_>,
        scene: &Scene,
        before: &Reading,
    ) -> Result<(), Stop> {
        session.expect();
        session.take_up();
        // The log of this machine says nothing of a simulated one.
        let mut log = (!scene.is_simulated()).then(KernelLog::from_now);
        let mut met = Vec::new();
        if log.is_some() {
            let kept = KernelLog::kept().and_then(|mut log| log.logged());
            for line in kept.unwrap_or_default() {
                // Lines since the run began are of the run, also where it is resumed.
                match line.ago.is_some_and(|ago| ago <= before.age()) {
                    true => met.push(line.text),
                    false => session.findings.kernel_log_before.push(line.text),
                }
            }
        }
        session.watch();
        let mut outcome = session.measure();
        if let (Ok(()), Some(duration)) = (&outcome, self.args.duration) {
            outcome = session.soak(duration);
        }
        session.unwatch();
        // What NVLinks counted by now.
        if outcome.is_ok() && !scene.links.nvlinks.is_empty() {
            let (on, backend) = (&self.args.on, Some(self.backend()));
            let (folder, limit) = (session.folder, scene::LOOKING);
            match scene::look(on, backend, folder, limit, self.interrupt) {
                Ok(again) => session.findings.links.push(again.found),
                // What was measured is judged all the same.
                Err(stop) => outcome = Err(stop),
            }
        }
        session.findings.counters = Some(before.until(&scene.counters_after()?));
        session.findings.kernel_log = Some(match log.as_mut() {
            None => Ok(Vec::new()),
            Some(Ok(log)) => log.lines().map(|lines| [met, lines].concat()),
            Some(Err(why)) => Err(why.clone()),
        });
        session.findings.missing.remove(&Group::Counters);
        if let (Some(baseline), Ok(())) = (self.baseline, &outcome) {
            session.judge()?;
            session.findings.baseline = baseline.checks(&session.report);
        }
        // What a signal left is judged, too; the signal itself comes behind.
        session.judge()?;
        outcome
    }

    /// Completes the report, writes it, and gives the exit code.
    fn end(&self, mut session: Session<'_>, status: RunStatus) -> Result<u8, Stop> {
        let report = &mut session.report;
        report.verdict = BoxVerdict::of(&report.checks);
        // What was not looked at because a signal came is not found good.
        if status != RunStatus::Complete && report.verdict.exit_code() == exit::DONE {
            report.verdict = BoxVerdict::Inconclusive;
        }
        let signal = self.interrupt.signal();
        report.exit_code = match &status {
            RunStatus::Interrupted { .. } => signal.map_or(exit::INTERRUPTED, Signal::exit_code),
            _ => report.verdict.exit_code(),
        };
        report.status = status;
        report.took_s = session.before_s + self.begun.elapsed().as_secs_f64();
        let folder = &session.folder.path;
        let written = write::finish(report, folder, &self.args.forms, self.show)?;
        if is_open(report) {
            let shown = folder.display();
            say!("to do the rest: the same command with --resume {shown}");
        }
        Ok(exit::fold([report.exit_code, written]))
    }
}

/// What the environment does to the figures: the names of the variables that change what is measured. Values may hold paths.
fn note_of_environment() -> Option<String> {
    let utf8 = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
    let set = std::env::vars_os().map(|(name, value)| (utf8(name), utf8(value)));
    let set: Vec<String> = record::allowed_environment(set).into_keys().collect();
    let set = (!set.is_empty()).then(|| set.join(", "))?;
    Some(format!("these variables of the environment are set: {set}"))
}

/// A soak has so many rounds at least: one has no other to be compared with.
pub(super) const LEAST_ROUNDS: usize = 2;

impl Session<'_> {
    /// Loads the machine for so long, what earlier processes of the run loaded it for included.
    ///
    /// # Errors
    /// A signal, or a disk that refuses.
    pub(crate) fn soak(&mut self, duration: Duration) -> Result<(), Stop> {
        let is_soak = |done: &&Done| done.group == Group::Soak;
        let done = self.done.iter().filter(is_soak);
        let before = Duration::from_secs_f64(done.map(|done| done.took_s).sum());
        let begun = Instant::now();
        for round in 1.. {
            let steps = self.bench.round(round);
            for (number, step) in steps.iter().enumerate() {
                // Copies have their own engines; collectives are kernels, and one that waits for a processor tells nothing of the box.
                let load = (number == 0).then(|| self.bench.load(round, step.seconds));
                let did = self.step(step, load.as_ref())?;
                // A load that failed is reported, and what follows it is no soak.
                let mut own = self.done.iter().filter(is_soak);
                if !did || own.any(|done| done.missing.is_some()) {
                    return self.judge();
                }
            }
            if before + begun.elapsed() >= duration && round >= LEAST_ROUNDS {
                break;
            }
        }
        self.findings.missing.remove(&Group::Soak);
        self.judge()
    }
}
