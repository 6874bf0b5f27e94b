//! What is run, in which order and by which commands, decided before anything is measured.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use explain::Change;
use program::Stop;
use record::{CallMode, CollectiveKind, PlannedStep, private, write_whole};
use runner::run::Step;
use serde_json::{Value, json};
use stats::rounds;
use tp_plan::{CustomAllReduce, Engine, EngineFacts, Execution, Surroundings, Vendor, plan};

use super::arm::{self, Arm, LIBRARY, NCCL, ROWS, Row, SYMMETRIC, collectives_us, delayed, names};
use crate::explain::NO_OWN_ALL_REDUCE;
use crate::planner::words;
use crate::study::subject::{Subject, SubjectArgs, first, visible};

/// Below this part a simulated machine's arm changes nothing that the box's noise leaves to be seen.
const LEAST: f64 = 0.01;

/// Seed of the order of launches.
const SEED: u64 = 1;

/// Seconds for the collectives of a launch.
const BUDGET_S: f64 = 10.0;

/// The box files of a launch on a simulated machine: for the benchmark, whose library is told of limits by variables, as a real one is,
/// and for the embedded engine, so that both come to an arm's times by ways of their own. A delay is planted in both.
const BENCH_BOX: &str = "bench-box.toml";
const ENGINE_BOX: &str = "engine-box.toml";

/// Where the delay library says how often the server called it.
pub(super) const SHIM_LOG: &str = "shim.jsonl";

/// Whether the step follows the link: starts the server again and again, each time with one thing changed, and times its
/// collectives in the same environment. The engine is told to leave every all-reduce to the library. Goes on where it was broken
/// off when started again with the same settings and folder.
#[derive(Debug, Clone, Args)]
pub(crate) struct AblateArgs {
    #[command(flatten)]
    pub(super) subject: SubjectArgs,

    /// Tensor parallel size of the arms.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(2..=64))]
    pub(super) tp: u32,

    /// What is changed; the baseline is always there. Default: what the machine can do of them.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = names())]
    pub(super) arms: Vec<String>,

    /// Microseconds that the arm delay adds to each all-reduce, one arm for each.
    #[arg(long, value_name = "US", default_value = "20,50", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) delays: Vec<u32>,

    /// The library that adds the delay: in an archive below `shim`, in a checkout made by `cargo xtask shim`.
    #[arg(long, value_name = "FILE", conflicts_with = "sim")]
    pub(super) shim: Option<PathBuf>,

    /// Launches of each arm; fewer than 3 decide nothing. A round has one of each in random order, and the next round the reverse of it.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) launches: u32,

    /// The collective library that is timed, as tplens allreduce takes it; it must be the one that the engine loads.
    #[arg(long, value_name = "PATH")]
    pub(super) ccl: Option<PathBuf>,
}

impl AblateArgs {
    /// What decides, with the machine, what is measured and in which order. A folder holds one ablation, and this never changes.
    pub(super) fn settings(&self) -> Value {
        self.subject.settings(json!({
            "tp": self.tp,
            "arms": self.arms,
            "delays": self.delays,
            "launches": self.launches,
            "ccl": self.ccl,
            "shim": self.shim,
        }))
    }
}

/// An ablation as it will be run.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    pub(super) args: &'a AblateArgs,
    /// Its server is told to leave every all-reduce to the library, where it is known how.
    pub(super) subject: Subject<'a>,
    /// The rules of the engine.
    pub(super) facts: EngineFacts,
    /// The collectives of a decode step.
    pub(super) step: PlannedStep,
    /// The arms, the baseline first.
    pub(super) arms: Vec<Arm>,
    /// Arms that cannot be run here, with the reason.
    pub(super) refused: Vec<(&'static str, &'static str)>,
    /// The launches in their order.
    pub(super) launches: Vec<Launched>,
}

/// A launch: its place in the order, its name and that of its folder, and its arm by number.
#[derive(Debug, Clone)]
pub(super) struct Launched {
    pub(super) order: u32,
    pub(super) name: String,
    pub(super) arm: usize,
}

