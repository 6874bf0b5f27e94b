//! What is run, in which order and by which commands, decided before anything is measured.

use std::path::{Path, PathBuf};

use boxfile::{BoxFile, Limits};
use explain::Change;
use program::Stop;
use record::{CallMode, CollectiveKind, PlannedStep, private, write_whole};
use runner::run::Step;
use stats::rounds;
use tp_plan::{CustomAllReduce, Engine, EngineFacts, Execution, Surroundings, plan};

use super::args::AblateArgs;
use super::arm::{Arm, Names, ROWS, Row};
use super::soft;
use crate::explain::NO_OWN_ALL_REDUCE;
use crate::planner::words;
use crate::study::engines::{ServerCommand, TP, embedded};
use crate::study::subject::{Subject, first, visible};

/// Below this part a simulated machine's arm changes nothing that the box's noise leaves to be seen.
const LEAST: f64 = 0.01;

/// Seconds for the collectives of a launch.
const BUDGET_S: f64 = 10.0;

/// The box files of a launch on a simulated machine: for the benchmark, whose library is told of limits by variables, and for the engine.
const BENCH_BOX: &str = "bench-box.toml";
const ENGINE_BOX: &str = "engine-box.toml";

/// Where the delay library says how often the server called it.
pub(super) const SHIM_LOG: &str = "shim.jsonl";

/// An ablation as it will be run.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    pub(super) args: &'a AblateArgs,
    pub(super) subject: Subject<'a>,
    /// What decides an engine's paths.
    around: Surroundings,
    /// How the vendor's software is reported.
    names: Option<Names>,
    /// The arms, the baseline first.
    pub(super) arms: Vec<Arm>,
    /// Arms that cannot be run here, with the reason.
    pub(super) refused: Vec<(&'static str, &'static str)>,
    /// The launches in their order.
    pub(super) launches: Vec<Launched>,
}

/// A launch: its name and that of its folder, and its arm by number.
#[derive(Debug, Clone)]
pub(super) struct Launched {
    pub(super) name: String,
    pub(super) arm: usize,
}

impl<'a> Plan<'a> {
    /// Decides what is run on a machine.
    ///
    /// # Errors
    /// An arm that was named and cannot be run, or an engine of its own all-reduce that nobody can time.
    pub(super) fn new(
        args: &'a AblateArgs,
        subject: Subject<'a>,
        around: Surroundings,
    ) -> Result<Self, Stop> {
        let mut plan = Self {
            args,
            subject,
            names: Names::of(around.vendor),
            around,
            arms: Vec::new(),
            refused: Vec::new(),
            launches: Vec::new(),
        };
        plan.check_engine()?;
        for row in &ROWS {
            let is_named = args.arms.iter().any(|name| name == row.name);
            if !args.arms.is_empty() && !is_named && row.change != Change::Baseline {
                continue;
            }
            match plan.lacks(row) {
                Some(reason) if is_named => {
                    let why = format!("--arms {}: {reason}; leave it out", row.name);
                    return Err(Stop::Refused(why.into()));
                }
                Some(reason) => plan.refused.push((row.name, reason)),
                None => plan.arms.extend(arms_of(row, args)),
            }
        }
        let order = rounds(plan.arms.len(), args.launches, args.seed);
        let order = order.into_iter().flatten().enumerate();
        let launched = |(number, arm): (usize, usize)| Launched {
            name: format!("launches/{number:03}-{}", plan.arms[arm].name),
            arm,
        };
        plan.launches = order.map(launched).collect();
        Ok(plan)
    }

    /// An engine whose own all-reduce would run beside a benchmark of the library makes every number of an arm wrong.
    fn check_engine(&self) -> Result<(), Stop> {
        let own = self.subject.facts(self.args.tp, &self.around);
        if !self.is_told_to_leave() && own.custom_all_reduce == CustomAllReduce::Active {
            return Err(Stop::Usage(format!(
                "the engine may do all-reduces by code of its own, and how to tell this command to leave them to the library is not known: write {NO_OWN_ALL_REDUCE}, or what it calls that, into the command"
            )));
        }
        match &self.subject.simulated {
            Some(described) if soft::collectives_us(described, &self.planned()).is_none() => {
                Err(Stop::Refused(format!(
                    "the box {} does not say how long the collectives of {} ranks take; choose another one for --sim",
                    described.name, self.args.tp
                ).into()))
            }
            _ => Ok(()),
        }
    }

