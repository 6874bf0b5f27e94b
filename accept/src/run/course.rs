//! The course of a run on devices that fit its profile: its journal begun or gone on with, counters read before and after everything.
//!
//! What is measured in between is the session's; what comes of it at the end is in `ending`.

use std::collections::BTreeMap;
use std::time::Duration;

use program::kernel_log::{KernelLog, Logged};
use program::{Stop, provenance, say, signal_name};
use topology::Sysfs;

use super::asked::time_budget;
use super::folder::Folder;
use super::further::Further;
use super::journal::{Entry, Journal, not_begun};
use super::kept::Kept;
use super::key::{self, Key};
use super::scene::Scene;
use super::session::Session;
use super::start::Run;
use super::steps::Bench;
use super::{counters, environment, machine, write};
use crate::checks::Group;
use crate::findings::{Counter, Findings, Found};
use crate::plural::plural;
use crate::report::RunStatus;

impl Run<'_> {
    /// The run, on devices that fit its profile.
    pub(super) fn on(
        &self,
        scene: &Scene,
        folder: &Folder,
        kept: Option<Kept>,
    ) -> Result<u8, Stop> {
        let args = self.args;
        let program = provenance::provenance(&scene.machine).binary_sha256;
        let baseline_sha256 = self.baseline.as_ref().map(|held| held.sha256.as_str());
        let key = Key::of(
            args,
            &self.loaded.sha256,
            baseline_sha256,
            &scene.record,
            &scene.links,
            program.clone(),
        );
        let mut report = self.report(machine::node(&scene.record, &scene.links, &scene.sysfs));
        report.program_sha256 = program;
        report.simulated.clone_from(&scene.record.header.simulated);
        report.devices = machine::devices(&scene.links.devices);
        report.notes = notes(scene.is_soft());
        let journal = match &kept {
            Some(kept) => {
                key::refuse(folder.path(), &kept.key.differences(&key))?;
                report.started.clone_from(&kept.report.started);
                Journal::go_on(folder.path(), kept)?
            }
            None => {
                let settings = scene
                    .doctor(args, self.backend(), folder, self.interrupt)
                    .and_then(|text| machine::settings(&text));
                match settings {
                    Ok(settings) => report.settings = settings,
                    Err(why) => report.notes.push(format!("settings were not read: {why}")),
                }
                Journal::begin(folder.path(), &key, &report)
                    .map_err(|stop| not_begun(stop, folder.path()))?
            }
        };
        if let Some(kept) = &kept {
            report.settings.clone_from(&kept.report.settings);
            let done = kept.done.len();
            let why = match kept.is_complete() {
                true => "ended with something left to do and was",
                false => "was broken off and",
            };
            report.notes.push(format!(
                "the run {why} gone on with: {} done before",
                plural(done, "step")
            ));
            say!(
                "going on with the run in {}: {} done",
                folder.path().display(),
                plural(done, "step")
            );
        }
        let mut session = self.session(scene, folder, journal, kept.as_ref());
        let outcome = self.measured(&mut session, scene, kept.as_ref());
        let status = match outcome {
            Ok(()) => RunStatus::Complete,
            Err(Stop::Interrupted(signal)) => RunStatus::Interrupted {
                signal: signal_name(signal).to_owned(),
            },
            Err(stop) => {
                for line in session.in_short() {
                    say!("{line}");
                }
                return Err(stop);
            }
        };
        self.end(report, session, status, folder)
    }

    fn session<'b>(
        &'b self,
        scene: &Scene,
        folder: &'b Folder,
        journal: Journal,
        kept: Option<&Kept>,
    ) -> Session<'b> {
        let wanted = self.loaded.profile.matches.as_ref();
        let mut findings = Findings {
            baseline: self.baseline.as_ref().map(|held| held.baseline.clone()),
            left_out: scene.left_out(self.args, wanted.map_or(0, |wanted| wanted.count)),
            left_out_at: scene.left_out_at(self.args).unwrap_or_default(),
            fingerprint: Some(machine::node(&scene.record, &scene.links, &scene.sysfs).fingerprint),
            ..Findings::default()
        };
        findings.links.push(Found {
            it: scene.record.clone(),
            source: scene.source.clone(),
        });
        Session {
            bench: Bench {
                profile: &self.loaded.profile,
                args: self.args,
                backend: self.backend(),
                devices: scene.named(),
                nodes: Some(
                    scene
                        .machine
                        .nodes
                        .iter()
                        .filter(|node| node.memory_bytes != Some(0))
                        .count(),
                ),
            },
            folder,
            journal,
            findings,
            interrupt: self.interrupt,
            done: kept.map(|kept| kept.done.clone()).unwrap_or_default(),
            broken: kept.map(|kept| kept.broken.clone()).unwrap_or_default(),
            begun: self.begun,
            before_s: kept.map_or(0.0, |kept| kept.took_s),
            budget: time_budget(self.args, &self.loaded.profile),
            checks: kept.map(|kept| kept.checks.clone()).unwrap_or_default(),
            is_rank_lost: false,
            unsettled: BTreeMap::new(),
            undecided: Vec::new(),
            further: Further::Before,
            monitor: None,
            notes: Vec::new(),
        }
    }

    /// Everything between the first reading of the counters and the last; what was read stands also where a signal ends it.
    fn measured(
        &self,
        session: &mut Session<'_>,
        scene: &Scene,
        kept: Option<&Kept>,
    ) -> Result<(), Stop> {
        let boot = Sysfs::read_text(&scene.sysfs, "proc/sys/kernel/random/boot_id");
        let rebooted = kept.is_some_and(|kept| kept.boots.iter().any(|then| *then != boot));
        session.keep(&Entry::Segment {
            at: provenance::now(),
            boot: boot.clone(),
        })?;
        if let Some(kept) = kept {
            write::taken_up(kept, session.folder.path(), &self.args.forms)?;
        }
        if rebooted {
            session.notes.push(
                "the machine started anew since this run began: what counters rose by is not known, and the figures are of both starts".to_owned(),
            );
        }
        session.expect();
        session.take_up();
        // What a run that was gone on with met before is of the run.
        let mut met = Vec::new();
        if !scene.is_soft() {
            let began = kept
                .and_then(|kept| kept.before.as_ref())
                .and_then(|before| before.ago(boot.as_deref()));
            let stood = KernelLog::kept().and_then(|mut log| log.logged());
            session.findings.kernel_log_before = Some(stood.map(|lines| {
                let (of_run, stood) = of_run(lines, began);
                met = of_run;
                stood
            }));
        }
        let mut log = match scene.is_soft() {
            // Lines of this machine's kernel say nothing of a soft box.
            true => None,
            false => Some(KernelLog::from_now()),
        };
        let before = match kept.and_then(|kept| kept.before.clone()) {
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
        let after = scene.counters_after()?;
        let mut counters = before.until(&after);
        // What the kernel shows of a device's own memory is not told twice, unless the monitor saw more: a reset takes the kernel's back.
        let known = |one: &Counter| {
            let is_same = |row: &&Counter| (&row.place, &row.key) == (&one.place, &one.key);
            let mut same = counters.rows.iter().filter(is_same);
            same.any(|row| row.rise() >= one.rise())
        };
        let lost = session.findings.missing.get(&Group::Watch);
        let lost = lost.map(|missing| missing.text.as_str());
        let mut monitored = counters::monitored(&session.findings.monitor, lost);
        monitored.retain(|one| !known(one));
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
}

/// The kernel's lines since a run began so long ago, and those of before; a line that does not say when it was written is of before.
fn of_run(lines: Vec<Logged>, began: Option<Duration>) -> (Vec<String>, Vec<Logged>) {
    let is_of_run = |line: &Logged| line.ago.zip(began).is_some_and(|(ago, began)| ago <= began);
    let (of_run, stood): (Vec<Logged>, Vec<Logged>) = lines.into_iter().partition(is_of_run);
    (of_run.into_iter().map(|line| line.text).collect(), stood)
}

/// Reservations that hold from the start.
fn notes(is_soft: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if rustix::process::geteuid().is_root() {
        notes.push(
            "run as root: nothing of it needs that; what it adds is that the kernel's log and config space can be read".to_owned(),
        );
    }
    if !is_soft {
        let utf8 = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
        notes.extend(environment::notes(
            std::env::vars_os().map(|(name, value)| (utf8(name), utf8(value))),
        ));
    }
    notes
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
        // A run that begins now met nothing.
        assert_eq!(of_run(lines(), None).1.len(), 3);
    }
}
