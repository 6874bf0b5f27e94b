//! A sweep from its command line to its exit code.

use std::path::{Path, PathBuf};

use import::serve::read_all;
use program::show::Show;
use program::{Stop, outputs, result_folder, say_progress};
use record::exit;
use runner::Interrupt;
use runner::run::{Progress, hold_folder, set_aside};
use view::Document;

use super::args::SweepArgs;
use super::command::{ServerCommand, longest};
use super::document::{PAGE, Swept, planned, swept};
use super::expand::{Cell, Group, expand, groups, narrowed};
use super::matrix::plan;
use super::plan::Plan;
use super::serving::Serving;
use crate::attempt::{self, complete};

/// The plan as it was begun.
const PLAN: &str = "plan.toml";

/// Where cells are.
pub(super) const CELLS: &str = "cells";

/// Runs a plan, or resumes it, and gives the exit code.
///
/// # Errors
/// What ended it; the cells that were done are in its folder.
pub(crate) fn run(
    args: &SweepArgs,
    show: Show,
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
) -> Result<u8, Stop> {
    let (name, text) = match &args.plan {
        Some(path) => {
            let text = bounded::text(path, bounded::SETTINGS);
            let name = path.display().to_string();
            let text = text.map_err(|error| format!("cannot read {name}: {error}"));
            (name, text.map_err(Stop::Usage)?)
        }
        None => ("the matrix".to_owned(), plan(args).map_err(Stop::Usage)?),
    };
    let named = |error| Stop::Usage(format!("{name}: {error}"));
    let plan = Plan::parse(&text).map_err(named)?;
    let all = expand(&plan).map_err(named)?;
    let cells = narrowed(all.clone(), &args.only).map_err(named)?;
    let folder = match &args.plan {
        Some(path) => args.out.clone().unwrap_or_else(|| {
            let name = path.file_stem().unwrap_or_default();
            Path::new("tplens-results").join(name)
        }),
        None => result_folder(args.out.as_deref(), "sweep"),
    };
    let sweep = Sweep {
        plan,
        all,
        folder,
        interrupt,
        say,
    };
    if args.list {
        return Ok(show.print(&sweep.listed(&cells).map_err(Stop::Usage)?));
    }
    attempt::keep(&sweep.folder, PLAN, text.as_bytes())?;
    let tell = |progress: &Progress<'_>| say_progress(progress, say);
    let _held = hold_folder(&sweep.folder, interrupt, &tell)?;
    if args.redo {
        for cell in sweep.failed(&cells) {
            let kept = set_aside(&sweep.cell(cell))?.unwrap_or_default();
            let (name, kept) = (&cell.name, kept.display());
            say(&format!("{name}: measured again; kept as {kept}"));
        }
    }
    let begun = sweep.done(&cells);
    if begun > 0 {
        say(&format!(
            "resumes: {begun} of {} cells are done",
            cells.len()
        ));
    }
    let mut before = None;
    let mut down = Vec::new();
    for group in groups(&cells) {
        let of_group: Vec<Cell> = cells
            .iter()
            .filter(|cell| cell.group == group)
            .cloned()
            .collect();
        if let Some(reason) = sweep.group(&group, &of_group, &mut before)? {
            let left = of_group.len() - sweep.done(&of_group);
            say(&format!("{reason}; its cells are left out"));
            down.push((group.name(), left, reason));
        }
    }
    let (done, failed) = (sweep.done(&cells), sweep.failed(&cells));
    let code = match done == cells.len() && failed.is_empty() {
        true => exit::DONE,
        false => exit::INCONCLUSIVE,
    };
    let result = |cell: &Cell| Some((cell.clone(), read_all(&sweep.cell(cell)).ok()?.pop()?));
    let document = swept(&Swept {
        folder: &sweep.folder,
        done_of: (done, cells.len()),
        failed: failed.into_iter().map(|cell| cell.name.clone()).collect(),
        down,
        results: cells.iter().filter_map(result).collect(),
    });
    let page = sweep.folder.join(PAGE);
    let written = outputs::write(&page, Ok(document.html()));
    Ok(exit::fold([show.print(&document), written, code]))
}

