//! How long an ablation on a simulated machine will take, for a program that starts it.

use boxfile::BoxFile;
use clap::Parser;
use program::Stop;
use tp_plan::ModelFacts;

use super::args::AblateArgs;
use super::place::Place;
use super::plan::Plan;
use crate::explain::EngineFlags;

/// A command line that is not the user's.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Line {
    #[command(flatten)]
    args: AblateArgs,
}

/// Seconds that the words after `ablate` will take on the simulated machine that they name.
///
/// # Errors
/// No such machine, or one on which nothing can be ablated.
pub(crate) fn foretold(words: &[String]) -> Result<f64, Stop> {
    let line = Line::try_parse_from(words).map_err(|error| Stop::Usage(error.to_string()))?;
    let args = line.args;
    let usage = |error: &dyn std::fmt::Display| Stop::Usage(error.to_string());
    let model = ModelFacts::resolve(&args.model).map_err(|error| usage(&error))?;
    let described = BoxFile::resolve(args.sim.as_deref().unwrap_or_default());
    let described = described.map_err(|error| usage(&error))?;
    let place = Place::described(described, args.tp, EngineFlags::default())?;
    let plan = Plan::new(&args, place, model, None)?;
    let (collectives, serve) = plan.seconds();
    Ok((collectives + serve) * plan.order.len() as f64)
}
