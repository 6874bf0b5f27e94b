//! A run from its command line to its exit code: profile, folder, devices, the run itself, and the report.

use std::time::{Duration, Instant};

use anyhow::anyhow;
use measure::exit;
use program::kernel_log::KernelLog;
use program::{Stop, provenance, result_folder, say, signal_name};
use supervisor::{Interrupt, Signal};
use topology::Sysfs;

use super::counters;
use super::folder::Folder;
use super::journal::{self, Entry, Journal, Kept};
use super::key::Key;
use super::machine;
use super::monitor::{self, Monitor};
use super::scene::{self, Scene};
use super::session::Session;
use super::steps::Bench;
use super::{environment, matching, process, series, write};
use crate::baseline;
use crate::checks::{Group, KINDS};
use crate::cli::{Level, RunArgs};
use crate::findings::{Findings, Found, Missing};
use crate::judge::judge;
use crate::outputs;
use crate::profile::{self, Loaded, Match, Profile};
use crate::report::{
    BoxVerdict, Fingerprint, Node, ProfileUsed, REPORT_SCHEMA, ReasonCode, Report, RunStatus,
};

/// What no run looks at, and what does.
const NOT_COVERED: [&str; 4] = [
    "no march over all of the devices' memory: DCGM (dcgmi diag -r 3) or RVS (mem) do one",
    "no power virus: DCGM (targeted_power, targeted_stress) or RVS (gst, iet) load chips to their limit",
    "no counter that only a vendor's management library has, such as ECC errors of device memory: nvidia-smi -q -d ECC, amd-smi metric --ecc",
    "no network between machines",
];

/// The profile of a command line.
///
/// # Errors
/// What is wrong with it.
pub(super) fn loaded(args: &RunArgs) -> Result<Loaded, Stop> {
    profile::load(&args.profile).map_err(|error| Stop::Usage(error.to_string()))
}

/// What devices a profile is for.
///
/// # Errors
/// It does not say.
pub(super) fn matches(profile: &Profile) -> Result<&Match, Stop> {
    profile.matches.as_ref().ok_or_else(|| {
        Stop::Usage(format!(
            "profile {} has no [match] and can only be extended; choose one that is for a box",
            profile.name
        ))
    })
}

/// A level's word.
pub(super) fn level_word(level: Level) -> &'static str {
    match level {
        Level::Quick => "quick",
        Level::Standard => "standard",
        Level::Soak => "soak",
    }
}

/// What a run may take in all.
pub(super) fn time_budget(args: &RunArgs, profile: &Profile) -> Duration {
    let own = match args.level {
        Level::Quick => profile.budget.quick_s,
        Level::Standard | Level::Soak => profile.budget.standard_s,
    };
    let soak = args.duration.unwrap_or_default();
    args.budget
        .unwrap_or_else(|| Duration::try_from_secs_f64(own).unwrap_or_default() + soak)
}

/// What is wrong with a command line beside its profile.
fn check(args: &RunArgs) -> Result<(), Stop> {
    let refused = |why: &str| Err(Stop::Usage(why.to_owned()));
    match (args.level, args.duration) {
        (Level::Soak, None) => return refused("--level soak needs --duration, such as 30m"),
        (Level::Quick | Level::Standard, Some(_)) => {
            return refused("--duration is for --level soak; add it, or leave --duration out");
        }
        _ => {}
    }
    if let Some(unknown) = args
        .exclude
        .iter()
        .find(|key| crate::checks::kind(key).is_none())
    {
        let known: Vec<&str> = KINDS.iter().map(|kind| kind.key).collect();
        return Err(Stop::Usage(format!(
            "--exclude {unknown}: there is no such kind of check; there are {}",
            known.join(", ")
        )));
    }
    if args.sim.is_some() && args.backend.as_deref() == Some("host") {
        return refused(
            "--sim plays GPUs and --backend host measures this machine: leave one of them out",
        );
    }
    for (program, is_needed) in [
        ("p2p-bw", true),
        ("allreduce-bench", true),
        ("serve-bench", args.serve_url.is_some()),
    ] {
        if is_needed {
            process::file(program).map_err(Stop::Usage)?;
        }
    }
    Ok(())
}

