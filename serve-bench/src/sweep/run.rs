//! A sweep from its command line to its exit code: its cells are the steps of a run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use import::serve::read_all;
use program::command_line::quoted;
use program::show::Show;
use program::{Stop, open_run, outputs, result_folder};
use record::{exit, write_whole};
use runner::Interrupt;
use runner::run::{Leaves, Needs, RunError, Step, URL, check_servers, set_aside};
use runner::server::ServerSpec;
use view::Document;

use super::args::SweepArgs;
use super::document::{PAGE, Swept, planned, swept};
use super::expand::{Cell, Group, expand, groups, narrowed};
use super::plan::Plan;
use crate::study::load::LOAD_DEADLINE;
use crate::study::shell::shell;

/// The plan and its cells in the sweep's folder.
const PLAN: &str = "plan.toml";
pub(super) const CELLS: &str = "cells";

/// What a token is assumed to take, s: only the time that is printed rests on it.
const TOKEN_S: f64 = 0.03;

/// Runs what is left of a sweep, and gives the exit code.
///
/// # Errors
/// What ended it; the cells that were done are in its folder.
pub(crate) fn run(
    args: &SweepArgs,
    show: Show,
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
) -> Result<u8, Stop> {
    let (text, plan) = planned_by(args).map_err(Stop::Usage)?;
    let all = expand(&plan).map_err(Stop::Usage)?;
    let cells = narrowed(all.clone(), &args.only).map_err(Stop::Usage)?;
    let folder = match &args.plan {
        Some(path) => args.out.clone().unwrap_or_else(|| {
            Path::new("tplens-results").join(path.file_stem().unwrap_or_default())
        }),
        None => result_folder(args.out.as_deref(), "sweep"),
    };
    let sweep = Sweep { plan, all, folder };
    let steps: Vec<Step> = cells.iter().map(|cell| sweep.step(cell)).collect();
    if args.list {
        return Ok(show.print(&sweep.listed(&cells, &steps)));
    }
    if !sweep.plan.server.manage && groups(&cells).len() > 1 {
        return Err(Stop::Usage("the plan is of several servers and starts none: choose one with --only, or set server.manage = true".to_owned()));
    }
    let of = ("a sweep", "settings.json");
    let mut run = open_run(&sweep.folder, of, &sweep.plan, interrupt, say)?;
    write_whole(&sweep.folder.join(PLAN), text.as_bytes()).map_err(anyhow::Error::from)?;
    let is_failed = |step: &&Step| {
        step.done(&sweep.folder)
            .is_some_and(|code| code != exit::DONE)
    };
    if args.redo {
        for step in steps.iter().filter(is_failed) {
            let kept = set_aside(&sweep.folder.join(&step.name))?.unwrap_or_default();
            say(&format!(
                "{}: measured again; kept as {}",
                step.name,
                kept.display()
            ));
        }
    }
    check_servers(&steps, &sweep.folder)?;
    run.expect(&steps);
    let (mut down, mut broken) = (Vec::<(String, usize, String)>::new(), Vec::new());
    for (cell, step) in cells.iter().zip(&steps) {
        let name = cell.group.name();
        match down.last_mut() {
            Some((of, left, _)) if *of == name => *left += 1,
            _ => match run.step(step) {
                Err(error @ RunError::NoResult { code, .. }) if code != exit::USAGE => {
                    say(&error.to_string());
                    broken.push(step.name.clone());
                }
                Err(error @ (RunError::ServerGone { .. } | RunError::Server(_)))
                    if error.is_of_step() =>
                {
                    say(&format!("{name}: {error}; its cells are left out"));
                    down.push((name, 1, error.to_string()));
                }
                end => drop(end?),
            },
        }
    }
    run.end_server();
    let done = steps
        .iter()
        .filter(|step| step.done(&sweep.folder).is_some())
        .count();
    let failed = steps.iter().filter(is_failed);
    let failed: Vec<String> = failed.map(|step| step.name.clone()).chain(broken).collect();
    let code = match done == cells.len() && failed.is_empty() {
        true => exit::DONE,
        false => exit::INCONCLUSIVE,
    };
    let result = |(cell, step): (&Cell, &Step)| {
        let read = read_all(&sweep.folder.join(&step.name));
        Some((cell.clone(), read.ok()?.pop()?))
    };
    let document = swept(&Swept {
        folder: &sweep.folder,
        done_of: (done, cells.len()),
        failed,
        down,
        results: cells.iter().zip(&steps).filter_map(result).collect(),
    });
    let page = sweep.folder.join(PAGE);
    let written = outputs::write(&page, Ok(document.html()));
    Ok(exit::fold([show.print(&document), written, code]))
}