struct Sweep<'a> {
    plan: Plan,
    /// Every cell of the plan, whatever is narrowed.
    all: Vec<Cell>,
    folder: PathBuf,
    interrupt: &'a Interrupt,
    say: &'a dyn Fn(&str),
}

impl Sweep<'_> {
    fn cell(&self, cell: &Cell) -> PathBuf {
        self.folder.join(CELLS).join(&cell.name)
    }

    fn done(&self, cells: &[Cell]) -> usize {
        let done = cells
            .iter()
            .filter(|cell| complete(&self.cell(cell)).is_some());
        done.count()
    }

    /// Cells that are done and whose runs were inconclusive.
    fn failed<'c>(&self, cells: &'c [Cell]) -> Vec<&'c Cell> {
        let is_failed = |cell: &&Cell| {
            complete(&self.cell(cell)).is_some_and(|record| record.exit_code != exit::DONE)
        };
        cells.iter().filter(is_failed).collect()
    }

    /// Runs the cells of one server that are not done; `before` is the group whose server the user ran before. Gives why the server
    /// could not be had, where other servers may still be.
    fn group(
        &self,
        group: &Group,
        cells: &[Cell],
        before: &mut Option<Group>,
    ) -> Result<Option<String>, Stop> {
        let mut restarts = self.plan.server.restarts;
        let mut serving: Option<Serving> = None;
        for cell in cells {
            while complete(&self.cell(cell)).is_none() {
                let server = match serving.take() {
                    Some(server) => server,
                    None => match self.begin(group, before) {
                        Err(Stop::Refused(reason)) if self.plan.server.manage => {
                            return Ok(Some(reason.detail));
                        }
                        server => server?,
                    },
                };
                (self.say)(&format!("{}: {} requests", cell.name, cell.num_prompts));
                let ended = self.measure(cell, &server.url)?;
                if complete(&self.cell(cell)).is_some() && server.answers() {
                    serving = Some(server);
                    continue;
                }
                let gone = !server.answers();
                let name = &cell.name;
                if gone && server.is_managed() && restarts == 0 {
                    return Ok(Some(format!(
                        "the server ended in {name} ({ended}); server.restarts starts one again"
                    )));
                }
                if !(gone && server.is_managed()) {
                    return Err(Stop::Refused(format!("{name}: {ended}").into()));
                }
                restarts -= 1;
                // A load that met the end of its server says nothing about it, whatever it wrote.
                set_aside(&self.cell(cell))?;
                (self.say)(&format!("{name}: the server ended; it is started again"));
            }
        }
        Ok(None)
    }

    fn begin(&self, group: &Group, before: &mut Option<Group>) -> Result<Serving, Stop> {
        let serving = Serving::begin(
            &self.plan,
            group,
            longest(&self.all, group),
            &self.folder,
            before.as_ref(),
            self.interrupt,
            self.say,
        )?;
        if !serving.is_managed() {
            *before = Some(group.clone());
        }
        Ok(serving)
    }

    /// Runs a cell; gives how it ended.
    fn measure(&self, cell: &Cell, url: &str) -> Result<String, Stop> {
        let mut flags = self.plan.load.flags.clone();
        let seed = self.plan.load.seed;
        let seed = seed.map(|seed| seed.wrapping_add(cell.number).to_string());
        let set = [
            ("--base-url", Some(url.to_owned())),
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
            flags.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value]));
        }
        let log = self.folder.join("load.log");
        let ended = attempt::measure(&self.folder, &self.cell(cell), flags, &log, self.interrupt)?;
        Ok(ended.map_or_else(|reason| reason, |_| "done".to_owned()))
    }

    /// The cells and the commands of their servers.
    fn listed(&self, cells: &[Cell]) -> Result<Document, String> {
        let server = |group: Group| {
            let command = ServerCommand::of(&self.plan, &group, longest(&self.all, &group), None)?;
            let of_group = cells.iter().filter(|cell| cell.group == group).map(|cell| {
                let state = match complete(&self.cell(cell)) {
                    Some(_) => "done",
                    None => "to do",
                };
                (cell.name.clone(), state)
            });
            Ok((group.name(), command.shown(), of_group.collect()))
        };
        let servers: Result<Vec<_>, String> = groups(cells).into_iter().map(server).collect();
        Ok(planned(&servers?))
    }
}
