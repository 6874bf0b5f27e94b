//! A sweep from its command line to its exit code: its cells are the steps of a run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use import::serve::{Latency, read_all};
use program::Stop;
use program::command_line::quoted;
use record::exit;
use runner::run::{Needs, Step, URL, check_servers, set_aside};
use runner::server::ServerSpec;
use view::comparison;
use view::serve::significant;
use view::{Block, Document, Item, Next, Section, Tone};

use super::cells::{Cell, Measured, curves, expand, knee, narrowed};
use super::plan::{Plan, SweepArgs};
use crate::planner::{Asker, Servers, load, shell, whole, words};

/// The plan and its cells in the sweep's folder.
const SETTINGS: &str = "settings.json";
const CELLS: &str = "cells";

/// The page with curves, in the sweep's folder.
const PAGE: &str = "sweep.html";

/// Curves whose knee stands in the answer, and rows that a screen shows without details.
const KNEES: usize = 3;
const ROWS: usize = 16;

/// A cell with the exit code of its load, or why it has none.
type Ended<'a> = (&'a Cell, Result<u8, String>);

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
    let mut run = asker.open(folder, ("a sweep", SETTINGS), plan)?;
    let is_failed = |step: &&Step| step.done(folder).is_some_and(|code| code != exit::DONE);
    for step in steps.iter().filter(is_failed).filter(|_| redo) {
        let kept = set_aside(&folder.join(&step.name))?.unwrap_or_default();
        let kept = kept.display();
        (asker.say)(&format!("{}: measured again; kept as {kept}", step.name));
    }
    check_servers(steps, folder)?;
    run.expect(steps);
    let ends = asker.tried(&mut run, steps, &mut Servers::default())?;
    let ended = cells.iter().zip(steps).zip(ends);
    let ended: Vec<Ended<'_>> = ended
        .map(|((cell, step), end)| {
            // What was measured before its server went down is there.
            let code = end.map(|end| end.code);
            (cell, code.or_else(|lost| step.done(folder).ok_or(lost)))
        })
        .collect();
    let done = ended.iter().filter(|(_, end)| end.is_ok());
    let results = done.filter_map(|(cell, _)| {
        let read = read_all(&folder.join(CELLS).join(&cell.name));
        Some((*cell, read.ok()?.pop()?))
    });
    let results: Vec<Measured<'_>> = results.collect();
    let whole = whole(ended.iter().all(|(_, end)| *end == Ok(exit::DONE)));
    let document = swept(&ended, &results, folder);
    Ok(exit::fold([asker.deliver(&document, folder, PAGE), whole]))
}

/// The load of a cell on its server.
fn step(plan: &Plan, cell: &Cell, server: Needs) -> Step {
    let seed = plan.load.seed.map(|seed| seed.wrapping_add(cell.number));
    let tp = Some(cell.tp).filter(|tp| *tp > 0);
    let mut arguments = plan.load.flags.clone();
    arguments.extend(words([
        ("--base-url", Some(URL.to_owned())),
        ("--tp", tp.map(|tp| tp.to_string())),
        ("--random-input-len", Some(cell.input.to_string())),
        ("--random-output-len", Some(cell.output.to_string())),
        ("--num-prompts", Some(cell.num_prompts.to_string())),
        ("--max-concurrency", cell.concurrency.map(|n| n.to_string())),
        ("--request-rate", cell.rate.map(|rate| rate.to_string())),
        ("--seed", seed.map(|seed| seed.to_string())),
    ]));
    let requests = cell.num_prompts;
    let waves = requests.div_ceil(cell.concurrency.unwrap_or(requests));
    let arriving = cell.rate.map_or(0.0, |rate| f64::from(requests) / rate);
    let seconds = arriving + f64::from(waves) * f64::from(cell.output) * TOKEN_S;
    let named = (
        format!("{CELLS}/{}", cell.name),
        format!("{requests} requests"),
    );
    load(named, arguments, Some(server), seconds)
}

