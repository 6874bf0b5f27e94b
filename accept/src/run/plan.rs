//! `accept plan`: what a run would do, without doing it: checks, commands with their arguments, times, and what would not fit.
//!
//! It asks no driver and looks at no device: the profile says what would be looked for.

use anyhow::Context;
use program::command_line::quoted;
use program::{Stop, outputs};
use serde::Serialize;

use super::soak::LEAST_ROUNDS;
use super::steps::{self, Bench, INVENTORY_S, Named, Step};
use super::{level_word, loaded, matches, time_budget};
use crate::checks::KINDS;
use crate::cli::{Level, RunArgs};
use crate::profile::{Match, Profile};

/// Everything that a run would do.
#[derive(Debug, Serialize)]
struct Plan<'a> {
    schema: u32,
    profile: &'a str,
    title: &'a str,
    level: &'static str,
    /// The soft box that would be played: nothing would then be of real hardware.
    simulated: Option<&'a str>,
    looks_for: LooksFor<'a>,
    steps: Vec<Planned>,
    /// What would be left out because the time is over before.
    does_not_fit: Vec<String>,
    checks: Vec<PlannedCheck>,
    /// How long one round of a soak takes; `None` of another level. A round is never cut.
    soak_round_s: Option<f64>,
    total_s: f64,
    budget_s: f64,
}

/// The devices of the profile.
#[derive(Debug, Serialize)]
struct LooksFor<'a> {
    backend: &'a str,
    names: &'a [String],
    count: usize,
    devices: &'a str,
}

#[derive(Debug, Serialize)]
struct Planned {
    name: String,
    group: &'static str,
    command: Vec<String>,
    /// How long it runs; one that runs beside another takes none of the run's time.
    seconds: f64,
    /// The step that it runs beside.
    beside: Option<String>,
}

#[derive(Debug, Serialize)]
struct PlannedCheck {
    kind: &'static str,
    group: &'static str,
    required: bool,
    /// Why it would not be looked at.
    left_out: Option<String>,
}

/// Prints what a run would do, and gives the exit code.
///
/// # Errors
/// A wrong command line or profile.
pub(crate) fn plan(args: &RunArgs) -> Result<u8, Stop> {
    let loaded = loaded(args)?;
    let matches = matches(&loaded.profile)?;
    let plan = planned(args, &loaded.profile, matches);
    let text = match args.forms.json {
        true => serde_json::to_string_pretty(&plan).context("writing the plan as JSON")? + "\n",
        false => plan.text(),
    };
    Ok(outputs::print(&text))
}

fn planned<'a>(args: &'a RunArgs, profile: &'a Profile, matches: &'a Match) -> Plan<'a> {
    let backend = args.backend.as_deref().unwrap_or(&matches.backend);
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
    let mut all = steps::steps(&bench);
    let (mut loaded, mut soak_round_s) = (None, None);
    if let (Level::Soak, Some(duration)) = (args.level, args.duration) {
        let round = bench.round(1);
        let seconds: f64 = round.iter().map(|step| step.seconds).sum();
        let load = round.first().map(|step| bench.load(1, step.seconds));
        let first = all.len();
        let lasts = duration.as_secs_f64().max(LEAST_ROUNDS as f64 * seconds);
        soak_round_s = Some(seconds);
        all.extend(round.into_iter().map(|step| Step {
            seconds: lasts * step.seconds / seconds,
            name: step.name.replace("-1", ", round after round"),
            ..step
        }));
        loaded = load.zip(all.get(first).map(|step| (step.name.clone(), step.seconds)));
    }
    let budget_s = time_budget(args, profile).as_secs_f64();
    let mut total_s = INVENTORY_S;
    let mut does_not_fit = Vec::new();
    for step in &all {
        if total_s + step.seconds > budget_s {
            does_not_fit.push(step.name.clone());
        } else {
            total_s += step.seconds;
        }
    }
    let planned = |step: Step, beside| Planned {
        name: step.name,
        group: step.group.word(),
        command: std::iter::once(step.program.to_owned())
            .chain(step.arguments)
            .collect(),
        seconds: step.seconds,
        beside,
    };
    let loaded = loaded.map(|(load, (beside, seconds))| {
        let name = load.name.replace("-1", ", beside soak-links");
        if does_not_fit.contains(&beside) {
            does_not_fit.push(name.clone());
        }
        let load = Step {
            name,
            seconds,
            ..load
        };
        planned(load, Some(beside))
    });
    let required = profile.required.get(level_word(args.level));
    let check = |kind: &'static crate::checks::Kind| PlannedCheck {
        kind: kind.key,
        group: kind.group.word(),
        required: required.is_some_and(|required| required.iter().any(|key| key == kind.key)),
        left_out: steps::left_out(&bench, kind.group).map(|(_, why)| why),
    };
    Plan {
        schema: 1,
        profile: &profile.name,
        title: &profile.title,
        level: level_word(args.level),
        simulated: args.sim.as_deref(),
        looks_for: LooksFor {
            backend,
            names: &matches.names,
            count: matches.count,
            devices: &args.gpus,
        },
        checks: KINDS.iter().map(check).collect(),
        steps: all
            .into_iter()
            .map(|step| planned(step, None))
            .chain(loaded)
            .collect(),
        does_not_fit,
        soak_round_s,
        total_s,
        budget_s,
    }
}

impl Plan<'_> {
    fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |words: String| {
            text.push_str(&words);
            text.push('\n');
        };
        if let Some(name) = self.simulated {
            line(format!(
                "planned for the soft box {name}: nothing would be of real hardware"
            ));
        }
        line(format!(
            "profile {}, level {}: {}",
            self.profile, self.level, self.title
        ));
        line(format!(
            "looks for {} of {} on the {} backend (--gpus {}); nothing was looked at yet",
            self.looks_for.count,
            self.looks_for.names.join(" or "),
            self.looks_for.backend,
            self.looks_for.devices
        ));
        line(String::new());
        line(format!(
            "Commands, about {:.0} s in all, of {:.0} s that it may take",
            self.total_s, self.budget_s
        ));
        line(format!(
            "  {INVENTORY_S:>5.0} s  inventory: devices, driver, settings, counters; a monitor reads links, heat and clocks ten times a second until the end"
        ));
        for step in &self.steps {
            let words: Vec<String> = step
                .command
                .iter()
                .map(|word| quoted(word.as_ref()))
                .collect();
            let fits = match self.does_not_fit.contains(&step.name) {
                true => " (does not fit into the time and would be left out)",
                false => "",
            };
            line(format!(
                "  {:>5.0} s  {}{fits}: {}",
                step.seconds,
                step.name,
                words.join(" ")
            ));
        }
        if let Some(round_s) = self.soak_round_s {
            line(format!(
                "  a soak has two rounds at least, of about {round_s:.0} s each here, and none is cut: it ends with the round in which its time is over"
            ));
        }
        line(String::new());
        line("Checks (*: without it the box is not accepted)".to_owned());
        for check in &self.checks {
            let mark = if check.required { '*' } else { ' ' };
            match &check.left_out {
                None => line(format!("  {mark} {:<17} {}", check.kind, check.group)),
                Some(why) => line(format!(
                    "  {mark} {:<17} {}: not looked at: {why}",
                    check.kind, check.group
                )),
            }
        }
        text
    }
}
