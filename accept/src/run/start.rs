//! How a run begins: what was asked for is checked, its folder is made or opened, and the machine is looked at.

use std::time::{Duration, Instant};

use boxfile::BoxFile;
use program::show::Show;
use program::{Stop, provenance, result_folder, say, signal_name};
use record::{Simulated, exit};
use runner::{Interrupt, Signal};

use super::folder::{Folder, JOURNAL};
use super::steps::GRAPHS_FROM;
use super::{scene, write};
use crate::baseline::Baseline;
use crate::checks::KINDS;
use crate::cli::{Level, RunArgs};
use crate::documents;
use crate::findings::Findings;
use crate::judge::judge;
use crate::profile::{self, Loaded, Match, Profile};
use crate::report::{
    BoxVerdict, Came, Fingerprint, Node, ProfileUsed, REPORT_SCHEMA, ReasonCode, Report, RunStatus,
};

/// What no run looks at.
const NOT_COVERED: [&str; 3] = [
    "all of the devices' memory: DCGM (dcgmi diag -r 3) or RVS (mem) march over it",
    "chips at their limit: DCGM (targeted_power, targeted_stress) or RVS (gst, iet) load them",
    "networks between machines",
];

/// What a quick run leaves out, too.
const NO_GRAPHS: &str = "collectives inside captured graphs: --level standard";

/// The profile of a command line.
///
/// # Errors
/// What is wrong with it.
pub(super) fn loaded(args: &RunArgs) -> Result<Loaded, Stop> {
    profile::load(&args.profile).map_err(|error| Stop::Usage(format!("{error:#}")))
}

/// What devices a profile is for.
///
/// # Errors
/// It does not say.
pub(super) fn matches(profile: &Profile) -> Result<&Match, Stop> {
    profile.matches.as_ref().ok_or_else(|| {
        let why = "has no [match] and can only be extended; choose one that is for a machine";
        Stop::Usage(format!("profile {} {why}", profile.name))
    })
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
    match (args.level == Level::Soak, args.duration.is_some()) {
        (true, false) => refused("--level soak needs --duration, such as 30m"),
        (false, true) => refused("--duration is for --level soak; add it, or leave --duration out"),
        _ if args.on.sim.is_some() && args.on.backend.as_deref() == Some("host") => refused(
            "--sim simulates GPUs and --backend host measures this machine: leave one of them out",
        ),
        _ => Ok(()),
    }
}

/// `tplens accept run`.
pub(crate) fn run(args: &RunArgs, interrupt: &Interrupt, show: Show) -> Result<u8, Stop> {
    let loaded = loaded(args)?;
    let matches = matches(&loaded.profile)?;
    check(args)?;
    let described = args.on.sim.as_deref().map(BoxFile::resolve).transpose();
    let described = described.map_err(|error| Stop::Usage(error.to_string()))?;
    let simulated = described.map(|described| described.name);
    let baseline = args.baseline.as_deref();
    let baseline = baseline.map(|path| Baseline::of(path, simulated.as_deref()));
    let baseline = baseline.transpose().map_err(Stop::Usage)?;
    documents::check(&args.forms, args.resume.as_deref()).map_err(Stop::Usage)?;
    // What a resumed run is asked for must be what it was begun with.
    let (on, baseline_sha256) = (&args.on, baseline.as_ref().map(|baseline| &baseline.sha256));
    let settings = serde_json::json!({
        "profile": loaded.sha256, "baseline": baseline_sha256, "level": args.level,
        "duration": args.duration, "gpus": on.gpus, "backend": on.backend, "sim": on.sim,
        "exclude": args.exclude, "serve_url": args.serve_url,
    });
    let path = match &args.resume {
        Some(path) => path.clone(),
        None => result_folder(args.out.as_deref(), "accept"),
    };
    let (folder, _held) = Folder::open(&path, args.resume.is_some(), &settings, interrupt)?;
    let run = Run {
        args,
        show,
        loaded: &loaded,
        matches,
        simulated: simulated.map(|box_name| Simulated { box_name }),
        baseline: baseline.as_ref(),
        interrupt,
        begun: Instant::now(),
        started: provenance::now(),
    };
    match write::told(&path) {
        Ok(report) if args.resume.is_some() && !is_open(&report) => {
            say!("this run is complete; there is nothing to resume");
            let written = write::finish(&report, &path, &args.forms, show)?;
            Ok(exit::fold([report.exit_code, written]))
        }
        _ => run.of(folder),
    }
}

