//! A run from its command line to its exit code: profile, folder, devices; where there is none to measure, the report that says so.
//!
//! The run on devices that fit is in `course`.

use std::time::Instant;

use anyhow::anyhow;
use boxfile::BoxFile;
use measure::exit;
use measure::record::Links;
use program::{Stop, provenance, result_folder, say, signal_name};
use supervisor::{Interrupt, Signal};

use super::asked::{check, level_word, loaded, matches};
use super::commands::GRAPHS_FROM;
use super::folder::Folder;
use super::journal;
use super::kept::Kept;
use super::{key, matching, scene, write};
use crate::baseline;
use crate::checks::KINDS;
use crate::cli::{Level, RunArgs};
use crate::findings::{Findings, Missing};
use crate::judge::judge;
use crate::outputs;
use crate::profile::{Loaded, Match};
use crate::report::{
    BoxVerdict, Fingerprint, Node, ProfileUsed, REPORT_SCHEMA, ReasonCode, Report, RunStatus,
};

/// What no run looks at, and what does.
const NOT_COVERED: [&str; 3] = [
    "no march over all of the devices' memory: DCGM (dcgmi diag -r 3) or RVS (mem) do one",
    "no power virus, and tensor or matrix cores are not loaded: DCGM (targeted_power, targeted_stress) or RVS (gst, iet) load chips to their limit",
    "no network between machines",
];

/// What this level does not look at, and another one does.
const NO_GRAPHS: &str =
    "no collectives inside captured graphs, as serving engines make them: --level standard";

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
    if let Some((held, path)) = baseline.as_ref().zip(args.baseline.as_deref()) {
        let soft = soft_box(args)?;
        let is_of = held.baseline.same_kind(path, soft.as_deref());
        is_of.map_err(Stop::Usage)?;
    }
    outputs::check(&args.forms, &[]).map_err(Stop::Usage)?;
    // Held until this run ends, so that no other one goes on with the folder meanwhile.
    let (folder, kept, _held) = match &args.resume {
        Some(path) => {
            let folder = Folder::open(path)?;
            outputs::check_not_read(&args.forms, path).map_err(Stop::Usage)?;
            let (kept, held) = journal::of_folder(path)?;
            (folder, Some(kept), Some(held))
        }
        None => {
            let path = result_folder(args.out.as_deref(), "accept");
            (Folder::create(&path)?, None, None)
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

/// The name of the soft box that a run plays.
fn soft_box(args: &RunArgs) -> Result<Option<String>, Stop> {
    let described = args.sim.as_deref().map(BoxFile::resolve).transpose();
    let described = described.map_err(|error| Stop::Usage(error.to_string()))?;
    Ok(described.map(|described| described.name))
}

/// A run before its devices are known.
pub(super) struct Run<'a> {
    pub(super) args: &'a RunArgs,
    pub(super) loaded: &'a Loaded,
    matches: &'a Match,
    pub(super) baseline: Option<baseline::Loaded>,
    pub(super) interrupt: &'a Interrupt,
    pub(super) begun: Instant,
    started: String,
}

impl Run<'_> {
    pub(super) fn backend(&self) -> &str {
        self.args
            .backend
            .as_deref()
            .unwrap_or(&self.matches.backend)
    }

    fn of(&self, folder: Folder, kept: Option<Kept>) -> Result<u8, Stop> {
        if let Some(kept) = kept.as_ref().filter(|kept| kept.is_complete())
            && !kept.is_open()
        {
            let baseline = self.baseline.as_ref().map(|held| held.sha256.as_str());
            let differences = kept
                .key
                .differences_of(self.args, &self.loaded.sha256, baseline);
            key::refuse(folder.path(), &differences)?;
            let why = match kept.has_broken() {
                true => " and rejected, which no step that broke would change",
                false => "",
            };
            say!("this run is complete{why}; there is nothing to go on with");
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
                .and_then(|()| self.is_of_baseline(&scene.links))
                .map_err(Stop::Usage)
                .map(|()| scene)
        });
        match (matched, kept) {
            (Ok(scene), kept) => self.on(&scene, &folder, kept),
            // An earlier process of this run has a journal, to which a machine without devices adds nothing.
            (Err(stop), Some(_)) => Err(stop),
            (Err(Stop::Refused(why)), None) => self.refuse(&folder, why),
            (Err(Stop::Interrupted(signal)), None) => self.broken_off(&folder, signal),
            (Err(stop), None) => {
                folder.forget();
                Err(stop)
            }
        }
    }

    /// Whether the baseline, where there is one, is of devices such as these.
    fn is_of_baseline(&self, links: &Links) -> Result<(), String> {
        let Some((held, path)) = self.baseline.as_ref().zip(self.args.baseline.as_deref()) else {
            return Ok(());
        };
        let names: Vec<String> = links
            .devices
            .iter()
            .map(|device| device.name.clone())
            .collect();
        let backend = links.backend.as_ref();
        let backend = backend.map_or(self.backend(), |backend| &*backend.name);
        held.baseline.same_devices(path, backend, &names)
    }

    /// Nothing can be measured: a report that says what was looked for, and no device.
    fn refuse(&self, folder: &Folder, why: String) -> Result<u8, Stop> {
        let status = RunStatus::Failed {
            reason: why.clone(),
        };
        let lack = (ReasonCode::Unreadable, "no device could be looked at");
        let code = self.without_devices(folder, status, lack, exit::INCONCLUSIVE)?;
        // The text says it on standard output.
        if self.args.forms.json {
            say!("nothing was measured: {why}");
        }
        say!("result: {}", folder.path().display());
        Ok(code)
    }

    /// A signal came before the devices were known: there is nothing to go on with, and a report says so.
    fn broken_off(&self, folder: &Folder, signal: Signal) -> Result<u8, Stop> {
        let status = RunStatus::Interrupted {
            signal: signal_name(signal).to_owned(),
        };
        let lack = (
            ReasonCode::Interrupted,
            "the run was told to stop before any device was looked at",
        );
        let code = self.without_devices(folder, status, lack, signal.exit_code())?;
        say!(
            "result: {}; broken off before any device was looked at: start it anew with another --out",
            folder.path().display()
        );
        Ok(code)
    }

    /// The report of a run that looked at no device, for this reason; gives the exit code.
    fn without_devices(
        &self,
        folder: &Folder,
        status: RunStatus,
        (code, text): (ReasonCode, &str),
        exit_code: u8,
    ) -> Result<u8, Stop> {
        let mut findings = Findings::default();
        for group in KINDS.iter().map(|kind| kind.group) {
            findings.missing.insert(group, Missing::of(code, text));
        }
        let args = self.args;
        let mut report = self.report(self.nowhere());
        report.checks = judge(&self.loaded.profile, args.level, &findings, &args.exclude)
            .map_err(|error| anyhow!(error))?;
        report.verdict = BoxVerdict::Inconclusive;
        report.exit_code = exit_code;
        report.took_s = self.begun.elapsed().as_secs_f64();
        report.status = status;
        let written = write::finish(&report, folder.path(), &args.forms)?;
        Ok(exit::fold([exit_code, written]))
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
    pub(super) fn report(&self, node: Node) -> Report {
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
            not_covered: not_covered(self.args.level),
            notes: Vec::new(),
        }
    }
}

/// What a run at this level does not look at, and what does.
fn not_covered(level: Level) -> Vec<String> {
    let no_graphs = (level < GRAPHS_FROM).then_some(NO_GRAPHS);
    let all = no_graphs.into_iter().chain(NOT_COVERED);
    all.map(str::to_owned).collect()
}
