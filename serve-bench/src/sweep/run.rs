//! A sweep from its command line to its exit code.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use measure::exit;
use program::{Stop, outputs};
use supervisor::Interrupt;

use super::again::Done;
use super::args::SweepArgs;
use super::command::{ServerCommand, longest};
use super::expand::{Cell, Group, expand, groups, narrowed};
use super::memory::{self, Checked};
use super::plan::Plan;
use super::serving::Serving;
use super::theirs::Theirs;
use crate::attempt::{self, Unfinished, complete};
use crate::study::hold;
use crate::study::step::set_aside;

/// The plan as it was begun.
const PLAN: &str = "plan.toml";

/// Where cells are.
pub(super) const CELLS: &str = "cells";

/// Runs a plan, or goes on with it, and gives the exit code.
///
/// # Errors
/// What ended it; the cells that were done are in its folder.
pub(crate) fn run(args: &SweepArgs, interrupt: &Interrupt, say: &dyn Fn(&str)) -> Result<u8, Stop> {
    let plan = Plan::read(&args.plan).map_err(Stop::Usage)?;
    let named = |error| Stop::Usage(format!("{}: {error}", args.plan.display()));
    let all = expand(&plan).map_err(named)?;
    let cells = narrowed(all.clone(), &args.only).map_err(named)?;
    let memory = memory::checked(&plan, &all).map_err(named)?;
    if args.check {
        let memory = memory.ok_or_else(|| {
            named(
                "--check needs the GPUs' memory: add server.memory = \"24 GiB\" or server.box"
                    .to_owned(),
            )
        })?;
        let never = cells
            .iter()
            .any(|cell| memory.never.contains_key(&cell.name));
        let code = if never {
            exit::INCONCLUSIVE
        } else {
            exit::DONE
        };
        return Ok(exit::fold([
            outputs::print(&memory::table(&memory, &cells)),
            code,
        ]));
    }
    let folder = args.out.clone().unwrap_or_else(|| {
        let name = args.plan.file_stem().unwrap_or_default();
        Path::new("tplens-results").join(name)
    });
    let sweep = Sweep {
        plan,
        all,
        memory,
        folder,
        interrupt,
        say,
    };
    if args.list {
        return Ok(outputs::print(&sweep.listed(&cells).map_err(Stop::Usage)?));
    }
    let results = Done {
        folder: &sweep.folder,
        cells: &cells,
    };
    let again = results.again(&args.redo).map_err(Stop::Usage)?;
    sweep.keep_plan(&args.plan)?;
    let _held = hold::held(&sweep.folder, PLAN, interrupt, say)?;
    for cell in again {
        let kept = results.put_aside(cell)?;
        let name = &cell.name;
        say(&format!(
            "{name}: measured again; kept as {}",
            kept.display()
        ));
    }
    let begun = sweep.done(&cells);
    if begun > 0 {
        say(&format!(
            "going on: {begun} of {} cells are done",
            cells.len()
        ));
    }
    let skipped: Vec<(&str, &str)> = sweep.skipped(&cells).collect();
    if let Some(memory) = &sweep.memory {
        memory::warnings(memory, &cells)
            .iter()
            .for_each(|line| say(line));
    }
    let mut before = None;
    let mut down: Vec<String> = Vec::new();
    for group in groups(&cells) {
        let of_group: Vec<Cell> = cells
            .iter()
            .filter(|cell| cell.group == group && sweep.never(cell).is_none())
            .cloned()
            .collect();
        if let Some(reason) = sweep.group(&group, &of_group, &mut before)? {
            let left = of_group.len() - sweep.done(&of_group);
            say(&format!("{reason}; its cells are left out"));
            down.push(format!("{} ({left} cells): {reason}", group.name()));
        }
    }
    let (done, failed) = (sweep.done(&cells), results.failed());
    let mut text = format!(
        "{done} of {} cells are done, in {}\n",
        cells.len(),
        sweep.folder.join(CELLS).display()
    );
    for (cell, reason) in &failed {
        text.push_str(&format!("not to be relied on: {}: {reason}\n", cell.name));
    }
    if !failed.is_empty() {
        text.push_str(
            "the same command with --redo failed, or --redo NAME, measures such cells again\n",
        );
    }
    for reason in &down {
        text.push_str(&format!("left out: {reason}\n"));
    }
    if !down.is_empty() {
        text.push_str("the same command goes on with what was left out\n");
    }
    for (name, reason) in skipped {
        text.push_str(&format!("does not fit, not run: {name}: {reason}\n"));
    }
    let code = if done == cells.len() && failed.is_empty() {
        exit::DONE
    } else {
        exit::INCONCLUSIVE
    };
    Ok(exit::fold([outputs::print(&text), code]))
}

struct Sweep<'a> {
    plan: Plan,
    /// Every cell of the plan, whatever is narrowed.
    all: Vec<Cell>,
    /// What was found about memory, where the plan tells it.
    memory: Option<Checked>,
    folder: PathBuf,
    interrupt: &'a Interrupt,
    say: &'a dyn Fn(&str),
}

