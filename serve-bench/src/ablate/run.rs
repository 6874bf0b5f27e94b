//! An ablation from its command line to its exit code.
//!
//! What is known is in the folders of the launches: an ablation that was broken off finds them, and goes on with the launch that
//! is missing.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use explain::{Ablation, Arm as Kept};
use measure::exit;
use measure::record::write_whole;
use program::command_line::quoted;
use program::{Stop, outputs, passing_folder, result_folder};
use supervisor::Interrupt;
use tp_plan::ModelFacts;

use super::args::AblateArgs;
use super::arm::Arm;
use super::collect::{self, Steps};
use super::launch::{self, Launcher, Measured};
use super::place::Place;
use super::plan::Plan;
use super::{settings, text};
use crate::study;
use crate::study::engines::ServerCommand;
use crate::study::shell::missing;

/// The arms with what their launches measured.
pub(crate) const FILE: &str = "ablation.json";

/// What was seen of the devices.
const LINKS: &str = "links";

/// The version of its form.
const SCHEMA: u32 = 1;

/// An arm that failed so often without one good launch is not tried again.
const GIVE_UP: usize = 2;

/// So often is a launch of a soft box played again that this machine was too busy to play in time.
const AGAIN: usize = 2;

/// Runs an ablation, or goes on with one, and gives the exit code.
///
/// # Errors
/// What ended it; the launches that were whole are in its folder.
pub(crate) fn run(
    args: &AblateArgs,
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
) -> Result<u8, Stop> {
    let mut settings = args.settings().map_err(Stop::Usage)?;
    let model = ModelFacts::resolve(&args.model)
        .map_err(|error| Stop::Usage(format!("--model: {error}")))?;
    model
        .check_tp(args.tp)
        .map_err(|error| Stop::Usage(format!("--tp: {error}")))?;
    let command = match args.server.is_empty() {
        true => None,
        false => Some(ServerCommand::new(args.server.clone(), &[args.tp]).map_err(Stop::Usage)?),
    };
    if let Some(command) = command
        .as_ref()
        .filter(|command| command.port().is_none() && !command.takes_a_port())
    {
        return Err(Stop::Usage(format!(
            "on which port the server listens is not known: write --port N or {{port}} into `{}`",
            command.for_size(args.tp, 0).join(" ")
        )));
    }
    if let Some(why) = missing(&args.server).filter(|_| !args.plan) {
        return Err(Stop::Usage(why));
    }
    let engine = command
        .as_ref()
        .map(ServerCommand::flags)
        .unwrap_or_default();
    let folder = args
        .out
        .clone()
        .unwrap_or_else(|| result_folder(None, "ablation"));
    let is_begun = folder.join(settings::FILE).exists() && !args.plan;
    let hold = || study::hold::held(&folder, settings::FILE, interrupt, say);
    // Before the look, which writes into a folder that is there.
    let held = is_begun.then(hold).transpose()?;
    // The box decides the arms and these the settings, so a folder without settings stays empty until the look is done.
    let look = match args.plan {
        true => passing_folder("ablate"),
        false if folder.join(LINKS).exists() => folder.join(LINKS),
        false => beside(&folder),
    };
    let place = Place::look(args, engine, &look, interrupt, say);
    if args.plan {
        // Left behind it would be in nobody's way.
        drop(std::fs::remove_dir_all(&look));
        drop(std::fs::remove_file(look.with_extension("log")));
    }
    let plan = Plan::new(args, place?, model, command)?;
    if let Some(described) = &plan.place.soft {
        say(&format!(
            "SIMULATED on the soft box {}: no figure here is of real hardware",
            described.name
        ));
    }
    if args.plan {
        return Ok(outputs::print(&text::plan(&plan, &folder)?));
    }
    settings.arms = plan.arms.iter().map(|arm| arm.name.clone()).collect();
    settings.mode = Some(plan.mode.word());
    settings.order = plan
        .order
        .iter()
        .map(|arm| settings.arms[*arm].clone())
        .collect();
    if settings.keep(&folder)? {
        say(&format!(
            "going on with the ablation in {}",
            folder.display()
        ));
    } else if look.exists() {
        std::fs::rename(&look, folder.join(LINKS))
            .context("keeping what was seen of the devices")?;
        // Its words may be lost; the record is what is read.
        drop(std::fs::rename(
            look.with_extension("log"),
            folder.join("links.log"),
        ));
    }
    let _held = held.map_or_else(hold, Ok)?;
    let ablate = Ablate {
        plan: &plan,
        folder: &folder,
        interrupt,
        say,
    };
    let code = ablate.all();
    if matches!(code, Err(Stop::Interrupted(_))) {
        let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
        let named = args.out.is_none().then_some(&*folder);
        let again = study::again(words.collect(), named);
        say(&format!("broken off; this goes on with it:\n  {again}"));
    }
    code
}

/// Where the look at the box of an ablation is until the ablation has its folder.
fn beside(folder: &Path) -> PathBuf {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    folder.with_file_name(format!("{name}.links"))
}

