//! What an ablation on a soft box will run, told to a program that starts it: its arms, what the box cannot do, and how long.

use boxfile::BoxFile;
use clap::Parser;
use program::Stop;
use tp_plan::ModelFacts;

use super::args::AblateArgs;
use super::place::Place;
use super::plan::Plan;
use crate::explain::EngineFlags;

/// An ablation on a soft box before it is run.
#[derive(Debug, Clone)]
pub(crate) struct Foretold {
    /// Arms that cannot be run on the box, with the reason.
    pub(crate) left_out: Vec<(String, String)>,
    /// Launches of all arms.
    pub(crate) launches: usize,
    /// Seconds of all of them.
    pub(crate) seconds: f64,
}

/// A command line that is not the user's.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Line {
    #[command(flatten)]
    args: AblateArgs,
}

/// What the words after `ablate` will run on the soft box that they name.
///
/// # Errors
/// No such box, or one on which nothing can be ablated.
pub(crate) fn foretold(words: &[String]) -> Result<Foretold, Stop> {
    let line = Line::try_parse_from(words).map_err(|error| Stop::Usage(error.to_string()))?;
    let args = line.args;
    let usage = |error: &dyn std::fmt::Display| Stop::Usage(error.to_string());
    let model = ModelFacts::resolve(&args.model).map_err(|error| usage(&error))?;
    let described = BoxFile::resolve(args.sim.as_deref().unwrap_or_default());
    let described = described.map_err(|error| usage(&error))?;
    let place = Place::described(described, args.tp, EngineFlags::default())?;
    let plan = Plan::new(&args, place, model, None)?;
    let (each, _) = plan.seconds();
    let launches = plan.order.len();
    let times = u32::try_from(launches).unwrap_or(u32::MAX);
    Ok(Foretold {
        left_out: plan.refused.clone(),
        launches,
        seconds: each * f64::from(times),
    })
}
