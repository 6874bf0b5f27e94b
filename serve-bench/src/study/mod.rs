//! `serve-bench study` and `demo`: runs the other programs one after the other, with files between them, and explains.
//!
//! Each step writes a folder of its own. A step whose folder holds a complete record is not done again; one that was broken off
//! is set aside under another name and done again. Nothing is measured in this process.

mod ablation;
mod args;
pub(crate) mod child;
mod demo;
pub(crate) mod descendants;
pub(crate) mod engines;
mod explained;
pub(crate) mod hold;
pub(crate) mod load_args;
mod plan;
mod ready;
pub(crate) mod room;
pub(crate) mod server;
pub(crate) mod serving;
pub(crate) mod settings;
pub(crate) mod shell;
pub(crate) mod step;
pub(crate) mod watcher;

use std::path::{Path, PathBuf};
use std::time::Instant;

use measure::exit;
use program::command_line::quoted;
use program::{Stop, outputs, result_folder};
use supervisor::Interrupt;

use self::engines::ServerCommand;
use self::settings::Settings;
use self::step::Step;
use crate::explain::{self, EngineFlags};

pub(crate) use self::args::{StudyArgs, backends};
pub(crate) use self::demo::{DemoArgs, demo};

/// Runs a study, or goes on with one, and gives the exit code.
///
/// # Errors
/// What ended it; what was measured is in its folder.
pub(crate) fn run(args: &StudyArgs, interrupt: &Interrupt, say: &dyn Fn(&str)) -> Result<u8, Stop> {
    let folder = args
        .out
        .clone()
        .unwrap_or_else(|| result_folder(None, "study"));
    if args.plan {
        let settings = args.settings().map_err(Stop::Usage)?;
        let study = Study::new(args, settings, folder, interrupt, say)?;
        return Ok(outputs::print(&study.plan()?));
    }
    let code = run_in(&folder, args, &Extras::default(), interrupt, say);
    if matches!(code, Err(Stop::Interrupted(_))) {
        tell_again(args.out.is_none().then_some(&*folder), say);
    }
    code
}

/// What a demonstration adds to a study.
#[derive(Debug, Clone, Default)]
struct Extras {
    /// What the reader must know of how the results were made.
    note: Option<String>,
    /// The words after `ablate` for sizes whose link is changed, too.
    ablations: Vec<(u32, Vec<String>)>,
    /// Whether it switched the engine's own all-reduce off, because no soft box can time it.
    off_by_us: bool,
}

/// Runs a study in its folder, or goes on with the one that is there.
fn run_in(
    folder: &Path,
    args: &StudyArgs,
    extras: &Extras,
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
) -> Result<u8, Stop> {
    let settings = args.settings().map_err(Stop::Usage)?;
    let study = Study::new(args, settings, folder.to_owned(), interrupt, say)?;
    study.ask_servers()?;
    study.check_machine()?;
    // What is known before anything is measured.
    study.fitting()?;
    let goes_on = study.settings.keep(folder)?;
    let _held = hold::held(folder, settings::FILE, interrupt, say)?;
    if goes_on {
        say(&format!("going on with the study in {}", folder.display()));
    }
    if let Some(note) = &extras.note {
        say(note);
    }
    study.all(extras)
}

/// Says by which command what was broken off goes on; `folder` where the command line does not name it.
fn tell_again(folder: Option<&Path>, say: &dyn Fn(&str)) {
    say(&format!(
        "broken off; this goes on with it:\n  {}",
        again(own_words(), folder)
    ));
}

/// The words of this program's command line.
fn own_words() -> Vec<String> {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    words.collect()
}

/// The command line that goes on with a study, for pasting into a shell; `folder` where the words do not name it.
pub(crate) fn again(mut words: Vec<String>, folder: Option<&Path>) -> String {
    if let Some(folder) = folder {
        // What follows `--` belongs to the server.
        let end = words.iter().position(|word| word == "--");
        let end = end.unwrap_or(words.len());
        let out = ["--out".to_owned(), folder.display().to_string()];
        words.splice(end..end, out);
    }
    let words: Vec<String> = words.iter().map(|word| quoted(word.as_ref())).collect();
    words.join(" ")
}

/// The folder of a study's links.
const LINKS: &str = "links";

/// What the first steps are, in words.
const ABOUT_LINKS: &str = "links between host and devices";
const ABOUT_COLLECTIVES: &str = "collectives at the sizes that the model sends";

