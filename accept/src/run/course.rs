//! The course of a run: counters before, a monitor beside, the steps, counters behind, the report.

use std::time::Duration;

use program::kernel_log::{KernelLog, Logged};
use program::{Stop, provenance, say, signal_name};
use record::exit;
use runner::Signal;
use topology::Sysfs;

use super::asked::time_budget;
use super::folder::Folder;
use super::journal::{Entry, Journal, Kept};
use super::scene::Scene;
use super::session::Session;
use super::start::Run;
use super::steps::Bench;
use super::{counters, environment, machine, write};
use crate::checks::{self, Group};
use crate::findings::{Counter, Findings, Found};
use crate::plural::plural;
use crate::report::{BoxVerdict, Report, RunStatus};

impl Run<'_> {
    /// Runs on a machine that was looked at, to the end of the report.
    pub(super) fn on(
        &self,
        scene: &Scene,
        folder: &Folder,
        resumed: Option<(Journal, Kept)>,
    ) -> Result<u8, Stop> {
        let program = provenance::provenance(&scene.machine).binary_sha256;
        let key = self
            .key()
            .with_machine(&scene.record, &scene.links, program.as_deref());
        let mut report = self.report(machine::node(&scene.record, &scene.links, &scene.sysfs));
        report.program_sha256 = program;
        report.simulated.clone_from(&scene.record.header.simulated);
        report.devices = machine::devices(&scene.links.devices);
        report.notes = notes(scene.is_simulated());
        let (journal, kept) = match resumed {
            None => (Journal::begin(folder.path(), &key, &self.started)?, None),
            Some((journal, kept)) => {
                kept.key.check(&key, folder.path())?;
                journal.resume(&kept)?;
                write::remove_page(folder.path());
                report.started.clone_from(&kept.started);
                let done = plural(kept.done.len(), "step");
                say!(
                    "resuming the run in {}: {done} done",
                    folder.path().display()
                );
                report
                    .notes
                    .push(format!("the run was resumed with {done} done"));
                (journal, Some(kept))
            }
        };
        let left_out = scene.left_out(&self.args.on, self.matches.count);
        if left_out > 0 {
            say!("{}", self.stays_open(left_out));
        }
        let mut session = self.session(scene, folder, journal, kept.as_ref(), report);
        let status = match self.measured(&mut session, scene, kept.as_ref()) {
            Ok(()) => RunStatus::Complete,
            Err(Stop::Interrupted(signal)) => RunStatus::Interrupted {
                signal: signal_name(signal).to_owned(),
            },
            Err(stop) => return Err(stop),
        };
        self.end(session, status, folder)
    }

    /// What a run of some devices cannot decide by a profile of all of them.
    fn stays_open(&self, left_out: usize) -> String {
        let required = self.loaded.profile.required.at(self.args.level);
        let is_open = |kind: &&String| {
            let numa = self.loaded.profile.numa.is_some();
            kind.as_str() == "inventory" || (kind.as_str() == "numa_node" && numa)
        };
        let open = required.iter().filter(is_open);
        let open: Vec<&str> = open.map(|kind| checks::title(kind)).collect();
        format!(
            "--gpus leaves {left_out} of {} out, so that {} cannot be decided and the machine is not accepted; \
             `tplens accept profile draft` with the same --gpus writes a profile of these",
            plural(self.matches.count, "device"),
            open.join(" and "),
        )
    }

    fn session<'b>(
        &'b self,
        scene: &Scene,
        folder: &'b Folder,
        journal: Journal,
        kept: Option<&Kept>,
        report: Report,
    ) -> Session<'b> {
        let with_memory = |node: &&topology::NumaNode| node.memory_bytes != Some(0);
        let steps = kept.map(|kept| kept.done.iter().chain(&kept.broken));
        Session {
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
                baseline: self.baseline.as_ref().map(|held| held.baseline.clone()),
                left_out: scene.left_out(&self.args.on, self.matches.count),
                fingerprint: Some(report.node.fingerprint.clone()),
                links: vec![Found {
                    it: scene.record.clone(),
                    source: scene.source.clone(),
                }],
                ..Findings::default()
            },
            report,
            interrupt: self.interrupt,
            done: kept.map(|kept| kept.done.clone()).unwrap_or_default(),
            begun: self.begun,
            before_s: steps.map_or(0.0, |steps| steps.map(|step| step.took_s).sum()),
            budget: time_budget(self.args, &self.loaded.profile),
            undecided: Vec::new(),
            monitor: None,
        }
    }

    fn measured(
        &self,
        session: &mut Session<'_>,
        scene: &Scene,
        kept: Option<&Kept>,
    ) -> Result<(), Stop> {
        let boot = Sysfs::read_text(&scene.sysfs, "proc/sys/kernel/random/boot_id");
        let before = kept.and_then(|kept| kept.before.clone());
        let began = before
            .as_ref()
            .and_then(|before| before.ago(boot.as_deref()));
        let rebooted = before
            .as_ref()
            .is_some_and(|before| before.is_of_other(boot.as_deref()));
        if rebooted {
            let note =
                "the machine was restarted since this run began: error counters are not comparable";
            session.report.notes.push(note.to_owned());
        }
        session.expect();
        session.take_up();
        let (mut log, met) = self.kernel_log(session, scene, began);
        let before = match before {
            Some(before) => before,
            None => {
                let reading = Box::new(scene.counters());
                session.keep(&Entry::Before {
                    reading: reading.clone(),
                })?;
                *reading
            }
        };
        let unwatched = session.done.iter().find_map(|done| done.unwatched.clone());
        session.monitor = Some(self.monitor(session, scene));
        let mut outcome = session.measure();
        if let (Ok(()), Some(duration)) = (&outcome, self.args.duration) {
            outcome = session.soak(duration, rebooted);
        }
        self.watched(session, unwatched);
        let mut counters = before.until(&scene.counters_after()?);
        // What the kernel shows of a device's own memory counts once, unless the monitor saw more: a reset takes the kernel's back.
        let is_known = |one: &Counter| {
            let is_same = |row: &&Counter| (&row.place, &row.key) == (&one.place, &one.key);
            let mut same = counters.rows.iter().filter(is_same);
            same.any(|row| row.rise() >= one.rise())
        };
        let lost = session.findings.missing.get(&Group::Watch);
        let lost = lost.map(|missing| missing.text.as_str());
        let mut monitored = counters::monitored(&session.findings.monitor, lost);
        monitored.retain(|one| !is_known(one));
        counters.rows.extend(monitored);
        session.findings.counters = Some(counters);
        session.findings.kernel_log = Some(match &mut log {
            None => Ok(Vec::new()),
            Some(Ok(log)) => log
                .lines()
                .map(|lines| met.into_iter().chain(lines).collect()),
            Some(Err(why)) => Err(why.clone()),
        });
        session.findings.missing.remove(&Group::Counters);
        // What a signal left is judged, too; the signal itself comes behind.
        session.judge()?;
        outcome
    }

    /// The kernel's log from now on, and the lines of a resumed run before. That of this machine says nothing of a simulated one.
    fn kernel_log(
        &self,
        session: &mut Session<'_>,
        scene: &Scene,
        began: Option<Duration>,
    ) -> (Option<Result<KernelLog, String>>, Vec<String>) {
        if scene.is_simulated() {
            return (None, Vec::new());
        }
        let mut met = Vec::new();
        let stood = KernelLog::kept().and_then(|mut log| log.logged());
        session.findings.kernel_log_before = Some(stood.map(|lines| {
            let (of_run, stood) = of_run(lines, began);
            met = of_run;
            stood
        }));
        (Some(KernelLog::from_now()), met)
    }

    /// Completes the report, writes it, and gives the exit code.
    fn end(
        &self,
        mut session: Session<'_>,
        status: RunStatus,
        folder: &Folder,
    ) -> Result<u8, Stop> {
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
        let written = write::finish(report, folder.path(), &self.args.forms, self.show)?;
        say!("result: {}", folder.path().display());
        let mut lacking = session.findings.missing.values();
        let is_open = lacking.any(|missing| missing.is_open)
            || session.done.iter().any(super::journal::Done::is_broken);
        if report.status != RunStatus::Complete
            || (is_open && report.verdict != BoxVerdict::Rejected)
        {
            say!(
                "to do the rest: the same command with --resume {}",
                folder.path().display()
            );
        }
        Ok(exit::fold([report.exit_code, written]))
    }
}

