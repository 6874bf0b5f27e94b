//! `serve-bench study` and `demo`: runs the other programs one after the other, with files between them, and explains.
//!
//! Each step writes a folder of its own. A step whose folder holds a complete record is not done again; one that was broken off
//! is set aside under another name and done again. Nothing is measured in this process.

mod args;
mod child;
mod engines;
pub(crate) mod server;
mod settings;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, anyhow};
use measure::exit;
use measure::record::{Payload, Record, Status, load};
use program::{Stop, result_folder};
use supervisor::Interrupt;

use self::child::Ended;
use self::engines::ServerCommand;
use self::server::{Failed, Server};
use self::settings::Settings;
use crate::explain::{self, EngineFlags, Sources};

pub(crate) use self::args::{DEMO_SAYS, DemoArgs, StudyArgs};

/// Runs a study, or goes on with one, and gives the exit code.
///
/// # Errors
/// What ended it; what was measured is in its folder.
pub(crate) fn run(
    args: &StudyArgs,
    note: Option<&str>,
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
) -> Result<u8, Stop> {
    let settings = args.settings().map_err(Stop::Usage)?;
    let folder = args
        .out
        .clone()
        .unwrap_or_else(|| result_folder(None, "study"));
    let study = Study::new(args, settings, folder.clone(), interrupt, say)?;
    if study.settings.keep(&folder).map_err(Stop::Usage)? {
        say(&format!("going on with the study in {}", folder.display()));
    }
    if let Some(note) = note {
        say(note);
    }
    let code = study.all(note);
    if matches!(code, Err(Stop::Interrupted(_))) {
        let program = std::env::args().next().unwrap_or_default();
        say(&format!(
            "broken off; `{program} study --out {}` with the same settings goes on",
            folder.display()
        ));
    }
    code
}

/// Seed of the prompts: the same prompts for every size, each server being started afresh.
const SEED: &str = "1";

struct Study<'a> {
    args: &'a StudyArgs,
    settings: Settings,
    command: Option<ServerCommand>,
    /// Token ids that the model has.
    vocab: u32,
    folder: PathBuf,
    interrupt: &'a Interrupt,
    say: &'a dyn Fn(&str),
}

/// A step of a study and what came out.
struct Step {
    /// Its folder.
    folder: PathBuf,
    /// Its exit code.
    code: u8,
}