impl<'a> Plan<'a> {
    /// Decides what is run on a machine.
    ///
    /// # Errors
    /// An arm that was named and cannot be run, an engine of its own all-reduce that nobody can time, or devices that a variable cannot
    /// name.
    pub(super) fn new(
        args: &'a AblateArgs,
        mut subject: Subject<'a>,
        around: &Surroundings,
    ) -> Result<Self, Stop> {
        // The embedded engine knows the flag.
        if subject.command.known.is_some() || subject.simulated.is_some() {
            subject.command.add(NO_OWN_ALL_REDUCE);
        }
        let facts = subject.command.flags().facts(args.tp, around);
        // Its own all-reduce beside a benchmark of the library would make every number of an arm wrong.
        if facts.custom_all_reduce == CustomAllReduce::Active {
            return Err(Stop::Usage(format!(
                "the engine may do all-reduces by code of its own, and how to tell this command to leave them to the library is not known: write {NO_OWN_ALL_REDUCE}, or what it calls that, into the command"
            )));
        }
        let facts = facts.with_library_only(NO_OWN_ALL_REDUCE);
        let step = plan(&subject.model, &facts, args.subject.load.concurrency, None);
        if let Some(described) = &subject.simulated
            && collectives_us(described, &step).is_none()
        {
            return Err(Stop::Refused(format!(
                "the box {} does not say how long the collectives of {} ranks take; choose another one for --sim",
                described.name, args.tp
            ).into()));
        }
        let mut plan = Self {
            args,
            subject,
            facts,
            step,
            arms: Vec::new(),
            refused: Vec::new(),
            launches: Vec::new(),
        };
        for row in &ROWS {
            let is_named = args.arms.iter().any(|name| name == row.name);
            if !args.arms.is_empty() && !is_named && row.change != Change::Baseline {
                continue;
            }
            let delays: Vec<_> = args.delays.iter().copied().map(Some).collect();
            match plan.lacks(row, around) {
                Some(reason) if is_named => {
                    let why = format!("--arms {}: {reason}; leave it out", row.name);
                    return Err(Stop::Refused(why.into()));
                }
                Some(reason) => plan.refused.push((row.name, reason)),
                None => {
                    let is_delay = row.change == Change::Delay;
                    for us in if is_delay { delays } else { vec![None] } {
                        plan.arms.push(plan.arm(row, around, us)?);
                    }
                }
            }
        }
        let arms = rounds(plan.arms.len(), args.launches, SEED);
        let launched = |(order, arm): (u32, usize)| Launched {
            order,
            name: format!("launches/{order:03}-{}", plan.arms[arm].name),
            arm,
        };
        plan.launches = (0..).zip(arms.concat()).map(launched).collect();
        Ok(plan)
    }

