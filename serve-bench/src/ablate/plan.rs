//! What is run, in which order and by which commands, decided before anything is measured.

use std::path::Path;

use boxfile::{BoxFile, Limits};
use engine::{Curve, Profile, StepLoad, StepTime};
use measure::record::{CollectiveKind, PlannedStep};
use measure::stats::rounds;
use program::Stop;
use tp_plan::{EngineFacts, Execution, ModelFacts, plan};

use super::args::{AblateArgs, ModeArg};
use super::arm::Arm;
use super::place::Place;
use super::soft;
use super::table::{ROWS, Row, Soft};
use crate::study::engines::{NO_OWN_ALL_REDUCE, ServerCommand};
use crate::study::room::no_room;
use crate::study::serving::Load;

/// Below this part a soft box's arm changes nothing that the box's noise leaves to be seen.
const LEAST: f64 = 0.01;

/// What a launch on a soft box takes beside its collectives and its load: the starts of the ranks, the engine and the load
/// generator, s. Set by hand on two cores that did little else: 0 to 2.4 s in 66 launches of seven boxes.
const SOFT_START_S: f64 = 2.0;

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
    pub(super) refused: Vec<(String, String)>,
    /// The arm of each launch, in their order.
    pub(super) order: Vec<usize>,
    /// How timed calls follow each other.
    pub(super) mode: ModeArg,
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
            Execution::Eager => ModeArg::BackToBack,
            Execution::Graph { .. } => ModeArg::Graph,
        };
        let mut plan = Self {
            args,
            place,
            model,
            command,
            arms: Vec::new(),
            refused: Vec::new(),
            order: Vec::new(),
            mode: args.mode.unwrap_or(mode),
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
        let is_told = match &self.command {
            None => true,
            Some(command) => command.is_known() || command.says(NO_OWN_ALL_REDUCE),
        };
        let is_known = self.args.engine_python.is_some() || is_told;
        if !is_known && self.place.own_is_off(self.args.tp).is_none() {
            return Err(Stop::Usage(format!(
                "the engine may do all-reduces by code of its own, and how to tell this command to leave them to the library is not known: write {NO_OWN_ALL_REDUCE}, or what it calls that, into the command, or give --engine-python to time its own"
            )));
        }
        let step = self.planned(&Arm::of(&ROWS[0], self.args.tp));
        match &self.place.soft {
            Some(described) if soft::collectives_us(described, &step).is_none() => {
                Err(Stop::Refused(format!(
                    "the box {} does not say how long the collectives of {} ranks take; choose another one for --sim",
                    described.name, self.args.tp
                )))
            }
            _ => Ok(()),
        }
    }

    /// An arm whose weights do not fit never starts.
    fn check_room(&self) -> Result<(), Stop> {
        let (place, command) = (&self.place, self.command.as_ref());
        let why_not = |arm: &Arm| {
            let named = &self.args.model;
            let why = no_room(&self.model, named, arm.tp, &place.around, command)?;
            let next = match arm.tp == self.args.tp {
                true => {
                    "take more GPUs with --tp, or a smaller model; --model is what is served: where the server keeps other weights, such as a quantised checkpoint, give that one's name or config.json"
                }
                false => {
                    "leave out --controls and arms of NUMA nodes, which run on that many GPUs, too"
                }
            };
            Some(format!("{why}; {next}"))
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
            let arms = (row.arms)(row, args, &self.place);
            let is_named = |name: &str| args.arms.iter().any(|named| named == name);
            let by_row = is_named(row.name);
            known.push(row.name.to_owned());
            known.extend(arms.iter().map(|arm| arm.name.clone()));
            let is_wanted = |arm: &Arm| match args.arms.is_empty() {
                true => row.by_default,
                false => by_row || is_named(&arm.name) || row.name == ROWS[0].name,
            };
            let chosen: Vec<Arm> = arms.into_iter().filter(is_wanted).collect();
            let why_not = self.why_not(row);
            match why_not {
                Some(reason) if by_row || chosen.iter().any(|arm| is_named(&arm.name)) => {
                    return Err(Stop::Refused(format!(
                        "--arms {}: {reason}; leave it out",
                        row.name
                    )));
                }
                Some(reason) => self.refused.push((row.name.to_owned(), reason)),
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
        // Binding moves host time and link together, so it says nothing without one GPU bound alike.
        let is_bound = |arm: &&Arm| arm.nodes.is_some();
        let has_bound = wanted.iter().any(|arm| arm.nodes.is_some());
        let controls: Vec<Arm> = wanted
            .iter()
            .filter(|arm| {
                args.controls || is_bound(arm) || (has_bound && arm.row.name == ROWS[0].name)
            })
            .map(Arm::control)
            .collect();
        self.arms = wanted;
        self.arms.extend(controls);
        Ok(())
    }

    /// Why a row cannot be run here.
    pub(super) fn why_not(&self, row: &Row) -> Option<String> {
        let mut reasons = row
            .checks
            .iter()
            .filter_map(|check| check(self.args, &self.place));
        let (Some(described), soft) = (&self.place.soft, &row.soft) else {
            return reasons.next();
        };
        match soft {
            Soft::Not(reason) => Some((*reason).to_owned()),
            Soft::Limited(limits) => reasons
                .next()
                .or_else(|| self.unchanged(described, &limits())),
        }
    }

    /// Why limits change nothing on a soft box.
    fn unchanged(&self, described: &BoxFile, limits: &Limits) -> Option<String> {
        if *limits == Limits::default() {
            return None;
        }
        let step = self.planned(&Arm::of(&ROWS[0], self.args.tp));
        let whole = soft::collectives_us(described, &step)?;
        match soft::collectives_us(&soft::limited(described, limits), &step) {
            None => Some(format!(
                "the box file {} has no times for it",
                described.name
            )),
            Some(us) if (us / whole - 1.0).abs() < LEAST => Some(format!(
                "by the box file {} it changes nothing at the sizes of this batch",
                described.name
            )),
            Some(_) => None,
        }
    }

    /// Whether the engine of an arm leaves every all-reduce to the library.
    pub(super) fn library_only(&self, arm: &Arm) -> bool {
        arm.row.library_only || self.args.engine_python.is_none()
    }

    /// The rules of an arm's engine.
    pub(super) fn facts(&self, arm: &Arm) -> EngineFacts {
        let facts = self.place.facts(arm.tp);
        match self.library_only(arm) {
            true => facts.with_library_only(NO_OWN_ALL_REDUCE),
            false => facts,
        }
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

    /// Seconds of one launch, and whether they rest on assumptions.
    pub(super) fn seconds(&self) -> (f64, bool) {
        let known = self
            .place
            .soft
            .as_ref()
            .and_then(|described| self.step_ms(described));
        let (args, load) = (self.args, self.load());
        let budget = args.budget.as_secs_f64();
        match known {
            Some(step_ms) => (budget + SOFT_START_S + load.seconds(step_ms), false),
            None => (budget + load.assumed_seconds(), true),
        }
    }

    fn step_ms(&self, described: &BoxFile) -> Option<f64> {
        let baseline = Arm::of(&ROWS[0], self.args.tp);
        soft_step_ms(described, &self.model, self.facts(&baseline), &self.load())
    }
}

/// A decode step of that load on a soft box, by its file, ms; `None` where it does not tell.
pub(crate) fn soft_step_ms(
    described: &BoxFile,
    model: &ModelFacts,
    facts: EngineFacts,
    load: &Load,
) -> Option<f64> {
    let profile = Profile::of_box(described, model).ok()?;
    let curve = Curve::of_box(described, facts.tp);
    let step = StepTime::new(model.clone(), facts, profile, curve).ok()?;
    let batch = load.concurrency;
    let context = load.input_tokens + load.output_tokens / 2;
    let load = StepLoad {
        sequences: batch,
        tokens: batch,
        context_tokens: u64::from(batch) * u64::from(context),
    };
    Some(step.parts(load).ok()?.total_us() / 1e3)
}