impl<'a> Study<'a> {
    fn new(
        args: &'a StudyArgs,
        settings: Settings,
        folder: PathBuf,
        interrupt: &'a Interrupt,
        say: &'a dyn Fn(&str),
    ) -> Result<Self, Stop> {
        let words = match (&settings.sim, settings.server.is_empty()) {
            (Some(sim), true) if settings.base_url.is_empty() => embedded(sim, &settings.model)?,
            _ => settings.server.clone(),
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
            vocab: model.vocab,
            settings,
            command,
            folder,
            interrupt,
            say,
        })
    }

    fn all(&self, note: Option<&str>) -> Result<u8, Stop> {
        let begun = Instant::now();
        let mut codes = Vec::new();
        let links = self.links()?;
        codes.push(links.code);
        let mut collectives = Vec::new();
        for tp in self.settings.tp.iter().filter(|tp| **tp > 1) {
            let step = self.collectives(*tp)?;
            codes.push(step.code);
            collectives.push(step.folder);
        }
        let mut serving = Vec::new();
        for tp in &self.settings.tp {
            let step = self.serving(*tp)?;
            codes.push(step.code);
            serving.push((*tp, step.folder));
        }
        let sources = Sources {
            model: self.settings.model.clone(),
            serving,
            collectives,
            links: Some(links.folder),
            box_name: None,
            engine: self.engine_flags(),
            note: note.map(str::to_owned),
        };
        codes.push(explain::explain(
            &sources,
            &explain::Wanted::all_in(&self.folder),
            &[],
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
        let devices = self.devices(self.largest())?;
        self.step("links", "p2p-bw", "links between host and devices", |_| {
            Ok(self.on_box(words(&["--gpus", &devices])))
        })
    }

    fn collectives(&self, tp: u32) -> Result<Step, Stop> {
        let devices = self.devices(tp as usize)?;
        let (size, batches) = (tp.to_string(), batches(self.settings.concurrency));
        let name = format!("allreduce-tp{tp}");
        self.step(
            &name,
            "allreduce-bench",
            "collectives at the sizes that the model sends",
            |_| {
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
                let engine = self.engine_flags();
                if engine.eager {
                    arguments.push("--eager".to_owned());
                }
                if engine.sglang {
                    arguments.extend(words(&["--engine", "sglang"]));
                }
                Ok(self.on_box(arguments))
            },
        )
    }

    fn serving(&self, tp: u32) -> Result<Step, Stop> {
        let name = format!("serve-tp{tp}");
        let mut running = None;
        let step = self.step(
            &name,
            "serve-bench",
            &format!("load on the server with {tp} GPU(s)"),
            |study| {
                let (server, url) = study.server(tp)?;
                running = server;
                let settings = &study.settings;
                Ok(words(&[
                    "run",
                    "--base-url",
                    &url,
                    "--tp",
                    &tp.to_string(),
                    "--concurrency",
                    &settings.concurrency.to_string(),
                    "--requests",
                    &settings.requests.to_string(),
                    "--input-tokens",
                    &settings.input_tokens.to_string(),
                    "--output-tokens",
                    &settings.output_tokens.to_string(),
                    "--prompt",
                    "token-ids",
                    "--vocab",
                    &study.vocab.to_string(),
                    "--seed",
                    SEED,
                ]))
            },
        );
        if let Some(server) = running {
            server.end();
        }
        step
    }

    /// Starts the server for a size, or finds the one that the user runs.
    fn server(&self, tp: u32) -> Result<(Option<Server>, String), Stop> {
        let Some(command) = &self.command else {
            let url = self.args.url(tp).unwrap_or_default().to_owned();
            if !server::answers(&url)? {
                return Err(Stop::Refused(format!(
                    "no server answers at {url}/health; start the one for {tp} GPU(s), then start this study again"
                )));
            }
            return Ok((None, url));
        };
        let port = match command.port() {
            Some(port) => port,
            None if command.takes_a_port() => server::free_port()?,
            None => {
                return Err(Stop::Usage(
                    "on which port the server listens is not known: write --port N or {port} in its command, or run it yourself and give --base-url".to_owned(),
                ));
            }
        };
        let url = format!("http://127.0.0.1:{port}");
        if server::answers(&url)? {
            return Err(Stop::Refused(format!(
                "something answers at {url} already; end it, or give --base-url to measure it"
            )));
        }
        let words = command.for_size(tp, port);
        (self.say)(&format!("  starting: {}", words.join(" ")));
        let begun = Instant::now();
        let started = Server::start(
            &format!("server tp{tp}"),
            &words,
            self.environment(tp)?,
            &url,
            &self.folder.join(format!("server-tp{tp}.log")),
            self.args.ready_timeout,
            self.interrupt,
        );
        match started {
            Ok(server) => {
                (self.say)(&format!(
                    "  it answers after {:.1} s",
                    begun.elapsed().as_secs_f64()
                ));
                Ok((Some(server), url))
            }
            Err(Failed::Interrupted(signal)) => Err(Stop::Interrupted(signal)),
            Err(Failed::Reason(error)) => Err(Stop::Refused(format!("{error:#}"))),
        }
    }

    /// What a server sees of the devices: those of its size, where they were named by number.
    fn environment(&self, tp: u32) -> Result<Vec<(OsString, OsString)>, Stop> {
        const VARIABLE: &str = "CUDA_VISIBLE_DEVICES";
        let named = self.settings.gpus.is_some() && self.settings.sim.is_none();
        if !named || std::env::var_os(VARIABLE).is_some() {
            return Ok(Vec::new());
        }
        let devices = self.devices(tp as usize)?;
        let numbers = devices.split(',').all(|name| name.parse::<u32>().is_ok());
        Ok(if numbers {
            vec![(VARIABLE.into(), devices.into())]
        } else {
            Vec::new()
        })
    }

    fn engine_flags(&self) -> EngineFlags {
        let command = self.command.as_ref();
        let number = |flags: &[&str]| {
            command.and_then(|command| flags.iter().find_map(|flag| command.number(flag)))
        };
        EngineFlags {
            sglang: command.is_some_and(ServerCommand::is_sglang),
            eager: command.is_some_and(ServerCommand::is_eager),
            max_num_seqs: number(&["--max-num-seqs", "--max-running-requests"]),
            max_batched_tokens: number(&["--max-num-batched-tokens", "--chunked-prefill-size"]),
        }
    }

    /// Does a step, where its folder does not hold a complete record already.
    fn step(
        &self,
        name: &str,
        program: &str,
        about: &str,
        arguments: impl FnOnce(&Self) -> Result<Vec<String>, Stop>,
    ) -> Result<Step, Stop> {
        let folder = self.folder.join(name);
        if let Some(record) = complete(&folder) {
            (self.say)(&format!("{name}: measured before, in {}", folder.display()));
            return Ok(Step {
                folder,
                code: record.exit_code,
            });
        }
        set_aside(&folder)?;
        (self.say)(&format!("{name}: {about}"));
        let begun = Instant::now();
        let file = child::beside(program).map_err(Stop::Usage)?;
        let mut arguments = arguments(self)?;
        arguments.extend(["--out".to_owned(), folder.display().to_string()]);
        let log = self.folder.join(format!("{name}.log"));
        match child::run(name, &file, &arguments, &log, self.interrupt)? {
            Ended::Interrupted(signal) => Err(Stop::Interrupted(signal)),
            Ended::Exit { code, last } => {
                let Some(_) = complete(&folder) else {
                    let reason = format!(
                        "{program} ended with exit code {code}: {last} (all of it is in {})",
                        log.display()
                    );
                    return Err(match code {
                        exit::USAGE => Stop::Usage(reason),
                        exit::INCONCLUSIVE => Stop::Refused(reason),
                        _ => Stop::Internal(anyhow!(reason)),
                    });
                };
                let seconds = begun.elapsed().as_secs_f64();
                let ending = if code == exit::DONE {
                    String::new()
                } else {
                    format!(", exit code {code}: {last}")
                };
                (self.say)(&format!("{name}: done in {seconds:.1} s{ending}"));
                Ok(Step { folder, code })
            }
        }
    }
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
fn embedded(sim: &str, model: &str) -> Result<Vec<String>, Stop> {
    let own = std::env::current_exe().context("finding this program's own file")?;
    Ok(words(&[
        &own.display().to_string(),
        "engine",
        "--box",
        sim,
        "--model",
        model,
    ]))
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| (*word).to_owned()).collect()
}

/// The record of a step that ran to its end.
fn complete(folder: &Path) -> Option<Record> {
    let record = load(folder).ok()?;
    let has_summary = match &record.payload {
        Payload::Serve(serve) => serve.summary.is_some(),
        Payload::Links(_) | Payload::Collectives(_) => true,
    };
    (record.status == Status::Complete && has_summary).then_some(record)
}

/// Gives what a broken step left another name, so that it is kept and the step can be done again.
fn set_aside(folder: &Path) -> Result<(), Stop> {
    if !folder.exists() {
        return Ok(());
    }
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let free = (1..)
        .map(|number| folder.with_file_name(format!("{name}.broken-{number}")))
        .find(|other| !other.exists());
    let other = free.unwrap_or_else(|| folder.with_extension("broken"));
    std::fs::rename(folder, &other)
        .with_context(|| format!("cannot set {} aside", folder.display()))?;
    Ok(())
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
}
