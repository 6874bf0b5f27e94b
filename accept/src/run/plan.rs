//! `tplens accept plan`: the steps of a run with their commands and times, and what it would decide. Nothing is looked at.

use program::show::Show;
use program::{Stop, outputs};
use serde::Serialize;

use super::course::LEAST_ROUNDS;
use super::start::{loaded, matches, time_budget};
use super::steps::{self, Bench, INVENTORY_S, Named, Step};
use crate::checks::{KINDS, Kind};
use crate::cli::{Level, RunArgs};
use crate::documents;
use crate::profile::{Match, Profile};
use crate::report::ReasonCode;

/// What a run would do; printed by `--json`.
#[derive(Debug, Serialize)]
pub(crate) struct Plan<'a> {
    pub(crate) schema: u32,
    pub(crate) profile: &'a str,
    pub(crate) level: Level,
    pub(crate) simulated: Option<&'a str>,
    pub(crate) names: &'a [String],
    pub(crate) count: usize,
    pub(crate) steps: Vec<Step>,
    /// Steps of one round of a soak, which repeats them; the first has a load beside it.
    pub(crate) round: Vec<Step>,
    /// Steps for which the time does not suffice.
    pub(crate) does_not_fit: Vec<String>,
    pub(crate) required: &'a [String],
    /// Checks that are not looked at, and why.
    pub(crate) left_out: Vec<(&'static str, ReasonCode)>,
    pub(crate) total_s: f64,
    pub(crate) budget_s: f64,
}

/// Prints the plan.
pub(crate) fn plan(args: &RunArgs, show: Show) -> Result<u8, Stop> {
    let loaded = loaded(args)?;
    let matches = matches(&loaded.profile)?;
    let plan = planned(args, &loaded.profile, matches);
    Ok(match args.forms.json {
        true => outputs::json(&plan)?,
        false => show.print(&documents::planned(&plan)),
    })
}

fn planned<'a>(args: &'a RunArgs, profile: &'a Profile, matches: &'a Match) -> Plan<'a> {
    let backend = args.on.backend.as_deref().unwrap_or(&matches.backend);
    let kind = if backend == "host" { "HOST" } else { "GPU" };
    let named = |number: usize| Named {
        label: format!("{kind}{number}"),
        number: number.to_string(),
    };
    let bench = Bench {
        profile,
        args,
        backend,
        devices: (0..matches.count).map(named).collect(),
        nodes: None,
    };
    let steps = steps::steps(&bench);
    let round = args.duration.map_or_else(Vec::new, |_| bench.round(1));
    let round_s: f64 = round.iter().map(|step| step.seconds).sum();
    let budget_s = time_budget(args, profile).as_secs_f64();
    let mut total_s = INVENTORY_S;
    let mut does_not_fit = Vec::new();
    for step in &steps {
        match total_s + step.seconds > budget_s {
            true => does_not_fit.push(step.name.clone()),
            false => total_s += step.seconds,
        }
    }
    let lasts = args.duration.unwrap_or_default().as_secs_f64();
    total_s += lasts.max(LEAST_ROUNDS as f64 * round_s);
    let left_out = |kind: &Kind| Some((kind.key, steps::left_out(&bench, kind.group)?));
    Plan {
        schema: 2,
        profile: &profile.name,
        level: args.level,
        simulated: args.on.sim.as_deref(),
        names: &matches.names,
        count: matches.count,
        left_out: KINDS.iter().filter_map(left_out).collect(),
        required: profile.required.at(args.level),
        steps,
        round,
        does_not_fit,
        total_s,
        budget_s,
    }
}