/// Runs, or goes on with a run, and gives the exit code.
///
/// # Errors
/// What ended it before there was a report, or a disk that does not take one.
pub(crate) fn run(args: &RunArgs, interrupt: &Interrupt) -> Result<u8, Stop> {
    let loaded = loaded(args)?;
    let matches = matches(&loaded.profile)?;
    check(args)?;
    let baseline = args
        .baseline
        .as_deref()
        .map(baseline::load)
        .transpose()
        .map_err(|error| Stop::Usage(format!("--baseline: {error}")))?;
    outputs::check(&args.forms, &[]).map_err(Stop::Usage)?;
    let (folder, kept) = match &args.resume {
        Some(path) => {
            let folder = Folder::open(path)?;
            let kept = journal::of_folder(path)?;
            (folder, Some(kept))
        }
        None => {
            let path = result_folder(args.out.as_deref(), "accept");
            (Folder::create(&path)?, None)
        }
    };
    let run = Run {
        args,
        loaded: &loaded,
        matches,
        baseline,
        interrupt,
        begun: Instant::now(),
        started: provenance::now(),
    };
    run.of(folder, kept)
}

/// A run before its devices are known.
struct Run<'a> {
    args: &'a RunArgs,
    loaded: &'a Loaded,
    matches: &'a Match,
    baseline: Option<baseline::Loaded>,
    interrupt: &'a Interrupt,
    begun: Instant,
    started: String,
}

