//! What is run, in which order and by which commands, decided before anything is measured.

use std::path::Path;

use boxfile::{BoxFile, Limits};
use program::Stop;
use record::{CallMode, CollectiveKind, PlannedStep};
use stats::rounds;
use tp_plan::{EngineFacts, Execution, ModelFacts, plan};

use super::args::AblateArgs;
use super::arm::{Arm, ROWS, Row};
use super::place::Place;
use super::soft;
use crate::explain::NO_OWN_ALL_REDUCE;
use crate::study::engines::ServerCommand;
use crate::study::room::no_room;

/// Below this part a simulated machine's arm changes nothing that the box's noise leaves to be seen.
const LEAST: f64 = 0.01;

/// An ablation as it will be run.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    pub(super) args: &'a AblateArgs,
    pub(super) place: Place,
    pub(super) model: ModelFacts,
    /// The user's server command; `None` for the embedded engine.
    pub(super) command: Option<ServerCommand>,
    /// The arms, controls last.
    pub(super) arms: Vec<Arm>,
    /// Arms that cannot be run here, with the reason.
    pub(super) refused: Vec<(&'static str, &'static str)>,
    /// The arm of each launch, in their order.
    pub(super) order: Vec<usize>,
    /// How timed calls follow each other.
    pub(super) mode: CallMode,
}

impl<'a> Plan<'a> {
    /// Decides what is run.
    ///
    /// # Errors
    /// No such model or arm, an arm that was named and cannot be run, or an engine of its own all-reduce that nobody can time.
    pub(super) fn new(
        args: &'a AblateArgs,
        place: Place,
        model: ModelFacts,
        command: Option<ServerCommand>,
    ) -> Result<Self, Stop> {
        let mode = match place.facts(args.tp).execution {
            Execution::Eager => CallMode::BackToBack,
            Execution::Graph { .. } => CallMode::Graph,
        };
        let mut plan = Self {
            args,
            place,
            model,
            command,
            arms: Vec::new(),
            refused: Vec::new(),
            order: Vec::new(),
            mode,
        };
        plan.check_engine()?;
        plan.choose()?;
        plan.check_room()?;
        for arm in &plan.arms {
            // Devices that nothing can name are told now and not hours later.
            let named = plan.environment(arm, Path::new("."));
            named.map_err(Stop::Usage)?;
        }
        let rounds = rounds(plan.arms.len(), args.launches, args.seed);
        plan.order = rounds.into_iter().flatten().collect();
        Ok(plan)
    }

    /// An engine whose own all-reduce would run beside a benchmark of the library makes every number of an arm wrong.
    fn check_engine(&self) -> Result<(), Stop> {
        if !self.is_told_to_leave() && self.place.reduces_itself(self.args.tp) {
            return Err(Stop::Usage(format!(
                "the engine may do all-reduces by code of its own, and how to tell this command to leave them to the library is not known: write {NO_OWN_ALL_REDUCE}, or what it calls that, into the command"
            )));
        }
        let step = self.planned(&Arm::of(&ROWS[0], self.args.tp));
        match &self.place.soft {
            Some(described) if soft::collectives_us(described, &step).is_none() => {
                Err(Stop::Refused(format!(
                    "the box {} does not say how long the collectives of {} ranks take; choose another one for --sim",
                    described.name, self.args.tp
                ).into()))
            }
            _ => Ok(()),
        }
    }

    /// An arm whose weights do not fit never starts.
    fn check_room(&self) -> Result<(), Stop> {
        let (place, command) = (&self.place, self.command.as_ref());
        let why_not = |arm: &Arm| {
            let why = no_room(&self.model, arm.tp, &place.around, command)?;
            Some(format!(
                "{why}; take more GPUs with --tp, or a smaller model"
            ))
        };
        match self.arms.iter().find_map(why_not) {
            Some(why) => Err(Stop::Usage(why)),
            None => Ok(()),
        }
    }

