//! How a run begins: what was asked for is checked, its folder is made or opened, and the machine is looked at.

use std::time::Instant;

use boxfile::BoxFile;
use program::show::Show;
use program::{Stop, provenance, result_folder, say, signal_name};
use record::exit;
use runner::Interrupt;

use super::asked::{check, loaded, matches};
use super::commands::GRAPHS_FROM;
use super::folder::Folder;
use super::journal::{Journal, Kept};
use super::key::Key;
use super::{matching, scene, write};
use crate::baseline;
use crate::checks::KINDS;
use crate::cli::RunArgs;
use crate::documents;
use crate::findings::{Findings, Missing};
use crate::judge::judge;
use crate::profile::{Loaded, Match};
use crate::report::{
    BoxVerdict, Fingerprint, Node, ProfileUsed, REPORT_SCHEMA, ReasonCode, Report, RunStatus,
};

/// What no run looks at.
const NOT_COVERED: [&str; 3] = [
    "all of the devices' memory: DCGM (dcgmi diag -r 3) or RVS (mem) march over it",
    "chips at their limit: DCGM (targeted_power, targeted_stress) or RVS (gst, iet) load them",
    "networks between machines",
];

/// What a quick run leaves out, too.
const NO_GRAPHS: &str = "collectives inside captured graphs: --level standard";

/// `tplens accept run`.
pub(crate) fn run(args: &RunArgs, interrupt: &Interrupt, show: Show) -> Result<u8, Stop> {
    let loaded = loaded(args)?;
    let matches = matches(&loaded.profile)?;
    check(args)?;
    let baseline = args
        .baseline
        .as_deref()
        .map(baseline::load)
        .transpose()
        .map_err(|error| Stop::Usage(format!("--baseline: {error:#}")))?;
    let described = args.on.sim.as_deref().map(BoxFile::resolve).transpose();
    let simulated = described
        .map_err(|error| Stop::Usage(error.to_string()))?
        .map(|described| described.name);
    if let Some(held) = &baseline {
        held.baseline
            .same_kind(simulated.as_deref())
            .map_err(Stop::Usage)?;
    }
    documents::check(&args.forms, &[]).map_err(Stop::Usage)?;
    let run = Run {
        args,
        show,
        loaded: &loaded,
        matches,
        baseline,
        interrupt,
        begun: Instant::now(),
        started: provenance::now(),
    };
    match &args.resume {
        None => {
            let path = result_folder(args.out.as_deref(), "accept");
            run.of(Folder::create(&path)?, None)
        }
        Some(path) => {
            let folder = Folder::open(path)?;
            documents::check_not_read(&args.forms, path).map_err(Stop::Usage)?;
            let (journal, kept) = Journal::open(path)?;
            kept.key.check(&run.key(), path)?;
            match write::told(path)
                .ok()
                .filter(|report| !is_open(report, &kept))
            {
                Some(report) => {
                    say!("this run is complete; there is nothing to resume");
                    let written = write::finish(&report, path, &args.forms, show)?;
                    Ok(exit::fold([report.exit_code, written]))
                }
                None => run.of(folder, Some((journal, kept))),
            }
        }
    }
}

/// Whether a resumed run has something to do: it did not end, a step broke, or a check had no time or too few samples. What is
/// rejected stays so.
pub(super) fn is_open(report: &Report, kept: &Kept) -> bool {
    let is_done = |name: &str| kept.done.iter().any(|done| done.name == name);
    let is_undone = kept.broken.iter().any(|step| !is_done(&step.name));
    let has_more = |code| matches!(code, ReasonCode::NotMeasured | ReasonCode::Noisy);
    let mut checks = report.checks.iter();
    report.status != RunStatus::Complete
        || report.verdict != BoxVerdict::Rejected
            && (is_undone || checks.any(|check| has_more(check.reason.code)))
}

