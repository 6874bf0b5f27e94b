//! A sweep from its command line to its exit code: its cells are the steps of a run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use import::serve::read_all;
use program::Stop;
use program::command_line::quoted;
use record::{exit, write_whole};
use runner::run::{Needs, Step, URL, check_servers, set_aside};
use runner::server::ServerSpec;
use view::{Block, Document, Section};

use super::args::SweepArgs;
use super::cells::{Cell, Measured, expand, narrowed};
use super::document::{Ended, PAGE, swept};
use super::plan::Plan;
use crate::planner::{Asker, Tries, load, shell, words};

/// The plan and its cells in the sweep's folder.
const PLAN: &str = "plan.toml";
const CELLS: &str = "cells";

/// What a token is assumed to take, s: only the time that is printed rests on it.
const TOKEN_S: f64 = 0.03;

/// Runs what is left of a sweep, and gives the exit code.
///
/// # Errors
/// What ended it; the cells that were done are in its folder.
pub(crate) fn run(args: &SweepArgs, asker: &Asker<'_>) -> Result<u8, Stop> {
    let plan = match &args.plan {
        Some(path) => Plan::read(path),
        None => args.matrix().checked(),
    };
    let plan = plan.map_err(Stop::Usage)?;
    let all = expand(&plan).map_err(Stop::Usage)?;
    let cells = narrowed(all.clone(), &args.only).map_err(Stop::Usage)?;
    // The same plan resumes in the same folder.
    let name = args.plan.as_ref().and_then(|path| path.file_stem());
    let usual = name.map(|name| PathBuf::from("tplens-results").join(name));
    let out = args.out.clone().or(usual);
    asker.in_folder(out.as_deref(), "sweep", |folder| {
        let step = |cell| step(&plan, cell, server(&plan, &all, cell, folder));
        let steps: Vec<Step> = cells.iter().map(step).collect();
        let is_other = |cell: &Cell| cell.server != cells[0].server;
        match args.list {
            true => Ok(asker.show.print(&listed(&cells, &steps, folder))),
            false if !plan.server.manage && cells.iter().any(is_other) => Err(Stop::Usage("the plan is of several servers and starts none: choose one with --only, or set server.manage = true".to_owned())),
            false => done(&plan, (&cells, &steps), args.redo, folder, asker),
        }
    })
}

/// Does the steps of cells, those that failed again where that was asked for, and shows what they measured.
fn done(
    plan: &Plan,
    (cells, steps): (&[Cell], &[Step]),
    redo: bool,
    folder: &Path,
    asker: &Asker<'_>,
) -> Result<u8, Stop> {
    let mut run = asker.open(folder, ("a sweep", "settings.json"), plan)?;
    let text = toml::to_string(plan).map_err(anyhow::Error::from)?;
    write_whole(&folder.join(PLAN), text.as_bytes()).map_err(anyhow::Error::from)?;
    let is_failed = |step: &&Step| step.done(folder).is_some_and(|code| code != exit::DONE);
    for step in steps.iter().filter(is_failed).filter(|_| redo) {
        let kept = set_aside(&folder.join(&step.name))?.unwrap_or_default();
        let kept = kept.display();
        (asker.say)(&format!("{}: measured again; kept as {kept}", step.name));
    }
    check_servers(steps, folder)?;
    run.expect(steps);
    let mut tries = Tries::default();
    let mut ended: Vec<Ended<'_>> = Vec::new();
    for (cell, step) in cells.iter().zip(steps) {
        let end = tries.step(&mut run, step)?.map(|end| end.code);
        // What was measured before its server went down is there.
        let end = end.or_else(|lost| step.done(folder).ok_or(lost));
        if let Err(lost) = &end
            && !ended.iter().any(|other| other.1.as_ref() == Err(lost))
        {
            let (server, reason) = (&cell.server, &lost.reason);
            (asker.say)(&match lost.is_server {
                true => format!("{server}: {reason}; its cells are left out"),
                false => reason.clone(),
            });
        }
        ended.push((cell, end));
    }
    run.end_server();
    let done = ended.iter().filter(|(_, end)| end.is_ok());
    let results = done.filter_map(|(cell, _)| {
        let read = read_all(&folder.join(CELLS).join(&cell.name));
        Some((*cell, read.ok()?.pop()?))
    });
    let results: Vec<Measured<'_>> = results.collect();
    let is_whole = ended.iter().all(|(_, end)| *end == Ok(exit::DONE));
    Ok(exit::fold([
        asker.deliver(&swept(&ended, &results, folder), folder, PAGE),
        match is_whole {
            true => exit::DONE,
            false => exit::INCONCLUSIVE,
        },
    ]))
}