    fn choose(&mut self) -> Result<(), Stop> {
        let args = self.args;
        let mut known: Vec<String> = Vec::new();
        let mut wanted = Vec::new();
        for row in &ROWS {
            let arms = row.arms(args);
            let is_named = |name: &str| args.arms.iter().any(|named| named == name);
            let by_row = is_named(row.name);
            known.push(row.name.to_owned());
            known.extend(arms.iter().map(|arm| arm.name.clone()));
            let is_any = args.arms.is_empty() || by_row || row.name == ROWS[0].name;
            let is_wanted = |arm: &Arm| is_any || is_named(&arm.name);
            let chosen: Vec<Arm> = arms.into_iter().filter(is_wanted).collect();
            let why_not = self.why_not(row);
            match why_not {
                Some(reason) if by_row || chosen.iter().any(|arm| is_named(&arm.name)) => {
                    return Err(Stop::Refused(
                        format!("--arms {}: {reason}; leave it out", row.name).into(),
                    ));
                }
                Some(reason) => self.refused.push((row.name, reason)),
                None => wanted.extend(chosen),
            }
        }
        if let Some(unknown) = args.arms.iter().find(|name| !known.contains(*name)) {
            known.dedup();
            return Err(Stop::Usage(format!(
                "--arms {unknown}: there is no such arm; there are {}",
                known.join(", ")
            )));
        }
        let controls: Vec<Arm> = match args.controls {
            true => wanted.iter().map(Arm::control).collect(),
            false => Vec::new(),
        };
        self.arms = wanted;
        self.arms.extend(controls);
        Ok(())
    }

    /// Why a row cannot be run here.
    fn why_not(&self, row: &Row) -> Option<&'static str> {
        let soft = self.place.soft.as_ref();
        row.lacks(self.args, &self.place)
            .or_else(|| soft.and_then(|described| self.unchanged(described, &(row.limits)())))
    }

    /// Why limits change nothing on a simulated machine.
    fn unchanged(&self, described: &BoxFile, limits: &Limits) -> Option<&'static str> {
        if *limits == Limits::default() {
            return None;
        }
        let step = self.planned(&Arm::of(&ROWS[0], self.args.tp));
        let whole = soft::collectives_us(described, &step)?;
        match soft::collectives_us(&soft::limited(described, limits), &step) {
            None => Some("the machine file has no times for it"),
            Some(us) if (us / whole - 1.0).abs() < LEAST => {
                Some("by the machine file it changes nothing at the sizes of this batch")
            }
            Some(_) => None,
        }
    }

    /// The rules of an arm's engine, which leaves every all-reduce to the library.
    pub(super) fn facts(&self, arm: &Arm) -> EngineFacts {
        let facts = self.place.facts(arm.tp);
        facts.with_library_only(NO_OWN_ALL_REDUCE)
    }

    /// The collectives of an arm's decode step.
    pub(super) fn planned(&self, arm: &Arm) -> PlannedStep {
        plan(
            &self.model,
            &self.facts(arm),
            self.args.load.concurrency,
            None,
        )
    }

    /// All-reduces of a decode step.
    pub(super) fn count(&self) -> u32 {
        let step = self.planned(&Arm::of(&ROWS[0], self.args.tp));
        let reduces = step.collectives.iter();
        reduces
            .filter(|of| of.kind == CollectiveKind::AllReduce)
            .map(|of| of.count)
            .sum()
    }

    /// Seconds of the collectives of a launch, and of its server and load.
    pub(super) fn seconds(&self) -> (f64, f64) {
        let load = &self.args.load;
        let baseline = Arm::of(&ROWS[0], self.args.tp);
        let soft = self.place.soft.as_ref();
        let known = soft.and_then(|described| {
            load.simulated_seconds(described, &self.model, self.facts(&baseline))
        });
        let serve = known.unwrap_or_else(|| load.assumed_seconds());
        (self.args.budget.as_secs_f64(), serve)
    }
}