/// The folder of a size's collectives.
fn allreduce(tp: u32) -> String {
    format!("allreduce-tp{tp}")
}

struct Study<'a> {
    args: &'a StudyArgs,
    settings: Settings,
    command: Option<ServerCommand>,
    model: tp_plan::ModelFacts,
    folder: PathBuf,
    interrupt: &'a Interrupt,
    say: &'a dyn Fn(&str),
}

impl<'a> Study<'a> {
    fn new(
        args: &'a StudyArgs,
        settings: Settings,
        folder: PathBuf,
        interrupt: &'a Interrupt,
        say: &'a dyn Fn(&str),
    ) -> Result<Self, Stop> {
        let words = match (&settings.sim, args.server.is_empty()) {
            (Some(sim), true) if settings.base_url.is_empty() => embedded(sim, &settings.model)?,
            _ => args.server.clone(),
        };
        let command = if settings.base_url.is_empty() {
            Some(ServerCommand::new(words, &settings.tp).map_err(Stop::Usage)?)
        } else {
            None
        };
        let model = tp_plan::ModelFacts::resolve(&settings.model)
            .map_err(|error| Stop::Usage(format!("--model: {error}")))?;
        for tp in &settings.tp {
            model
                .check_tp(*tp)
                .map_err(|error| Stop::Usage(format!("--tp: {error}")))?;
        }
        Ok(Self {
            args,
            model,
            settings,
            command,
            folder,
            interrupt,
            say,
        })
    }

    /// Asks the servers that the user runs, and for the port of those that are started, before anything is measured.
    ///
    /// The one that is measured first must be there; a later one may not have room beside it yet.
    fn ask_servers(&self) -> Result<(), Stop> {
        let is_done = |tp: &u32| step::complete(&self.folder.join(serving::serve(*tp))).is_some();
        let port = self.command.as_ref().and_then(ServerCommand::port);
        if let Some(port) = port.filter(|_| !self.settings.tp.iter().all(is_done)) {
            server::check_port(port).map_err(Stop::Usage)?;
        }
        let mut is_first = true;
        for tp in &self.settings.tp {
            let Some(url) = self.args.url(*tp).filter(|_| !is_done(tp)) else {
                continue;
            };
            if !server::answers(url)? {
                if is_first {
                    return Err(no_answer(url, *tp));
                }
                (self.say)(&format!(
                    "no server answers at {url}/health yet: before the load on {tp} GPU(s) this study will stop, to go on when started again"
                ));
            }
            is_first = false;
        }
        Ok(())
    }

    fn all(&self, extras: &Extras) -> Result<u8, Stop> {
        let begun = Instant::now();
        let mut codes = Vec::new();
        let links = self.links()?;
        codes.push(links.code);
        let sizes = self.fitting()?;
        sizes.remarks().for_each(|line| (self.say)(&line));
        let mut collectives = Vec::new();
        for tp in sizes.fit.iter().filter(|tp| **tp > 1) {
            let step = self.collectives(*tp)?;
            codes.push(step.code);
            collectives.push((*tp, step.folder));
        }
        let mut serving = Vec::new();
        for tp in &sizes.fit {
            let step = self.serving(*tp)?;
            codes.push(step.code);
            serving.push((*tp, step.folder));
        }
        for (tp, words) in &extras.ablations {
            codes.push(self.ablate(*tp, words)?);
        }
        codes.push(explain::of_study(
            &self.sizes(&links.folder, &collectives, &serving, &sizes, extras),
            &self.folder,
            self.say,
        )?);
        (self.say)(&format!(
            "study: {} s in all; everything is in {}, the page is {}",
            begun.elapsed().as_secs(),
            self.folder.display(),
            self.folder.join(explain::PAGE).display()
        ));
        Ok(exit::fold(codes))
    }

    /// The number of devices that the largest size needs.
    fn largest(&self) -> usize {
        self.settings.tp.last().copied().unwrap_or(1) as usize
    }

    /// Devices for a size: the first of `--gpus`, or of the machine.
    fn devices(&self, tp: usize) -> Result<String, Stop> {
        match &self.settings.gpus {
            None => Ok((0..tp)
                .map(|index| index.to_string())
                .collect::<Vec<_>>()
                .join(",")),
            Some(list) => {
                let names: Vec<&str> = list.split(',').map(str::trim).collect();
                if names.len() < tp {
                    return Err(Stop::Usage(format!(
                        "--gpus {list} names {} device(s) and --tp {tp} needs {tp}",
                        names.len()
                    )));
                }
                Ok(names[..tp].join(","))
            }
        }
    }