impl Sweep<'_> {
    /// Begins a folder with this plan, or finds that it holds this very one.
    fn keep_plan(&self, plan: &Path) -> Result<(), Stop> {
        let other = "choose another folder with --out";
        let text = bounded::read(plan, bounded::SETTINGS).context("reading the plan")?;
        let file = self.folder.join(PLAN);
        let name = self.folder.display();
        if let Ok(kept) = bounded::read(&file, bounded::SETTINGS) {
            return if kept == text {
                Ok(())
            } else {
                let line = first_difference(&kept, &text);
                Err(Stop::Usage(format!(
                    "{name} holds a sweep of another plan ({PLAN} there differs from line {line} on); {other}"
                )))
            };
        }
        let taken = self.folder.read_dir();
        if taken.is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(Stop::Usage(format!(
                "{name} holds something else than a sweep; {other}"
            )));
        }
        outputs::make_folder("--out", &self.folder.join(CELLS))?;
        measure::record::write_whole(&file, &text).map_err(|error| Stop::Internal(error.into()))
    }

    fn cell(&self, cell: &Cell) -> PathBuf {
        self.folder.join(CELLS).join(&cell.name)
    }

    fn done(&self, cells: &[Cell]) -> usize {
        let done = cells
            .iter()
            .filter(|cell| complete(&self.cell(cell)).is_some());
        done.count()
    }

    /// Why a cell cannot run.
    fn never(&self, cell: &Cell) -> Option<&str> {
        let memory = self.memory.as_ref()?;
        memory.never.get(&cell.name).map(String::as_str)
    }

    /// Cells that cannot run and have no result, with the reasons.
    fn skipped<'c>(&'c self, cells: &'c [Cell]) -> impl Iterator<Item = (&'c str, &'c str)> {
        let is_open = |cell: &&Cell| complete(&self.cell(cell)).is_none();
        let open = cells.iter().filter(is_open);
        open.filter_map(|cell| Some((cell.name.as_str(), self.never(cell)?)))
    }

    /// Runs the cells of one server that are not done; `before` is what the user ran for the one before. Gives why the server
    /// could not be had, where other servers may still be.
    fn group(
        &self,
        group: &Group,
        cells: &[Cell],
        before: &mut Option<Theirs>,
    ) -> Result<Option<String>, Stop> {
        let mut restarts = self.plan.server.restarts;
        let mut serving: Option<Serving> = None;
        for cell in cells {
            while complete(&self.cell(cell)).is_none() {
                let server = match serving.take() {
                    Some(server) => server,
                    None => match self.begin(group, before) {
                        Err(Stop::Refused(reason)) if self.plan.server.manage => {
                            return Ok(Some(reason));
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
                    return Err(Stop::Refused(format!(
                        "{name}: {ended}; the same command goes on with it"
                    )));
                }
                restarts -= 1;
                // A load that met the end of its server says nothing about it, whatever it wrote.
                set_aside(&self.cell(cell))?;
                (self.say)(&format!("{name}: the server ended; it is started again"));
            }
        }
        Ok(None)
    }

    fn begin(&self, group: &Group, before: &mut Option<Theirs>) -> Result<Serving, Stop> {
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
            *before = Some(Theirs::at(&serving.url, group));
        }
        Ok(serving)
    }

    /// Runs a cell; gives how it ended.
    fn measure(&self, cell: &Cell, url: &str) -> Result<String, Stop> {
        let mut flags = self.plan.load.flags.clone();
        let seed = self.plan.load.seed.wrapping_add(cell.number);
        let set = [
            ("--base-url", Some(url.to_owned())),
            ("--tp", Some(cell.group.tp.to_string())),
            ("--random-input-len", Some(cell.input.to_string())),
            ("--random-output-len", Some(cell.output.to_string())),
            ("--num-prompts", Some(cell.num_prompts.to_string())),
            ("--max-concurrency", cell.concurrency.map(|n| n.to_string())),
            ("--request-rate", cell.rate.map(|rate| rate.to_string())),
            ("--seed", Some(seed.to_string())),
        ];
        for (flag, value) in set {
            flags.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value]));
        }
        let log = self.folder.join("load.log");
        let ended = attempt::measure(&self.folder, &self.cell(cell), flags, &log, self.interrupt);
        if matches!(ended, Err(Stop::Interrupted(_))) {
            (self.say)("broken off; the same command goes on with it");
        }
        match ended? {
            Ok(_) => Ok("done".to_owned()),
            // A wrong flag would fail in every cell.
            Err(Unfinished { code, last }) if code == exit::USAGE => Err(Stop::Usage(last)),
            Err(Unfinished { code, last }) if code == exit::INTERNAL => Err(anyhow!(
                "{}: {last}; the cells that are done are kept, and the same command goes on",
                cell.name
            )
            .into()),
            Err(Unfinished { code, last }) => Ok(format!("exit code {code}: {last}")),
        }
    }

    /// The cells and the commands of their servers.
    fn listed(&self, cells: &[Cell]) -> Result<String, String> {
        let mut text = String::new();
        for group in groups(cells) {
            let of_group: Vec<Cell> = (cells.iter().filter(|cell| cell.group == group))
                .cloned()
                .collect();
            let command = ServerCommand::of(&self.plan, &group, longest(&self.all, &group), None)?;
            text.push_str(&format!("{}: {}\n", group.name(), command.shown()));
            for cell in &of_group {
                let state = match (complete(&self.cell(cell)), self.never(cell)) {
                    (Some(_), _) => "done",
                    (None, Some(_)) => "does not fit",
                    (None, None) => "to do",
                };
                text.push_str(&format!("  {} {state}\n", cell.name));
            }
        }
        Ok(text)
    }
}

/// The first line in which two texts differ, from 1.
fn first_difference(one: &[u8], other: &[u8]) -> usize {
    let lines = |text: &[u8]| {
        text.split(|byte| *byte == b'\n')
            .map(<[u8]>::to_vec)
            .collect::<Vec<_>>()
    };
    let (one, other) = (lines(one), lines(other));
    let same = one
        .iter()
        .zip(&other)
        .take_while(|(one, other)| one == other);
    same.count() + 1
}