/// Whether a resumed run has something to do: it did not end, or a check had no time, no evidence or too few samples. What is rejected
/// stays so.
pub(super) fn is_open(report: &Report) -> bool {
    use ReasonCode::{Noisy, NotMeasured};
    let mut checks = report.checks.iter();
    report.status != RunStatus::Complete
        || report.verdict != BoxVerdict::Rejected
            && checks.any(|check| matches!(check.reason.code, NotMeasured | Noisy))
}

/// A run.
pub(super) struct Run<'a> {
    pub(super) args: &'a RunArgs,
    pub(super) show: Show,
    pub(super) loaded: &'a Loaded,
    pub(super) matches: &'a Match,
    simulated: Option<Simulated>,
    pub(super) baseline: Option<&'a Baseline>,
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

    fn of(&self, folder: Folder) -> Result<u8, Stop> {
        let budget = time_budget(self.args, &self.loaded.profile);
        let limit = scene::LOOKING.min(budget + scene::LISTING);
        let (on, backend) = (&self.args.on, Some(self.backend()));
        let looked = scene::look(on, backend, &folder, limit, self.interrupt);
        let matched = looked.and_then(|scene| {
            scene::check(&self.loaded.profile.name, self.matches, &scene.links)?;
            Ok(scene)
        });
        let is_new = !folder.join(JOURNAL).exists();
        match matched {
            Ok(scene) => self.on(&scene, &folder),
            Err(Stop::Refused(why)) if is_new => {
                let status = RunStatus::Failed { reason: why.detail };
                self.without_devices(&folder, status, ReasonCode::Unreadable)
            }
            Err(Stop::Interrupted(signal)) if is_new => {
                let signal = signal_name(signal).to_owned();
                let status = RunStatus::Interrupted { signal };
                self.without_devices(&folder, status, ReasonCode::NotMeasured)
            }
            Err(stop) => {
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
        why: ReasonCode,
    ) -> Result<u8, Stop> {
        let missing = Came::open(why).saying("no device was looked at");
        let groups = KINDS.iter().map(|kind| (kind.group, missing.clone()));
        let findings = Findings {
            missing: groups.collect(),
            ..Findings::default()
        };
        let mut report = self.report(Node {
            name: provenance::host().unwrap_or_else(|| "unknown".to_owned()),
            identified: true,
            fingerprint: Fingerprint {
                backend: self.backend().to_owned(),
                ..Fingerprint::default()
            },
            ..Node::default()
        });
        let args = self.args;
        report.checks = judge(&self.loaded.profile, args.level, &findings, &args.exclude);
        let signal = self.interrupt.signal();
        report.exit_code = signal.map_or(exit::INCONCLUSIVE, Signal::exit_code);
        report.took_s = self.begun.elapsed().as_secs_f64();
        report.status = status;
        let written = write::finish(&report, &folder.path, &args.forms, self.show)?;
        Ok(exit::fold([report.exit_code, written]))
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
            simulated: self.simulated.clone(),
            started: self.started.clone(),
            exit_code: exit::INCONCLUSIVE,
            profile: ProfileUsed {
                name: profile.name.clone(),
                title: profile.title.clone(),
                sha256: self.loaded.sha256.clone(),
                shipped: self.loaded.shipped,
                baseline_sha256: self.baseline.map(|baseline| baseline.sha256.clone()),
            },
            level: self.args.level.to_string(),
            node: Node {
                label: self.args.label.clone(),
                ..node
            },
            not_covered: not_covered.map(str::to_owned).collect(),
            ..Report::default()
        }
    }
}