/// The lines since a run began, and those of before.
fn of_run(lines: Vec<Logged>, began: Option<Duration>) -> (Vec<String>, Vec<Logged>) {
    let is_of_run = |line: &Logged| line.ago.zip(began).is_some_and(|(ago, began)| ago <= began);
    let (of_run, stood): (Vec<Logged>, Vec<Logged>) = lines.into_iter().partition(is_of_run);
    (of_run.into_iter().map(|line| line.text).collect(), stood)
}

fn notes(is_simulated: bool) -> Vec<String> {
    if is_simulated {
        return Vec::new();
    }
    let utf8 = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
    let variables = std::env::vars_os().map(|(name, value)| (utf8(name), utf8(value)));
    environment::notes(variables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_since_a_run_began_are_of_the_run() {
        let line = |seconds: Option<u64>, text: &str| Logged {
            ago: seconds.map(Duration::from_secs),
            text: text.to_owned(),
        };
        let lines = || {
            vec![
                line(Some(90), "old"),
                line(None, "undated"),
                line(Some(20), "Xid 48"),
            ]
        };
        let (of_run_now, stood) = of_run(lines(), Some(Duration::from_secs(60)));
        assert_eq!(of_run_now, ["Xid 48"]);
        assert_eq!(stood.len(), 2);
        assert_eq!(of_run(lines(), None).1.len(), 3);
    }
}