impl Run<'_> {
    fn backend(&self) -> &str {
        self.args
            .backend
            .as_deref()
            .unwrap_or(&self.matches.backend)
    }

    fn of(&self, folder: Folder, kept: Option<Kept>) -> Result<u8, Stop> {
        if let Some(kept) = kept.as_ref().filter(|kept| kept.is_ended)
            && kept.report.status == RunStatus::Complete
        {
            say!("this run is complete; there is nothing to go on with");
            let report = kept.report();
            let written = write::finish(&report, folder.path(), &self.args.forms)?;
            return Ok(exit::fold([report.exit_code, written]));
        }
        if let Some(name) = &self.args.sim {
            say!("SIMULATED on the soft box {name}: no figure of this run is of real hardware");
        }
        let looked = scene::look(self.args, self.backend(), &folder, self.interrupt);
        let matched = looked.and_then(|scene| {
            matching::check(&self.loaded.profile.name, self.matches, &scene.links)
                .map_err(Stop::Usage)
                .map(|()| scene)
        });
        match (matched, kept) {
            (Ok(scene), kept) => self.on(&scene, &folder, kept),
            // An earlier process of this run has a journal, to which a machine without devices adds nothing.
            (Err(stop), Some(_)) => Err(stop),
            (Err(Stop::Refused(why)), None) => self.refuse(&folder, why),
            (Err(stop), None) => {
                folder.forget();
                Err(stop)
            }
        }
    }

    /// Nothing can be measured: a report that says what was looked for, and no device.
    fn refuse(&self, folder: &Folder, why: String) -> Result<u8, Stop> {
        let mut findings = Findings::default();
        for group in KINDS.iter().map(|kind| kind.group) {
            let missing = Missing {
                code: ReasonCode::Unreadable,
                text: "no device could be looked at".to_owned(),
            };
            findings.missing.insert(group, missing);
        }
        let args = self.args;
        let mut report = self.report(self.nowhere());
        report.checks = judge(&self.loaded.profile, args.level, &findings, &args.exclude)
            .map_err(|error| anyhow!(error))?;
        report.verdict = BoxVerdict::Inconclusive;
        report.exit_code = exit::INCONCLUSIVE;
        report.took_s = self.begun.elapsed().as_secs_f64();
        report.status = RunStatus::Failed {
            reason: why.clone(),
        };
        let written = write::finish(&report, folder.path(), &args.forms)?;
        say!("nothing was measured: {why}");
        say!("result: {}", folder.path().display());
        Ok(exit::fold([exit::INCONCLUSIVE, written]))
    }

    /// The machine of a run whose devices are not known.
    fn nowhere(&self) -> Node {
        Node {
            name: provenance::host().unwrap_or_else(|| "unknown".to_owned()),
            identified: true,
            fingerprint: Fingerprint {
                backend: self.backend().to_owned(),
                ..Fingerprint::default()
            },
        }
    }

    /// The report of this run before anything is known.
    fn report(&self, node: Node) -> Report {
        let profile = &self.loaded.profile;
        Report {
            schema: REPORT_SCHEMA,
            program: env!("CARGO_PKG_NAME").to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            program_sha256: None,
            simulated: None,
            started: self.started.clone(),
            took_s: 0.0,
            status: RunStatus::Broken,
            verdict: BoxVerdict::Inconclusive,
            exit_code: exit::INCONCLUSIVE,
            profile: ProfileUsed {
                name: profile.name.clone(),
                title: profile.title.clone(),
                sha256: self.loaded.sha256.clone(),
                shipped: self.loaded.shipped,
                baseline_sha256: self.baseline.as_ref().map(|held| held.sha256.clone()),
            },
            level: level_word(self.args.level).to_owned(),
            node,
            devices: Vec::new(),
            checks: Vec::new(),
            settings: Vec::new(),
            series: Vec::new(),
            not_covered: NOT_COVERED.map(str::to_owned).to_vec(),
            notes: Vec::new(),
        }
    }

    /// The run, on devices that fit its profile.
    fn on(&self, scene: &Scene, folder: &Folder, kept: Option<Kept>) -> Result<u8, Stop> {
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
                let differences = kept.key.differences(&key);
                if !differences.is_empty() {
                    return Err(Stop::Usage(format!(
                        "the run in {} cannot be gone on with: what differs is {}; start a new one with --out",
                        folder.path().display(),
                        differences.join(", ")
                    )));
                }
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
                Journal::begin(folder.path(), &key, &report)?
            }
        };
        if let Some(kept) = &kept {
            report.settings.clone_from(&kept.report.settings);
            let done = kept.done.len();
            report.notes.push(format!(
                "the run was broken off and gone on with: {done} steps were done before"
            ));
            say!(
                "going on with the run in {}: {done} steps are done",
                folder.path().display()
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
                for line in in_short(&session) {
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
        let mut findings = Findings {
            baseline: self.baseline.as_ref().map(|held| held.baseline.clone()),
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
            begun: self.begun,
            before_s: kept.map_or(0.0, |kept| kept.took_s),
            budget: time_budget(self.args, &self.loaded.profile),
            checks: kept.map(|kept| kept.checks.clone()).unwrap_or_default(),
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
            boot,
        })?;
        session.expect();
        session.take_up();
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
        let monitor = self.monitor(session, scene);
        let mut outcome = session.measure();
        if let (Ok(()), Some(duration)) = (&outcome, self.args.duration) {
            outcome = session.soak(duration, rebooted);
        }
        self.watched(session, monitor);
        let after = scene.counters_after()?;
        let mut counters = before.until(&after);
        counters
            .rows
            .extend(counters::replays(&session.findings.monitor));
        session.findings.counters = Some(counters);
        session.findings.kernel_log = Some(match &mut log {
            None => Ok(Vec::new()),
            Some(Ok(log)) => log.lines(),
            Some(Err(why)) => Err(why.clone()),
        });
        session.findings.missing.remove(&Group::Counters);
        // What a signal left is judged, too; the signal itself comes behind.
        session.judge()?;
        outcome
    }

    /// Starts the monitor; why there is none is kept where it would have been seen.
    fn monitor(&self, session: &Session<'_>, scene: &Scene) -> Result<Monitor, String> {
        let devices: Vec<String> = scene
            .named()
            .into_iter()
            .map(|device| device.number)
            .collect();
        let mut words = vec!["--backend".to_owned(), self.backend().to_owned()];
        words.extend(["--gpus".to_owned(), devices.join(",")]);
        words.extend(session.bench.played());
        let free = (1..).map(|number| monitor_file(session.folder, number));
        let file = free
            .into_iter()
            .find(|path| path.symlink_metadata().is_err());
        let file = file.unwrap_or_else(|| monitor_file(session.folder, 0));
        let program = process::file("p2p-bw")?;
        Monitor::start(&program, &words, &file, self.interrupt)
            .map_err(|error| format!("{error:#}"))
    }

    /// Takes what the monitors of this run saw.
    fn watched(&self, session: &mut Session<'_>, monitor: Result<Monitor, String>) {
        // Those of earlier processes are in their files, the last of which is this one's.
        let files: Vec<_> = (1..)
            .map(|number| monitor_file(session.folder, number))
            .take_while(|path| path.exists())
            .collect();
        let earlier = files.len().saturating_sub(1);
        for file in &files[..earlier] {
            session.findings.monitor.extend(monitor::read(file));
        }
        let lost = match monitor {
            Err(why) => Some(why),
            Ok(monitor) => {
                let watched = monitor.end();
                session.findings.monitor.extend(watched.lines);
                if watched.left_out > 0 {
                    session.notes.push(format!(
                        "of the monitor's lines {} that showed no change were not kept",
                        watched.left_out
                    ));
                }
                watched.lost
            }
        };
        match lost {
            None => {
                session.findings.missing.remove(&Group::Watch);
            }
            Some(why) => {
                let text = format!("the monitor was lost: {why}");
                say!("{text}");
                let code = ReasonCode::MonitorLost;
                session
                    .findings
                    .missing
                    .insert(Group::Watch, Missing { code, text });
            }
        }
    }

    /// The report of a run that ended, on the disk and printed.
    fn end(
        &self,
        mut report: Report,
        mut session: Session<'_>,
        status: RunStatus,
        folder: &Folder,
    ) -> Result<u8, Stop> {
        report.checks = std::mem::take(&mut session.checks);
        report.verdict = BoxVerdict::of(
            report
                .checks
                .iter()
                .map(|check| (check.required, check.verdict, check.reason.code)),
        );
        // What was not looked at because a signal came is not found good.
        if status != RunStatus::Complete && report.verdict.exit_code() == exit::DONE {
            report.verdict = BoxVerdict::Inconclusive;
        }
        report.exit_code = match &status {
            RunStatus::Interrupted { .. } => self
                .interrupt
                .signal()
                .map_or(exit::INTERRUPTED, Signal::exit_code),
            _ => report.verdict.exit_code(),
        };
        report.status = status;
        report.took_s = session.before_s + self.begun.elapsed().as_secs_f64();
        report.series = series::of(&session.findings.monitor);
        report.notes.append(&mut session.notes);
        if let Some(fingerprint) = session.findings.fingerprint.take() {
            report.node.fingerprint = fingerprint;
        }
        session.keep(&Entry::End {
            report: Box::new(report.clone()),
        })?;
        let written = write::finish(&report, folder.path(), &self.args.forms)?;
        say!("result: {}", folder.path().display());
        if let RunStatus::Interrupted { .. } = report.status {
            say!(
                "broken off; the same command with --resume {} in place of --out goes on with it",
                folder.path().display()
            );
        }
        Ok(exit::fold([report.exit_code, written]))
    }
}

fn monitor_file(folder: &Folder, number: usize) -> std::path::PathBuf {
    folder.join(&format!("monitor-{number}.jsonl"))
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

/// What the checks came to until now, for a run whose disk refuses.
fn in_short(session: &Session<'_>) -> Vec<String> {
    let failed = session
        .checks
        .iter()
        .filter(|check| check.verdict == crate::report::Verdict::Fail && check.required);
    failed
        .map(|check| format!("until then: {} failed: {}", check.id, check.reason.text))
        .collect()
}