    fn on_box(&self, mut arguments: Vec<String>) -> Vec<String> {
        match &self.settings.sim {
            Some(sim) => arguments.extend(["--sim".to_owned(), sim.clone()]),
            None => arguments.extend(["--backend".to_owned(), self.settings.backend.clone()]),
        }
        arguments
    }

    fn links(&self) -> Result<Step, Stop> {
        self.step(LINKS, "p2p-bw", ABOUT_LINKS, Self::links_words)
    }

    /// The words after `p2p-bw`.
    fn links_words(&self) -> Result<Vec<String>, Stop> {
        let devices = self.devices(self.largest())?;
        Ok(self.on_box(words(&["--gpus", &devices])))
    }

    fn collectives(&self, tp: u32) -> Result<Step, Stop> {
        self.step(
            &allreduce(tp),
            "allreduce-bench",
            ABOUT_COLLECTIVES,
            |study| study.collectives_words(tp),
        )
    }

    /// The words after `allreduce-bench`.
    fn collectives_words(&self, tp: u32) -> Result<Vec<String>, Stop> {
        let devices = self.devices(tp as usize)?;
        let (size, batches) = (tp.to_string(), batches(self.settings.concurrency));
        let mut arguments = words(&[
            "--gpus",
            &devices,
            "--model",
            &self.settings.model,
            "--tp",
            &size,
            "--batches",
            &batches,
        ]);
        let budget = self.args.budget.as_secs_f64().to_string();
        arguments.extend(words(&["--budget", &budget]));
        let engine = self.engine_flags();
        if engine.eager {
            arguments.push("--eager".to_owned());
        }
        if engine.sglang {
            arguments.extend(words(&["--engine", "sglang"]));
        }
        Ok(self.on_box(arguments))
    }

    fn engine_flags(&self) -> EngineFlags {
        self.command
            .as_ref()
            .map(ServerCommand::flags)
            .unwrap_or_default()
    }
}

/// Nobody is there where the user runs a server.
fn no_answer(url: &str, tp: u32) -> Stop {
    Stop::Refused(format!(
        "no server answers at {url}/health; start the one for {tp} GPU(s), then start this study again"
    ))
}

/// Batches whose message sizes are measured: powers of two on both sides of the one that is served, so that there is a curve.
fn batches(concurrency: u32) -> String {
    let most = concurrency.saturating_mul(2).max(64);
    let mut batches: Vec<u32> = std::iter::successors(Some(1u32), |batch| batch.checked_mul(2))
        .take_while(|batch| *batch <= most)
        .chain([concurrency])
        .collect();
    batches.sort_unstable();
    batches.dedup();
    let words: Vec<String> = batches.iter().map(u32::to_string).collect();
    words.join(",")
}

/// The embedded engine on a soft box, as a server command.
pub(crate) fn embedded(sim: &str, model: &str) -> Result<Vec<String>, Stop> {
    let own = child::beside("serve-bench").map_err(Stop::Usage)?;
    Ok(words(&[
        &own.display().to_string(),
        "engine",
        "--box",
        sim,
        "--model",
        model,
    ]))
}
pub(crate) fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| (*word).to_owned()).collect()
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_batch_that_is_served_is_among_those_that_are_measured() {
        assert_eq!(batches(16), "1,2,4,8,16,32,64");
        // Twice 100 is 200; powers of two up to it, and 100 itself.
        assert_eq!(batches(100), "1,2,4,8,16,32,64,100,128");
    }

    #[test]
    fn the_command_that_goes_on_can_be_pasted() {
        let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(
            again(
                words(&["p", "study", "--", "vllm", "serve", "it's m"]),
                Some(Path::new("a b"))
            ),
            r"p study --out 'a b' -- vllm serve 'it'\''s m'"
        );
        assert_eq!(
            again(words(&["p", "demo"]), Some(Path::new("r/s"))),
            "p demo --out r/s"
        );
        assert_eq!(
            again(words(&["p", "study", "--out", "x", ""]), None),
            "p study --out x ''"
        );
    }
}