    /// Why a row cannot be run on these devices; `None` where it can.
    fn lacks(&self, row: &Row) -> Option<&'static str> {
        let simulated = self.subject.simulated.as_ref();
        let has_library = self
            .names
            .is_some_and(|names| names.library(false).is_some());
        match row.change {
            Change::Baseline => None,
            _ if self.names.is_none() => {
                Some("no collective library whose variables are known does the collectives here")
            }
            Change::Delay if simulated.is_none() && !has_library => {
                Some("delays need NCCL or RCCL: no library adds them to MCCL's calls")
            }
            Change::Delay if simulated.is_none() && self.args.shim.is_none() => Some(
                "the library that adds the delay is not named: give --shim FILE; an archive has it below `shim`, a checkout makes it with `cargo xtask shim`",
            ),
            _ if row.name == "p2p-off" && self.around.peer_access == Some(false) => {
                Some("there is no peer access: everything goes through host memory already")
            }
            _ => simulated.and_then(|described| self.unchanged(described, &(row.limits)())),
        }
    }

    /// Why limits change nothing on a simulated machine.
    fn unchanged(&self, described: &BoxFile, limits: &Limits) -> Option<&'static str> {
        if *limits == Limits::default() {
            return None;
        }
        let step = self.planned();
        let whole = soft::collectives_us(described, &step)?;
        match soft::collectives_us(&soft::limited(described, limits), &step) {
            None => Some("the machine file has no times for it"),
            Some(us) if (us / whole - 1.0).abs() < LEAST => {
                Some("by the machine file it changes nothing at the sizes of this batch")
            }
            Some(_) => None,
        }
    }

    /// The rules of the engine, which leaves every all-reduce to the library.
    pub(super) fn facts(&self) -> EngineFacts {
        let facts = self.subject.facts(self.args.tp, &self.around);
        facts.with_library_only(NO_OWN_ALL_REDUCE)
    }

    /// Whether the engine replays graphs.
    pub(super) fn has_graphs(&self) -> bool {
        self.facts().execution != Execution::Eager
    }

    /// How timed calls follow each other.
    pub(super) fn mode(&self) -> CallMode {
        match self.has_graphs() {
            true => CallMode::Graph,
            false => CallMode::BackToBack,
        }
    }

    /// The collectives of a decode step.
    pub(super) fn planned(&self) -> PlannedStep {
        let batch = self.subject.args.load.concurrency;
        plan(&self.subject.model, &self.facts(), batch, None)
    }

    /// All-reduces of a decode step.
    pub(super) fn count(&self) -> u32 {
        let step = self.planned();
        let reduces = step.collectives.iter();
        let reduces = reduces.filter(|of| of.kind == CollectiveKind::AllReduce);
        reduces.map(|of| of.count).sum()
    }

    /// Whether the server is told to leave every all-reduce to the library: by the user, or here. The embedded engine knows the flag.
    fn is_told_to_leave(&self) -> bool {
        let command = &self.subject.command;
        let knows = command.is_known() || self.subject.simulated.is_some();
        knows || command.says(NO_OWN_ALL_REDUCE)
    }

    /// The variables of an arm, which benchmark and server both get; the delay library says in `log` how often it was called.
    ///
    /// # Errors
    /// Devices that the variable cannot name.
    pub(super) fn environment(&self, arm: &Arm, log: &Path) -> Result<Vec<(String, String)>, Stop> {
        let Some(names) = self.names else {
            return Ok(Vec::new());
        };
        let mut all = Vec::new();
        if let Some((name, value)) = arm.row.variable {
            all.push((format!("{}_{name}", names.collectives), value.to_owned()));
        }
        if self.subject.simulated.is_some() {
            return Ok(all);
        }
        if let Some(devices) = &self.subject.args.gpus {
            let shown = visible(devices, names.visible)?;
            all.push((names.visible.to_owned(), shown));
        }
        let is_sglang = self.subject.command.flags().engine == Some(Engine::Sglang);
        if let Some(variable) = names.no_symmetric().filter(|_| !is_sglang) {
            all.push((variable.to_owned(), "0".to_owned()));
        }
        let Some((us, shim)) = arm.delay_us.zip(self.args.shim.as_ref()) else {
            return Ok(all);
        };
        let text = |path: &Path| path.display().to_string();
        all.push(("TPLENS_DELAY_US".to_owned(), us.to_string()));
        all.push(("TPLENS_DELAY_LOG".to_owned(), text(log)));
        if let Some(real) = &self.args.ccl {
            all.push(("TPLENS_DELAY_LIBRARY".to_owned(), text(real)));
        }
        let by_name = names.library(is_sglang);
        all.push(match by_name.filter(|_| self.subject.command.is_known()) {
            Some(variable) => (variable.to_owned(), text(shim)),
            // Found by its name before any other; an empty part would stand for the folder that the server is started in.
            None => {
                let folder = text(shim.parent().unwrap_or(Path::new(".")));
                let after = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
                let path = [folder, after].join(":");
                let path = path.trim_end_matches(':').to_owned();
                ("LD_LIBRARY_PATH".to_owned(), path)
            }
        });
        Ok(all)
    }

    /// The steps of a launch in a run's folder: its collectives are timed, then its server is loaded.
    ///
    /// # Errors
    /// Devices that the variable cannot name, or this program's own file is not found.
    pub(super) fn steps(&self, launch: &Launched, folder: &Path) -> Result<[Step; 2], Stop> {
        let (arm, args, tp) = (&self.arms[launch.arm], self.subject.args, self.args.tp);
        let (name, at) = (&launch.name, folder.join(&launch.name));
        let is_simulated = self.subject.simulated.is_some();
        let variables = |log: &str| -> Result<Vec<_>, Stop> {
            let all = self.environment(arm, &at.join(log))?.into_iter();
            Ok(all
                .map(|(name, value)| (name.into(), value.into()))
                .collect())
        };
        // A real machine's are those that the variable shows.
        let devices = args.gpus.clone().filter(|_| is_simulated);
        let devices = (devices.unwrap_or_else(|| first(tp)), tp);
        let batch = args.load.concurrency.to_string();
        let mut timed =
            (self.subject).collectives(format!("{name}/allreduce"), devices, batch, BUDGET_S);
        if let Some(sim) = timed.arguments.last_mut().filter(|_| is_simulated) {
            *sim = at.join(BENCH_BOX).display().to_string();
        }
        // As --modes takes it.
        let mode = self.mode().to_string().replace('_', "-");
        timed.arguments.extend(words([("--modes", mode)]));
        let shim = self.args.shim.as_ref().filter(|_| arm.delay_us.is_some());
        if let Some(library) = shim.or(self.args.ccl.as_ref()) {
            (timed.arguments).extend(words([("--ccl", library.display().to_string())]));
        }
        timed.environment = variables("shim-allreduce.jsonl")?;
        let mut server = match is_simulated {
            true => {
                let file = at.join(ENGINE_BOX).display().to_string();
                let own = embedded(&file, &args.model, TP)?;
                ServerCommand::new(own, &[tp])
                    .map_err(Stop::Usage)?
                    .for_size(tp)
            }
            false => self.subject.command.for_size(tp),
        };
        if self.is_told_to_leave() && !self.subject.command.says(NO_OWN_ALL_REDUCE) {
            server.push(NO_OWN_ALL_REDUCE.to_owned());
        }
        let served = self.subject.serving(
            format!("{name}/serve"),
            tp,
            (format!("server {}", arm.name), server),
            variables(SHIM_LOG)?,
            at.join("server.log"),
        );
        Ok([timed, served])
    }

    /// Writes the boxes of a launch on a simulated machine.
    ///
    /// # Errors
    /// The disk does not take them.
    pub(super) fn write_boxes(
        &self,
        number: u32,
        launch: &Launched,
        folder: &Path,
    ) -> anyhow::Result<()> {
        let Some(described) = &self.subject.simulated else {
            return Ok(());
        };
        let arm = &self.arms[launch.arm];
        let at: PathBuf = folder.join(&launch.name);
        let bench = soft::delayed(described, arm.delay_us.unwrap_or(0), number);
        let engine = soft::limited(&bench, &(arm.row.limits)());
        private::make_folders(&at)?;
        for (name, described) in [(BENCH_BOX, bench), (ENGINE_BOX, engine)] {
            write_whole(&at.join(name), described.to_toml()?.as_bytes())?;
        }
        Ok(())
    }

    /// What an arm is, in words: its variables, flags and delay.
    pub(super) fn how(&self, arm: &Arm) -> String {
        // What cannot be named stops the first launch.
        let variables = self.environment(arm, Path::new(".")).unwrap_or_default();
        let variables = variables
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        let flag = self
            .is_told_to_leave()
            .then(|| NO_OWN_ALL_REDUCE.to_owned());
        let delay = arm
            .delay_us
            .map(|us| format!("{us} us added to each all-reduce"));
        let parts: Vec<String> = variables.chain(flag).chain(delay).collect();
        match parts.is_empty() {
            true => "as it is".to_owned(),
            false => parts.join(", "),
        }
    }
}

/// The arms that the command line makes of a row.
fn arms_of(row: &'static Row, args: &AblateArgs) -> Vec<Arm> {
    let arm = |name: String, delay_us| Arm {
        name,
        row,
        delay_us,
    };
    match row.change {
        Change::Delay => {
            let delays = args.delays.iter();
            delays
                .map(|us| arm(format!("{}-{us}", row.name), Some(*us)))
                .collect()
        }
        _ => vec![arm(row.name.to_owned(), None)],
    }
}