    /// Why a row cannot be run on these devices; `None` where it can.
    fn lacks(&self, row: &Row, around: &Surroundings) -> Option<&'static str> {
        let simulated = self.subject.simulated.as_ref();
        match (row.change, arm::variables(around.vendor)) {
            (Change::Baseline, _) => None,
            (_, None) => {
                Some("no collective library whose variables are known does the collectives here")
            }
            (Change::Delay, _) if simulated.is_some() => None,
            (Change::Delay, Some([library, _])) if library != NCCL => {
                Some("delays need NCCL or RCCL: no library adds them to MCCL's calls")
            }
            (Change::Delay, _) => self.args.shim.is_none().then_some(
                "the library that adds the delay is not named: give --shim FILE; an archive has it below `shim`, a checkout makes it with `cargo xtask shim`",
            ),
            _ if row.name == "p2p-off" && around.peer_access == Some(false) => {
                Some("there is no peer access: everything goes through host memory already")
            }
            _ => {
                let described = simulated?;
                let whole = collectives_us(described, &self.step)?;
                let limited = collectives_us(&row.limited(described), &self.step);
                let is_same = limited.is_none_or(|us| (us / whole - 1.0).abs() < LEAST);
                is_same.then_some("by the machine file it changes nothing at the sizes of this batch")
            }
        }
    }

    /// A row's arm.
    ///
    /// # Errors
    /// Devices that the variable cannot name.
    fn arm(
        &self,
        row: &'static Row,
        around: &Surroundings,
        delay_us: Option<u32>,
    ) -> Result<Arm, Stop> {
        let mut arm = Arm {
            name: match delay_us {
                Some(us) => format!("{}-{us}", row.name),
                None => row.name.to_owned(),
            },
            row,
            delay_us,
            variables: Vec::new(),
        };
        let Some([library, shown]) = arm::variables(around.vendor) else {
            return Ok(arm);
        };
        let mut add = |name: &str, value: String| arm.variables.push((name.to_owned(), value));
        if let Some((name, value)) = row.variable {
            add(&format!("{library}_{name}"), value.to_owned());
        }
        if self.subject.simulated.is_some() {
            return Ok(arm);
        }
        if self.args.subject.gpus.is_some() {
            let devices = self.subject.devices(self.args.tp)?;
            add(shown, visible(&devices, shown)?);
        }
        let is_sglang = self.subject.command.flags().engine == Some(Engine::Sglang);
        if around.vendor == Vendor::Nvidia && !is_sglang {
            add(SYMMETRIC, "0".to_owned());
        }
        let Some((us, shim)) = delay_us.zip(self.args.shim.as_ref()) else {
            return Ok(arm);
        };
        add("TPLENS_DELAY_US", us.to_string());
        if let Some(real) = &self.args.ccl {
            add("TPLENS_DELAY_LIBRARY", text(real));
        }
        match self.subject.command.known.is_some() {
            true => add(LIBRARY[usize::from(is_sglang)], text(shim)),
            // Found by its name before any other; an empty part would stand for the folder that the server is started in.
            false => {
                let folder = text(shim.parent().unwrap_or(Path::new(".")));
                let after = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
                let path = [folder, after].join(":");
                add("LD_LIBRARY_PATH", path.trim_end_matches(':').to_owned());
            }
        }
        Ok(arm)
    }

    /// How timed calls follow each other, as the engine's do: it replays graphs, or not.
    pub(super) fn mode(&self) -> CallMode {
        match self.facts.execution {
            Execution::Eager => CallMode::BackToBack,
            _ => CallMode::Graph,
        }
    }

    /// The steps of a launch in a run's folder: its collectives are timed, then its server is loaded.
    ///
    /// # Errors
    /// Devices that do not suffice.
    pub(super) fn steps(&self, launch: &Launched, folder: &Path) -> Result<[Step; 2], Stop> {
        let (arm, args, tp) = (&self.arms[launch.arm], self.subject.args, self.args.tp);
        let (name, at) = (&launch.name, folder.join(&launch.name));
        let shim = self.args.shim.as_ref().filter(|_| arm.delay_us.is_some());
        let environment = |log: &str| -> Vec<(OsString, OsString)> {
            let variables = arm.variables.iter();
            let variables = variables.map(|(name, value)| (name.into(), value.into()));
            let log = shim.map(|_| ("TPLENS_DELAY_LOG".into(), at.join(log).into()));
            variables.chain(log).collect()
        };
        let of_launch = |words: &mut [String], file: &str| {
            let is_sim = |word: &&mut String| args.sim.as_ref() == Some(&**word);
            let sim = words.iter_mut().filter(is_sim);
            sim.for_each(|word| *word = text(&at.join(file)));
        };
        // A real machine's devices are those that the variable shows.
        let devices = match self.subject.simulated {
            Some(_) => self.subject.devices(tp)?,
            None => first(tp),
        };
        let batch = args.load.concurrency.to_string();
        let timed = format!("{name}/allreduce");
        let mut timed = (self.subject).collectives(timed, (devices, tp), batch, BUDGET_S);
        of_launch(&mut timed.arguments, BENCH_BOX);
        // As --modes takes it.
        let mode = self.mode().to_string().replace('_', "-");
        let library = shim.or(self.args.ccl.as_ref()).map(|path| text(path));
        let more = [("--modes", Some(mode)), ("--ccl", library)];
        timed.arguments.extend(words(more));
        timed.environment = environment("shim-allreduce.jsonl");
        let mut server = self.subject.command.for_size(tp);
        of_launch(&mut server, ENGINE_BOX);
        let served = self.subject.serving(
            format!("{name}/serve"),
            tp,
            (format!("server {}", arm.name), server),
            environment(SHIM_LOG),
            at.join("server.log"),
        );
        Ok([timed, served])
    }

    /// Writes the boxes of a launch on a simulated machine.
    ///
    /// # Errors
    /// The disk does not take them.
    pub(super) fn write_boxes(&self, launch: &Launched, folder: &Path) -> anyhow::Result<()> {
        let Some(described) = &self.subject.simulated else {
            return Ok(());
        };
        let arm = &self.arms[launch.arm];
        let at = folder.join(&launch.name);
        let bench = delayed(described, arm.delay_us.unwrap_or(0), launch.order);
        let engine = arm.row.limited(&bench);
        private::make_folders(&at)?;
        for (name, described) in [(BENCH_BOX, bench), (ENGINE_BOX, engine)] {
            write_whole(&at.join(name), described.to_toml()?.as_bytes())?;
        }
        Ok(())
    }

    /// What an arm is, in words: its variables, flags and delay.
    pub(super) fn how(&self, arm: &Arm) -> String {
        let variables = arm.variables.iter();
        let variables = variables.map(|(name, value)| format!("{name}={value}"));
        let is_told = self.subject.command.says(NO_OWN_ALL_REDUCE);
        let flag = is_told.then(|| NO_OWN_ALL_REDUCE.to_owned());
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

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// All-reduces of a decode step.
pub(super) fn all_reduces(step: &PlannedStep) -> u32 {
    let reduces = step.collectives.iter();
    let reduces = reduces.filter(|of| of.kind == CollectiveKind::AllReduce);
    reduces.map(|of| of.count).sum()
}