struct Ablate<'a> {
    plan: &'a Plan<'a>,
    folder: &'a Path,
    interrupt: &'a Interrupt,
    say: &'a dyn Fn(&str),
}

impl Ablate<'_> {
    fn all(&self) -> Result<u8, Stop> {
        let launcher = Launcher {
            plan: self.plan,
            above: self.folder,
            interrupt: self.interrupt,
            say: self.say,
        };
        let order = &self.plan.order;
        let mut done: Vec<Option<Measured>> = order
            .iter()
            .enumerate()
            .map(|(number, arm)| {
                launch::kept(
                    &self
                        .folder
                        .join(launch::folder(number, &self.plan.arms[*arm])),
                )
            })
            .collect();
        let before = done.iter().flatten().count();
        if before > 0 {
            (self.say)(&format!("{before} of {} launches are done", order.len()));
        }
        let begun = Instant::now();
        let mut failed: Vec<(usize, String)> = Vec::new();
        let mut tried = 0;
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
            let left = order.len() - number;
            let each = match tried {
                0 => self.plan.seconds().0,
                tried => begun.elapsed().as_secs_f64() / f64::from(tried),
            };
            (self.say)(&format!(
                "launch {} of {}: {} ({} to go)",
                number + 1,
                order.len(),
                arm.name,
                text::minutes(each * left as f64)
            ));
            match self.in_time(&launcher, number, arm)? {
                Ok(launch) => {
                    (self.say)(&format!("  {}", text::launched(&launch)));
                    done[number] = Some(launch);
                    self.write(&done)?;
                }
                Err(reason) => {
                    (self.say)(&format!("  this launch says nothing: {reason}"));
                    failed.push((number, reason));
                }
            }
            tried += 1;
        }
        let ablation = self.write(&done)?;
        let (mut text, decided) = crate::explain::slope_of(&ablation);
        text.push('\n');
        text.push_str(&text::result(&ablation));
        for launch in done.iter().flatten() {
            if let Some(metric) = ablation.step_from.filter(|of| launch.by(*of).is_none()) {
                text.push_str(&format!(
                    "left out: {} does not show {}, by which all are compared\n",
                    launch.folder,
                    collect::metric_in_words(metric)
                ));
            }
        }
        for (number, reason) in &failed {
            let arm = &self.plan.arms[order[*number]].name;
            text.push_str(&format!(
                "missing: launch {} ({arm}): {reason}\n",
                number + 1
            ));
        }
        let file = self.folder.join(FILE);
        text.push_str(&format!(
            "{} holds all of it; beside results of runs: serve-bench explain ... --ablation {}\n",
            file.display(),
            quoted(file.as_os_str())
        ));
        let printed = outputs::print(&text);
        let missing = match failed.is_empty() {
            true => exit::DONE,
            false => {
                (self.say)("some launches are missing; the same command tries them again");
                exit::INCONCLUSIVE
            }
        };
        Ok(exit::fold([printed, missing, decided]))
    }

    /// Does a launch; one of a soft box again where this machine played it late, since such a one is left out of the line.
    fn in_time(
        &self,
        launcher: &Launcher<'_>,
        number: usize,
        arm: &Arm,
    ) -> Result<Result<Measured, String>, Stop> {
        let mut launch = launcher.launch(number, arm)?;
        for _ in 0..AGAIN {
            let why = launch.as_ref().ok().and_then(text::late);
            let Some(why) = why.filter(|_| self.plan.place.soft.is_some()) else {
                break;
            };
            (self.say)(&format!("  played again: {why}"));
            launch = launcher.launch(number, arm)?;
        }
        Ok(launch)
    }

    /// Writes what is known now, whole or not at all.
    fn write(&self, done: &[Option<Measured>]) -> Result<Ablation, Stop> {
        let plan = self.plan;
        let mut arms: Vec<Kept> = Vec::new();
        let shown: Vec<&Steps> = done.iter().flatten().map(|launch| &launch.steps).collect();
        let metric = collect::metric(&shown);
        let by_metric = |launch: &Measured| launch.by(metric?);
        for (number, launch) in done.iter().enumerate() {
            // One that does not show the metric of the others says nothing beside them.
            let Some(launch) = launch.as_ref().and_then(by_metric) else {
                continue;
            };
            let arm = &plan.arms[plan.order[number]];
            match arms.iter_mut().find(|kept| kept.name == arm.name) {
                Some(kept) => kept.launches.push(launch),
                None => arms.push(Kept {
                    name: arm.name.clone(),
                    change: arm.change(),
                    how: plan.how(arm),
                    control_of: arm.controlled(),
                    launches: vec![launch],
                }),
            }
        }
        // What the slope test compares the others with comes first.
        arms.sort_by_key(|arm| arm.change != explain::Change::Baseline);
        let soft = plan.place.soft.as_ref();
        let facts = plan.facts(&plan.arms[0]);
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
            step_from: metric,
            arms,
        };
        let text = serde_json::to_string_pretty(&ablation).context("writing the ablation")?;
        let file = self.folder.join(FILE);
        write_whole(&file, (text + "\n").as_bytes()).context("keeping the ablation")?;
        Ok(ablation)
    }
}
