//! What is run, in which order and by which commands, decided before anything is measured.

use std::path::Path;

use boxfile::{BoxFile, Limits};
use explain::Change;
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
    /// The arms, the baseline first.
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
        match &self.place.soft {
            Some(described) if soft::collectives_us(described, &self.planned()).is_none() => {
                Err(Stop::Refused(format!(
                    "the box {} does not say how long the collectives of {} ranks take; choose another one for --sim",
                    described.name, self.args.tp
                ).into()))
            }
            _ => Ok(()),
        }
    }

    fn choose(&mut self) -> Result<(), Stop> {
        for row in &ROWS {
            let named = &self.args.arms;
            let is_named = named.iter().any(|name| name == row.name);
            if !named.is_empty() && !is_named && row.change != Change::Baseline {
                continue;
            }
            match self.why_not(row) {
                Some(reason) if is_named => {
                    let why = format!("--arms {}: {reason}; leave it out", row.name);
                    return Err(Stop::Refused(why.into()));
                }
                Some(reason) => self.refused.push((row.name, reason)),
                None => self.arms.extend(arms_of(row, self.args)),
            }
        }
        Ok(())
    }

    /// Why a row cannot be run here.
    fn why_not(&self, row: &Row) -> Option<&'static str> {
        let soft = self.place.soft.as_ref();
        lacks(row, self.args, &self.place)
            .or_else(|| soft.and_then(|described| self.unchanged(described, &(row.limits)())))
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
        let facts = self.place.facts(self.args.tp);
        facts.with_library_only(NO_OWN_ALL_REDUCE)
    }

    /// The collectives of a decode step.
    pub(super) fn planned(&self) -> PlannedStep {
        let batch = self.args.load.concurrency;
        plan(&self.model, &self.facts(), batch, None)
    }

    /// All-reduces of a decode step.
    pub(super) fn count(&self) -> u32 {
        let step = self.planned();
        let reduces = step.collectives.iter();
        reduces
            .filter(|of| of.kind == CollectiveKind::AllReduce)
            .map(|of| of.count)
            .sum()
    }

    /// Seconds of a launch's server and load, where a simulated machine is served.
    pub(super) fn seconds(&self) -> Option<f64> {
        let described = self.place.soft.as_ref()?;
        let load = &self.args.load;
        load.simulated_seconds(described, &self.model, self.facts())
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

/// Why a row cannot be run on these devices; `None` where it can.
fn lacks(row: &Row, args: &AblateArgs, place: &Place) -> Option<&'static str> {
    match row.change {
        Change::Baseline => None,
        _ if place.names.is_none() => {
            Some("no collective library whose variables are known does the collectives here")
        }
        Change::Delay
            if place.soft.is_none()
                && place
                    .names
                    .is_some_and(|names| names.library(false).is_none()) =>
        {
            Some("delays need NCCL or RCCL: no library adds them to MCCL's calls")
        }
        Change::Delay if place.soft.is_none() && args.shim.is_none() => Some(
            "the library that adds the delay is not named: give --shim FILE; an archive has it below `shim`, a checkout makes it with `cargo xtask shim`",
        ),
        _ if row.name == "p2p-off" && place.around.peer_access == Some(false) => {
            Some("there is no peer access: everything goes through host memory already")
        }
        _ => None,
    }
}
