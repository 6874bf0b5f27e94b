//! A sweep from its command line to its exit code: its cells are the steps of a run.

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
use super::cells::{Cell, Group, expand, groups, narrowed};
use super::document::{PAGE, Swept, swept};
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
        Some(path) => Plan::read(path).map_err(Stop::Usage)?,
        None => {
            let plan = args.matrix();
            plan.check_secrets().map_err(Stop::Usage)?;
            plan
        }
    };
    let all = expand(&plan).map_err(Stop::Usage)?;
    let cells = narrowed(all.clone(), &args.only).map_err(Stop::Usage)?;
    // The same plan resumes in the same folder.
    let usual = args
        .plan
        .as_ref()
        .map(|path| PathBuf::from("tplens-results").join(path.file_stem().unwrap_or_default()));
    let out = args.out.clone().or(usual);
    asker.in_folder(out.as_deref(), "sweep", |folder| {
        Sweep {
            plan: &plan,
            all: &all,
            folder,
        }
        .run(args, &cells, asker)
    })
}

/// A sweep and its folder.
struct Sweep<'a> {
    plan: &'a Plan,
    /// All cells of the plan, whatever was narrowed: a server is the same one for any of them.
    all: &'a [Cell],
    folder: &'a Path,
}

impl Sweep<'_> {
    fn run(&self, args: &SweepArgs, cells: &[Cell], asker: &Asker<'_>) -> Result<u8, Stop> {
        let steps: Vec<Step> = cells.iter().map(|cell| self.step(cell)).collect();
        if args.list {
            return Ok(asker.show.print(&self.listed(cells, &steps)));
        }
        if !self.plan.server.manage && groups(cells).len() > 1 {
            return Err(Stop::Usage("the plan is of several servers and starts none: choose one with --only, or set server.manage = true".to_owned()));
        }
        let mut run = asker.open(self.folder, ("a sweep", "settings.json"), self.plan)?;
        let text = toml::to_string(self.plan).map_err(anyhow::Error::from)?;
        write_whole(&self.folder.join(PLAN), text.as_bytes()).map_err(anyhow::Error::from)?;
        let code = |step: &Step| step.done(self.folder);
        let is_failed = |step: &&Step| code(step).is_some_and(|code| code != exit::DONE);
        for step in steps.iter().filter(is_failed).filter(|_| args.redo) {
            let kept = set_aside(&self.folder.join(&step.name))?.unwrap_or_default();
            (asker.say)(&format!(
                "{}: measured again; kept as {}",
                step.name,
                kept.display()
            ));
        }
        check_servers(&steps, self.folder)?;
        run.expect(&steps);
        let mut tries = Tries::default();
        let mut ended = Swept::default();
        for (cell, step) in cells.iter().zip(&steps) {
            let name = cell.group.name();
            match tries.step(&mut run, step)? {
                Ok(end) if end.code != exit::DONE => ended.failed.push(step.name.clone()),
                Ok(_) => {}
                Err(lost) if lost.is_server => match ended.down.last_mut() {
                    Some((of, left, _)) if *of == name => *left += 1,
                    _ => {
                        (asker.say)(&format!("{name}: {}; its cells are left out", lost.reason));
                        ended.down.push((name, 1, lost.reason));
                    }
                },
                Err(lost) => {
                    (asker.say)(&lost.reason);
                    ended.failed.push(step.name.clone());
                }
            }
        }
        run.end_server();
        let done = cells
            .iter()
            .zip(&steps)
            .filter(|(_, step)| code(step).is_some());
        let result = |(cell, step): (&Cell, &Step)| {
            let read = read_all(&self.folder.join(&step.name));
            Some((cell.clone(), read.ok()?.pop()?))
        };
        ended.done_of = (done.clone().count(), cells.len());
        ended.results = done.filter_map(result).collect();
        let is_whole = ended.done_of.0 == cells.len() && ended.failed.is_empty();
        let document = swept(&ended, self.folder);
        Ok(exit::fold([
            asker.deliver(&document, self.folder, PAGE),
            match is_whole {
                true => exit::DONE,
                false => exit::INCONCLUSIVE,
            },
        ]))
    }

    /// The load of a cell.
    fn step(&self, cell: &Cell) -> Step {
        let seed = self
            .plan
            .load
            .seed
            .map(|seed| seed.wrapping_add(cell.number));
        let tp = Some(cell.group.tp).filter(|tp| *tp > 0);
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
        let mut arguments = self.plan.load.flags.clone();
        let flags = flags.into_iter();
        arguments.extend(words(
            flags.filter_map(|(flag, value)| Some((flag, value?))),
        ));
        let at_once = cell.concurrency.unwrap_or(cell.num_prompts);
        let waves = f64::from(cell.num_prompts.div_ceil(at_once));
        let arriving = cell
            .rate
            .map_or(0.0, |rate| f64::from(cell.num_prompts) / rate);
        let seconds = arriving + waves * f64::from(cell.output) * TOKEN_S;
        let about = format!("{} requests", cell.num_prompts);
        let named = (format!("{CELLS}/{}", cell.name), about);
        load(named, arguments, Some(self.server(&cell.group)), seconds)
    }

    /// The server of a group: started with what the longest of its cells needs, or the one that runs.
    fn server(&self, group: &Group) -> Needs {
        let server = &self.plan.server;
        let url = server.base_url.as_deref();
        let url = url.map(|url| url.trim_end_matches('/'));
        if let Some(url) = url.filter(|_| !server.manage) {
            return Needs::Running {
                url: url.to_owned(),
                what: group.name(),
            };
        }
        let of_group = self.all.iter().filter(|cell| cell.group == *group);
        let longest = of_group.map(|cell| cell.input.saturating_add(cell.output));
        let max_len = longest.max().unwrap_or(0).saturating_add(server.slack);
        let of = |table: &std::collections::BTreeMap<String, String>, key: &str, other: &str| {
            table.get(key).map_or(other, String::as_str).to_owned()
        };
        let filled = |word: &String| {
            word.replace("{path}", &of(&self.plan.paths, &group.model, &group.model))
                .replace("{model}", &group.model)
                .replace("{tp}", &group.tp.to_string())
                .replace("{gpus}", &of(&self.plan.gpus, &group.config, ""))
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

    /// What would be run: each server with its command, and whether a cell is done.
    fn listed(&self, cells: &[Cell], steps: &[Step]) -> Document {
        let server = |group: &Group| {
            let command = match self.server(group) {
                Needs::Started(spec) => {
                    let variables = spec.environment.iter().map(|(name, value)| {
                        format!("{}={} ", name.to_string_lossy(), quoted(value))
                    });
                    variables.collect::<String>() + &shell(&spec.words)
                }
                Needs::Running { url, .. } => url,
            };
            let of_group = cells
                .iter()
                .zip(steps)
                .filter(|(cell, _)| cell.group == *group);
            let of_group = of_group.map(|(cell, step)| match step.done(self.folder) {
                Some(_) => format!("{}: done", cell.name),
                None => format!("{}: to do", cell.name),
            });
            let blocks = vec![Block::Code(vec![command]), Block::list(of_group)];
            Section::new(group.name(), blocks)
        };
        let servers = groups(cells);
        Document {
            title: "Plan of a sweep".to_owned(),
            answer: vec![format!(
                "{} servers, {} cells; nothing was run.",
                servers.len(),
                cells.len()
            )],
            sections: servers.iter().map(server).collect(),
            ..Document::default()
        }
    }
}