/// A run.
pub(super) struct Run<'a> {
    pub(super) args: &'a RunArgs,
    pub(super) show: Show,
    pub(super) loaded: &'a Loaded,
    pub(super) matches: &'a Match,
    pub(super) baseline: Option<baseline::Loaded>,
    pub(super) interrupt: &'a Interrupt,
    pub(super) begun: Instant,
    pub(super) started: String,
}

impl Run<'_> {
    /// Whose driver measures.
    pub(super) fn backend(&self) -> &str {
        let asked = self.args.on.backend.as_deref();
        asked.unwrap_or(&self.matches.backend)
    }

    /// What was asked for.
    pub(super) fn key(&self) -> Key {
        let baseline = self.baseline.as_ref().map(|held| held.sha256.as_str());
        Key::asked(self.args, &self.loaded.sha256, baseline)
    }

    fn of(&self, folder: Folder, resumed: Option<(Journal, Kept)>) -> Result<u8, Stop> {
        let looked = scene::look(&self.args.on, Some(self.backend()), &folder, self.interrupt);
        let matched = looked.and_then(|scene| {
            matching::check(&self.loaded.profile.name, self.matches, &scene.links)
                .and_then(|()| match &self.baseline {
                    Some(held) => held.baseline.same_devices(&scene.links),
                    None => Ok(()),
                })
                .map_err(Stop::Usage)
                .map(|()| scene)
        });
        match (matched, resumed) {
            (Ok(scene), resumed) => self.on(&scene, &folder, resumed),
            (Err(stop), Some(_)) => Err(stop),
            (Err(Stop::Refused(why)), None) => {
                let status = RunStatus::Failed { reason: why.detail };
                self.without_devices(&folder, status, exit::INCONCLUSIVE)
            }
            (Err(Stop::Interrupted(signal)), None) => {
                let name = signal_name(signal).to_owned();
                let status = RunStatus::Interrupted { signal: name };
                self.without_devices(&folder, status, signal.exit_code())
            }
            (Err(stop), None) => {
                folder.forget();
                Err(stop)
            }
        }
    }

    /// Ends a run before any device was looked at.
    fn without_devices(
        &self,
        folder: &Folder,
        status: RunStatus,
        exit_code: u8,
    ) -> Result<u8, Stop> {
        let code = match status {
            RunStatus::Interrupted { .. } => ReasonCode::NotMeasured,
            _ => ReasonCode::Unreadable,
        };
        let mut findings = Findings::default();
        for kind in KINDS {
            findings
                .missing
                .insert(kind.group, Missing::of(code, "no device was looked at"));
        }
        let args = self.args;
        let mut report = self.report(Node {
            name: provenance::host().unwrap_or_else(|| "unknown".to_owned()),
            label: None,
            identified: true,
            fingerprint: Fingerprint {
                backend: self.backend().to_owned(),
                ..Fingerprint::default()
            },
        });
        report.checks = judge(&self.loaded.profile, args.level, &findings, &args.exclude);
        report.exit_code = exit_code;
        report.took_s = self.begun.elapsed().as_secs_f64();
        report.status = status;
        let written = write::finish(&report, folder.path(), &args.forms, self.show)?;
        say!("result: {}", folder.path().display());
        Ok(exit::fold([exit_code, written]))
    }

    /// A report of a run that has not ended.
    pub(super) fn report(&self, node: Node) -> Report {
        let profile = &self.loaded.profile;
        let no_graphs = (self.args.level < GRAPHS_FROM).then_some(NO_GRAPHS);
        let not_covered = no_graphs.into_iter().chain(NOT_COVERED);
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
            level: self.args.level.word().to_owned(),
            node: Node {
                label: self.args.label.clone(),
                ..node
            },
            devices: Vec::new(),
            checks: Vec::new(),
            not_covered: not_covered.map(str::to_owned).collect(),
            notes: Vec::new(),
            journal_sha256: None,
        }
    }
}
