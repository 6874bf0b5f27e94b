//! `tplens accept plan`: the steps of a run with their commands and times, and what it would decide. Nothing is looked at.

use program::command_line::quoted;
use program::show::Show;
use program::{Stop, outputs};
use view::{Block, Document, Item, Section, Table, Tone};

use super::course::LEAST_ROUNDS;
use super::start::{loaded, matches, time_budget};
use super::steps::{self, Bench, INVENTORY_S, Named};
use crate::checks::{KINDS, Kind, plural};
use crate::cli::RunArgs;

/// Prints the plan.
pub(crate) fn plan(args: &RunArgs, show: Show) -> Result<u8, Stop> {
    let loaded = loaded(args)?;
    let profile = &loaded.profile;
    let matches = matches(profile)?;
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
    // A soak repeats the steps of its round, the first with a load beside it.
    let mut steps = steps::steps(&bench);
    let round = args.duration.map_or_else(Vec::new, |_| bench.round(1));
    let seconds = |steps: &[steps::Step]| steps.iter().map(|step| step.seconds).sum::<f64>();
    let lasts = args.duration.unwrap_or_default().as_secs_f64();
    let soak_s = lasts.max(LEAST_ROUNDS as f64 * seconds(&round));
    let total_s = INVENTORY_S + seconds(&steps) + soak_s;
    steps.extend(round);
    if args.forms.json {
        return outputs::json(&steps);
    }
    let mut table = Table::under(["seconds", "step"]);
    let mut commands = Vec::new();
    for step in &steps {
        table.row([format!("{:.0}", step.seconds), step.name.clone()]);
        let words = step.arguments.iter().map(|word| quoted(word.as_ref()));
        let words: Vec<String> = words.collect();
        commands.push(format!("tplens {} {}", step.command, words.join(" ")));
    }
    let budget_s = time_budget(args, profile).as_secs_f64();
    let answer = format!(
        "Would run {} in about {total_s:.0} of {budget_s:.0} s on {}x {}.",
        plural(steps.len(), "step"),
        matches.count,
        matches.names.join(" or ")
    );
    let fits = (total_s > budget_s).then(|| {
        let line = "The time does not suffice for all of it: give a longer --budget.";
        Item::of(Tone::Warning, line).coded("not-measured")
    });
    let left_out = |kind: &Kind| {
        let why = steps::left_out(&bench, kind.group)?;
        Some(format!("{}: {}", kind.key, why.code()))
    };
    let left_out = Block::list(KINDS.iter().filter_map(left_out));
    let required = profile.required.at(args.level).join(", ");
    Ok(show.print(&Document {
        title: format!("Plan: profile {}, level {}", profile.name, args.level),
        simulated: args.on.sim.clone(),
        answer: vec![answer, format!("Must pass: {required}.")],
        findings: fits.into_iter().collect(),
        sections: vec![
            Section::new("Steps", vec![Block::Table(table)]),
            Section::detail("Commands", vec![Block::Code(commands)]),
            Section::detail("Not looked at", vec![left_out]),
        ],
        ..Document::default()
    }))
}
