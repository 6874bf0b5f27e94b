//! The documents of a plan, of the profiles that came with the program, and of what one asks for.

use program::command_line::quoted;
use view::{Block, Document, Item, Section, Table, Tone};

use crate::checks::plural;
use crate::profile::{Loaded, Profile, shipped};
use crate::run::Plan;

/// The document of a plan.
pub(crate) fn planned(plan: &Plan<'_>) -> Document {
    let mut steps = Table::under(["seconds", "step"]);
    let mut commands = Vec::new();
    for step in plan.steps.iter().chain(&plan.round) {
        steps.row([format!("{:.0}", step.seconds), step.name.clone()]);
        let words = step.arguments.iter().map(|word| quoted(word.as_ref()));
        let words: Vec<String> = words.collect();
        commands.push(format!("tplens {} {}", step.command, words.join(" ")));
    }
    let answer = format!(
        "Would run {} in about {:.0} of {:.0} s on {}x {}.",
        plural(plan.steps.len() + plan.round.len(), "step"),
        plan.total_s,
        plan.budget_s,
        plan.count,
        plan.names.join(" or ")
    );
    let soak = (!plan.round.is_empty()).then(|| {
        Item::plain("The soak repeats its steps, two rounds at least, with a load beside copies.")
    });
    let fits = (!plan.does_not_fit.is_empty()).then(|| {
        let line = format!("No time for {}", plan.does_not_fit.join(", "));
        Item::of(Tone::Warning, line).coded("not-measured")
    });
    let left_out = plan.left_out.iter();
    let left_out = Block::list(left_out.map(|(kind, why)| format!("{kind}: {}", why.code())));
    Document {
        title: format!("Plan: profile {}, level {}", plan.profile, plan.level),
        simulated: plan.simulated.map(str::to_owned),
        answer: vec![answer, format!("Must pass: {}.", plan.required.join(", "))],
        findings: soak.into_iter().chain(fits).collect(),
        sections: vec![
            Section::new("Steps", vec![Block::Table(steps)]),
            Section::detail("Commands", vec![Block::Code(commands)]),
            Section::detail("Not looked at", vec![left_out]),
        ],
        ..Document::default()
    }
}

/// The profiles that came with the program.
pub(crate) fn profiles() -> Document {
    let mut table = Table::under(["profile", "for"]);
    for loaded in shipped() {
        table.row([loaded.profile.name.clone(), loaded.profile.title.clone()]);
    }
    Document {
        title: "Profiles".to_owned(),
        answer: vec![plural(table.rows.len(), "profile") + " came with this program."],
        sections: vec![Section::new("", vec![Block::Table(table)])],
        ..Document::default()
    }
}

/// What a profile asks for: its lines with those of all that it extends, each with its source.
pub(crate) fn asks_for(loaded: &Loaded) -> Document {
    let profile = &loaded.profile;
    let limits = plural(profile.limit.len(), "limit");
    let merged = Profile {
        extends: None,
        ..profile.clone()
    };
    let lines = toml::to_string(&merged).unwrap_or_default();
    let lines = lines.lines().map(str::to_owned).collect();
    let title = format!("{}: {}", profile.name, profile.title);
    let (sha256, files) = (&loaded.sha256, loaded.files.join(", "));
    let of = format!("{limits}; sha256 {sha256}, of {files}.");
    Document {
        answer: vec![format!("{title}."), of],
        title,
        sections: vec![Section::detail("Asks for", vec![Block::Code(lines)])],
        ..Document::default()
    }
}