/// The plan of a command line, and its text.
fn planned_by(args: &SweepArgs) -> Result<(String, Plan), String> {
    let Some(path) = &args.plan else {
        let plan = args.matrix();
        plan.check_secrets()?;
        return Ok((
            toml::to_string(&plan).map_err(|error| error.to_string())?,
            plan,
        ));
    };
    let name = path.display();
    let text = bounded::text(path, bounded::SETTINGS)
        .map_err(|error| format!("cannot read {name}: {error}"))?;
    let plan = Plan::parse(&text).map_err(|error| format!("{name}: {error}"))?;
    Ok((text, plan))
}

/// A sweep and its folder.
struct Sweep {
    plan: Plan,
    /// All cells of the plan, whatever was narrowed: a server is the same one for any of them.
    all: Vec<Cell>,
    folder: PathBuf,
}

impl Sweep {
    /// The load of a cell.
    fn step(&self, cell: &Cell) -> Step {
        let mut arguments = self.plan.load.flags.clone();
        let seed = self.plan.load.seed;
        let seed = seed.map(|seed| seed.wrapping_add(cell.number).to_string());
        let set = [
            ("--base-url", Some(URL.to_owned())),
            (
                "--tp",
                (cell.group.tp > 0).then(|| cell.group.tp.to_string()),
            ),
            ("--random-input-len", Some(cell.input.to_string())),
            ("--random-output-len", Some(cell.output.to_string())),
            ("--num-prompts", Some(cell.num_prompts.to_string())),
            ("--max-concurrency", cell.concurrency.map(|n| n.to_string())),
            ("--request-rate", cell.rate.map(|rate| rate.to_string())),
            ("--seed", seed),
        ];
        for (flag, value) in set {
            arguments.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value]));
        }
        let waves = cell
            .concurrency
            .map_or(1, |at_once| cell.num_prompts.div_ceil(at_once));
        let arriving = cell
            .rate
            .map_or(0.0, |rate| f64::from(cell.num_prompts) / rate);
        Step {
            name: format!("{CELLS}/{}", cell.name),
            about: format!("{} requests", cell.num_prompts),
            command: "serve run",
            arguments,
            environment: Vec::new(),
            needs: Some(self.server(&cell.group)),
            leaves: Leaves::Record,
            seconds: arriving + f64::from(waves) * f64::from(cell.output) * TOKEN_S,
            deadline: LOAD_DEADLINE,
        }
    }

    /// The server of a group: started with what the longest of its cells needs, or the one that runs.
    fn server(&self, group: &Group) -> Needs {
        let server = &self.plan.server;
        let url = server
            .base_url
            .as_deref()
            .map(|url| url.trim_end_matches('/'));
        if let Some(url) = url.filter(|_| !server.manage) {
            return Needs::Running {
                url: url.to_owned(),
                what: group.name(),
            };
        }
        let of_group = self.all.iter().filter(|cell| cell.group == *group);
        let longest = of_group.map(|cell| cell.input.saturating_add(cell.output));
        let max_len = longest.max().unwrap_or(0).saturating_add(server.slack);
        let gpus = self.plan.gpus.get(&group.config).map_or("", String::as_str);
        let filled = |word: &String| {
            word.replace("{path}", self.plan.path(&group.model))
                .replace("{model}", &group.model)
                .replace("{tp}", &group.tp.to_string())
                .replace("{gpus}", gpus)
                .replace("{max_len}", &max_len.to_string())
        };
        let variables = server.env.iter();
        Needs::Started(ServerSpec {
            name: group.name(),
            words: server.command.iter().map(filled).collect(),
            environment: variables
                .map(|(name, value)| (name.into(), filled(value).into()))
                .collect(),
            port: url.and_then(|url| url.rsplit(':').next()?.parse().ok()),
            log: self.folder.join(format!("server_{}.log", group.name())),
            ready: Duration::from_secs(server.ready_timeout_s),
        })
    }

    /// The cells and commands of each server.
    fn listed(&self, cells: &[Cell], steps: &[Step]) -> Document {
        let server = |group: Group| {
            let command = match self.server(&group) {
                Needs::Started(spec) => {
                    let variables = spec.environment.iter().map(|(name, value)| {
                        format!("{}={} ", name.to_string_lossy(), quoted(value))
                    });
                    variables.collect::<String>() + &shell(&spec.words)
                }
                Needs::Running { url, .. } => url,
            };
            let of_group = cells.iter().zip(steps);
            let of_group = of_group.filter(|(cell, _)| cell.group == group);
            let of_group = of_group.map(|(cell, step)| match step.done(&self.folder) {
                Some(_) => format!("{}: done", cell.name),
                None => format!("{}: to do", cell.name),
            });
            (group.name(), command, of_group.collect())
        };
        planned(groups(cells).into_iter().map(server).collect())
    }
}
