//! An ablation from its command line to its exit code.
//!
//! What is known is in the folders of the launches: an ablation that was broken off finds them, and resumes the launch that
//! is missing.

use std::path::Path;

use boxfile::BoxFile;
use explain::{Ablation, Arm as Kept, LEAST_LAUNCHES, Launch};
use program::show::Show;
use program::{Stop, open_run, result_folder};
use record::exit;
use runner::Interrupt;
use runner::run::Run;
use tp_plan::ModelFacts;

use super::args::AblateArgs;
use super::document::{self, launched};
use super::launch;
use super::place::Place;
use super::plan::Plan;
use crate::json;
use crate::study::engines::ServerCommand;
use crate::study::resumable;
use crate::study::shell::missing;

/// The arms with what their launches measured.
pub(crate) const FILE: &str = "ablation.json";

/// The settings of an ablation, in its folder.
const SETTINGS: &str = "settings.json";

/// The version of its form.
const SCHEMA: u32 = 1;

/// An arm that failed so often without one good launch is not tried again.
const GIVE_UP: usize = 2;

/// Runs an ablation, or goes on with one, and gives the exit code.
///
/// # Errors
/// What ended it; the launches that were whole are in its folder.
pub(crate) fn run(
    args: &AblateArgs,
    show: Show,
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
) -> Result<u8, Stop> {
    args.check().map_err(Stop::Usage)?;
    let model = ModelFacts::resolve(&args.model)
        .map_err(|error| Stop::Usage(format!("--model: {error}")))?;
    model
        .check_tp(args.tp)
        .map_err(|error| Stop::Usage(format!("--tp: {error}")))?;
    let command = match args.server.is_empty() {
        true => None,
        false => Some(ServerCommand::new(args.server.clone(), &[args.tp]).map_err(Stop::Usage)?),
    };
    if let Some(why) = missing(&args.server) {
        return Err(Stop::Usage(why));
    }
    let engine = command
        .as_ref()
        .map(ServerCommand::flags)
        .unwrap_or_default();
    let asked = args.out.clone();
    let folder = asked.unwrap_or_else(|| result_folder(None, "ablation"));
    let (of, settings) = (("an ablation", SETTINGS), args.settings());
    let open = || open_run(&folder, of, &settings, interrupt, say);
    // What a simulated machine refuses is refused before there is a folder.
    let (place, run) = match &args.sim {
        Some(sim) => {
            let described =
                BoxFile::resolve(sim).map_err(|error| Stop::Usage(format!("--sim: {error}")))?;
            (Place::described(described, args.tp, engine)?, None)
        }
        None => {
            let mut run = open()?;
            (Place::look(args, engine, &mut run)?, Some(run))
        }
    };
    let plan = Plan::new(args, place, model, command)?;
    for (name, reason) in &plan.refused {
        say(&format!("without {name}: {reason}"));
    }
    if (args.launches as usize) < LEAST_LAUNCHES {
        let launches = args.launches;
        say(&format!(
            "{launches} launches an arm decide nothing: give {LEAST_LAUNCHES}"
        ));
    }
    let run = run.map_or_else(open, Ok)?;
    let code = Ablate {
        plan: &plan,
        show,
        say,
    }
    .all(run);
    resumable(code, args.out.is_none().then_some(&*folder), say)
}

struct Ablate<'a> {
    plan: &'a Plan<'a>,
    show: Show,
    say: &'a dyn Fn(&str),
}

impl Ablate<'_> {
    fn all(&self, mut run: Run<'_>) -> Result<u8, Stop> {
        let order = &self.plan.order;
        let folder = run.folder().to_owned();
        let arm_of = |number: usize| &self.plan.arms[order[number]];
        let kept = |number| launch::kept(&folder.join(launch::folder(number, arm_of(number))));
        let mut done: Vec<Option<Launch>> = (0..order.len()).map(kept).collect();
        let before = done.iter().flatten().count();
        if before > 0 {
            (self.say)(&format!("{before} of {} launches are done", order.len()));
        }
        run.expect(&self.plan.expected()?);
        let mut failed: Vec<(usize, String)> = Vec::new();
        for (number, index) in order.iter().enumerate() {
            if done[number].is_some() {
                continue;
            }
            let arm = &self.plan.arms[*index];
            let of_arm = |at: &usize| order[*at] == *index;
            let failures = failed.iter().filter(|(at, _)| of_arm(at)).count();
            let is_good = (0..order.len()).any(|at| of_arm(&at) && done[at].is_some());
            if failures >= GIVE_UP && !is_good {
                let reason = format!("not tried: {GIVE_UP} launches of this arm failed before");
                failed.push((number, reason));
                continue;
            }
            match self.plan.launch(&mut run, number, arm)? {
                Ok(launch) => {
                    (self.say)(&format!("  {}", launched(&launch)));
                    done[number] = Some(launch);
                    self.write(&folder, &done)?;
                }
                Err(reason) => {
                    (self.say)(&format!("  this launch says nothing: {reason}"));
                    failed.push((number, reason));
                }
            }
        }
        let ablation = self.write(&folder, &done)?;
        let (slope, decided) = crate::explain::slope_of(&ablation);
        let missing = failed.iter().map(|(number, reason)| {
            let arm = &self.plan.arms[order[*number]].name;
            (*number, arm.as_str(), reason.as_str())
        });
        let missing: Vec<_> = missing.collect();
        let document = document::result(&ablation, slope, &missing, &folder.join(FILE));
        let missing = match failed.is_empty() {
            true => exit::DONE,
            false => exit::INCONCLUSIVE,
        };
        Ok(exit::fold([self.show.print(&document), missing, decided]))
    }

    /// Writes what is known now, whole or not at all.
    fn write(&self, folder: &Path, done: &[Option<Launch>]) -> Result<Ablation, Stop> {
        let plan = self.plan;
        let mut arms: Vec<Kept> = Vec::new();
        for (number, launch) in done.iter().enumerate() {
            let Some(launch) = launch.clone() else {
                continue;
            };
            let arm = &plan.arms[plan.order[number]];
            match arms.iter_mut().find(|kept| kept.name == arm.name) {
                Some(kept) => kept.launches.push(launch),
                None => arms.push(Kept {
                    name: arm.name.clone(),
                    change: arm.row.change,
                    how: plan.how(arm),
                    launches: vec![launch],
                }),
            }
        }
        // What the slope test compares the others with comes first.
        arms.sort_by_key(|arm| arm.change != explain::Change::Baseline);
        let soft = plan.place.soft.as_ref();
        let facts = plan.facts();
        let ablation = Ablation {
            schema: SCHEMA,
            simulated: soft.map(|described| described.name.clone()),
            model: plan.model.name.clone(),
            tp: plan.args.tp,
            batch: plan.args.load.concurrency,
            engine: match (&plan.command, soft) {
                (None, _) => Some(format!("{}{}", explain::EMBEDDED, facts.describe())),
                (Some(command), _) => command.is_known().then(|| facts.describe()),
            },
            planned: plan.count(),
            step_from: Some(explain::StepFrom::DecodeGap),
            arms,
        };
        json::write(&folder.join(FILE), &ablation)?;
        Ok(ablation)
    }
}