/// The load of a cell on its server.
fn step(plan: &Plan, cell: &Cell, server: Needs) -> Step {
    let seed = plan.load.seed.map(|seed| seed.wrapping_add(cell.number));
    let tp = Some(cell.tp).filter(|tp| *tp > 0);
    let flags = [
        ("--base-url", Some(URL.to_owned())),
        ("--tp", tp.map(|tp| tp.to_string())),
        ("--random-input-len", Some(cell.input.to_string())),
        ("--random-output-len", Some(cell.output.to_string())),
        ("--num-prompts", Some(cell.num_prompts.to_string())),
        ("--max-concurrency", cell.concurrency.map(|n| n.to_string())),
        ("--request-rate", cell.rate.map(|rate| rate.to_string())),
        ("--seed", seed.map(|seed| seed.to_string())),
    ];
    let flags = flags.into_iter();
    let mut arguments = plan.load.flags.clone();
    arguments.extend(words(
        flags.filter_map(|(flag, value)| Some((flag, value?))),
    ));
    let at_once = cell.concurrency.unwrap_or(cell.num_prompts);
    let waves = f64::from(cell.num_prompts.div_ceil(at_once));
    let requests = f64::from(cell.num_prompts);
    let arriving = cell.rate.map_or(0.0, |rate| requests / rate);
    let seconds = arriving + waves * f64::from(cell.output) * TOKEN_S;
    let about = format!("{requests} requests");
    let named = (format!("{CELLS}/{}", cell.name), about);
    load(named, arguments, Some(server), seconds)
}

/// The server of a cell: started with what the longest of all its cells needs, whatever was narrowed, or the one that runs.
fn server(plan: &Plan, all: &[Cell], cell: &Cell, folder: &Path) -> Needs {
    let (server, name) = (&plan.server, cell.server.clone());
    let url = server.base_url.as_deref();
    let url = url.map(|url| url.trim_end_matches('/'));
    if let Some(url) = url.filter(|_| !server.manage) {
        return Needs::Running {
            url: url.to_owned(),
            what: name,
        };
    }
    let of_server = all.iter().filter(|cell| cell.server == name);
    let longest = of_server.map(|cell| cell.input.saturating_add(cell.output));
    let max_len = longest.max().unwrap_or(0).saturating_add(server.slack);
    let of = |table: &BTreeMap<String, String>, key: &str, other: &str| {
        table.get(key).map_or(other, String::as_str).to_owned()
    };
    let filled = |word: &String| {
        word.replace("{path}", &of(&plan.paths, &cell.model, &cell.model))
            .replace("{model}", &cell.model)
            .replace("{tp}", &cell.tp.to_string())
            .replace("{gpus}", &of(&plan.gpus, &cell.config, ""))
            .replace("{max_len}", &max_len.to_string())
    };
    Needs::Started(ServerSpec {
        words: server.command.iter().map(filled).collect(),
        environment: (server.env.iter())
            .map(|(name, value)| (name.into(), filled(value).into()))
            .collect(),
        port: url.and_then(|url| url.rsplit(':').next()?.parse().ok()),
        log: folder.join(format!("server_{name}.log")),
        ready: Duration::from_secs(server.ready_timeout_s),
        name,
    })
}

/// What would be run: the command of each server, and whether a cell is done.
fn listed(cells: &[Cell], steps: &[Step], folder: &Path) -> Document {
    let command = |needs: &Needs| match needs {
        Needs::Started(spec) => {
            let variables = spec.environment.iter();
            let variables = variables
                .map(|(name, value)| format!("{}={} ", name.to_string_lossy(), quoted(value)));
            variables.collect::<String>() + &shell(&spec.words)
        }
        Needs::Running { url, .. } => url.clone(),
    };
    let needs = |(cell, step): (&'_ Cell, &Step)| {
        let command = command(step.needs.as_ref()?);
        Some((cell.server.clone(), command))
    };
    let mut servers: Vec<(String, String)> = cells.iter().zip(steps).filter_map(needs).collect();
    servers.dedup_by(|one, other| one.0 == other.0);
    let commands = servers.iter();
    let commands = commands.map(|(name, command)| format!("{name}: {command}"));
    let states = cells.iter().zip(steps).map(|(cell, step)| {
        let is_done = step.done(folder).is_some();
        format!("{}: {}", cell.name, if is_done { "done" } else { "to do" })
    });
    let (count, all) = (servers.len(), cells.len());
    Document {
        title: "Plan of a sweep".to_owned(),
        answer: vec![format!("{count} servers, {all} cells; nothing was run.")],
        sections: vec![
            Section::new("Servers", vec![Block::Code(commands.collect())]),
            Section::new("Cells", vec![Block::list(states)]),
        ],
        ..Document::default()
    }
}