/// The server of a cell: started with what the longest of all its cells needs, whatever was narrowed, or the one that runs.
fn server(plan: &Plan, all: &[Cell], cell: &Cell, folder: &Path) -> Needs {
    let (server, name) = (&plan.server, cell.server.clone());
    let url = server.base_url.as_deref();
    let url = url.map(|url| url.trim_end_matches('/'));
    if let Some(url) = url.filter(|_| !server.manage) {
        let url = url.to_owned();
        return Needs::Running { url, what: name };
    }
    let of_server = all.iter().filter(|cell| cell.server == name);
    let longest = of_server.map(|cell| cell.input.saturating_add(cell.output));
    let max_len = longest.max().unwrap_or(0).saturating_add(server.slack);
    let path = plan.paths.get(&cell.model).unwrap_or(&cell.model);
    let gpus = plan.gpus.get(&cell.config).map_or("", String::as_str);
    let filled = |word: &String| {
        word.replace("{path}", path)
            .replace("{model}", &cell.model)
            .replace("{tp}", &cell.tp.to_string())
            .replace("{gpus}", gpus)
            .replace("{max_len}", &max_len.to_string())
    };
    let variables = server.env.iter();
    Needs::Started(ServerSpec {
        words: server.command.iter().map(filled).collect(),
        environment: variables
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
    let command = |(cell, step): (&Cell, &Step)| {
        let words = match step.needs.as_ref()? {
            Needs::Running { url, .. } => url.clone(),
            Needs::Started(spec) => {
                let variables = spec.environment.iter();
                let variables = variables
                    .map(|(name, value)| format!("{}={} ", name.to_string_lossy(), quoted(value)));
                variables.collect::<String>() + &shell(&spec.words)
            }
        };
        Some(format!("{}: {words}", cell.server))
    };
    let mut commands: Vec<String> = cells.iter().zip(steps).filter_map(command).collect();
    commands.dedup();
    let states = cells.iter().zip(steps).map(|(cell, step)| {
        let is_done = step.done(folder).is_some();
        format!("{}: {}", cell.name, if is_done { "done" } else { "to do" })
    });
    let (count, all) = (commands.len(), cells.len());
    Document {
        title: "Plan of a sweep".to_owned(),
        answer: vec![format!("{count} servers, {all} cells; nothing was run.")],
        sections: vec![
            Section::new("Servers", vec![Block::Code(commands)]),
            Section::new("Cells", vec![Block::list(states)]),
        ],
        ..Document::default()
    }
}

/// The document of a sweep whose cells ended so and measured this.
fn swept(ended: &[Ended<'_>], results: &[Measured<'_>], folder: &Path) -> Document {
    let failed = |(_, end): &&Ended<'_>| end.as_ref().is_ok_and(|code| *code != exit::DONE);
    let failed = ended.iter().filter(failed);
    let failed: Vec<String> = failed.map(|(cell, _)| cell.name.clone()).collect();
    let labelled = results.iter();
    let labelled = labelled.map(|(cell, one)| (cell.label(), one.clone()));
    let mut document = view::serve::results(&labelled.collect::<Vec<_>>(), &[]);
    let lost = |(cell, end): &'_ Ended<'_>| Some((cell.server.clone(), end.clone().err()?));
    let lost: Vec<(String, String)> = ended.iter().filter_map(lost).collect();
    let left = lost.chunk_by(|one, other| one.0 == other.0).map(|cells| {
        let ((server, reason), left) = (&cells[0], cells.len());
        let text = format!("{server}: {left} cells left: {reason}");
        Item::of(Tone::Bad, text).coded("server-not-started")
    });
    let doubted = (!failed.is_empty()).then(|| {
        let text = format!("Not to be relied on: {}", comparison::listed(&failed, ", "));
        Item::of(Tone::Warning, text).coded("cell-failed")
    });
    document.findings.splice(0..0, left.chain(doubted));
    document.title = "Sweep".to_owned();
    let done = ended.iter().filter(|(_, end)| end.is_ok()).count();
    document.tone = match (document.findings.is_empty(), done == ended.len()) {
        (true, true) => Tone::Good,
        (_, true) => Tone::Warning,
        (_, false) => Tone::Bad,
    };
    let (folder, of) = (folder.display(), ended.len());
    document.answer = vec![format!("{done} of {of} cells are done: {folder}")];
    let curves = curves(results);
    let knees = curves.iter().filter_map(|curve| at_knee(curve));
    document.answer.extend(knees.take(KNEES));
    if document.answer.len() == 1 {
        let none = "No knee: it takes three loads of one length, with latencies.";
        document.answer.push(none.to_owned());
    }
    let mut further = document.sections[0].blocks.split_off(1);
    if let Some(Block::Table(means)) = document.sections[0].blocks.first_mut() {
        let mut rest = means.clone();
        rest.rows = means.rows.split_off(ROWS.min(means.rows.len()));
        further.insert(0, Block::Table(rest));
    }
    let further = Section::detail("Curves and further cells", further);
    document.sections.insert(1, further);
    document.next = vec![Next::plain(match (failed.is_empty(), lost.is_empty()) {
        (false, _) => {
            "run the same command with --redo: it measures failed cells again.".to_owned()
        }
        (_, false) => "run the same command again: it resumes with what is left.".to_owned(),
        _ => format!("the page with curves is {folder}/{PAGE}."),
    })];
    document
}

/// Where the knee of a curve is.
fn at_knee(curve: &[&Measured<'_>]) -> Option<String> {
    let at = knee(curve)?;
    let (cell, one) = curve[at];
    let load = view::serve::arrivals(&one.run).replacen("up to ", "", 1);
    let of = cell
        .label()
        .map_or_else(String::new, |_| format!("{}, ", cell.server));
    if at + 1 == curve.len() {
        return Some(format!("{of}{} in: no knee up to {load}.", cell.input));
    }
    let mean = |latency| significant(one.spread(latency).map_or(f64::NAN, |of| of.mean));
    Some(format!(
        "{of}{} in: knee at {load}: {} tok/s, TTFT {} ms, TPOT {} ms.",
        cell.input,
        significant(one.output_tokens_per_s()?),
        mean(Latency::Ttft),
        mean(Latency::Tpot)
    ))
}
