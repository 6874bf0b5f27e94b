//! [`Run`]: the one executor of resumable runs.
//!
//! A planner (study, ablation, sweep) describes steps; the executor does those that are not done, one after the other, starts the
//! server that they need once, and keeps what was broken off. It measures nothing and writes no result of its own.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use record::{private, redacted_arguments};
use serde::Serialize;

use super::error::RunError;
use super::lock::hold_folder;
use super::progress::{Progress, Tell};
use super::settings;
use super::step::{Leaves, Needs, Step, StepEnd, check_running, set_aside};
use crate::child::{self, Ended, Program};
use crate::interrupt::Interrupt;
use crate::server::{Server, ServerSpec};

/// A folder with its run: locked against other runs, with the settings that it was begun with.
pub struct Run<'a> {
    folder: PathBuf,
    _held: File,
    interrupt: &'a Interrupt,
    tell: Box<Tell<'a>>,
    /// The server that runs now.
    serving: Option<(ServerSpec, Server)>,
    /// The steps of the plan by name, with the time that each takes, about, s.
    plan: Vec<(String, f64)>,
    /// What the steps that were done took, and what was expected of them, s.
    spent: (f64, f64),
}

impl<'a> Run<'a> {
    /// Begins a run of `what`, such as `a study`, in a folder, or resumes the one that is there; its settings are in `file`.
    ///
    /// Settings are compared field by field; a field that differs is named as a flag, `input_tokens` as `--input-tokens`.
    ///
    /// # Errors
    /// The folder holds other settings or something else, another run is at work in it, or it cannot be written.
    pub fn open(
        folder: &Path,
        (what, file): (&'static str, &str),
        settings: &impl Serialize,
        interrupt: &'a Interrupt,
        tell: impl Fn(&Progress<'_>) + 'a,
    ) -> Result<Self, RunError> {
        settings::check_folder(folder, file, what)?;
        let held = hold_folder(folder, interrupt, &tell)?;
        if settings::keep(settings, folder, file, what)? {
            tell(&Progress::Resumed { what, folder });
        }
        Ok(Self {
            folder: folder.to_owned(),
            _held: held,
            interrupt,
            tell: Box::new(tell),
            serving: None,
            plan: Vec::new(),
            spent: (0.0, 0.0),
        })
    }

    /// Tells which steps there are in all, for the progress.
    pub fn expect(&mut self, steps: &[Step]) {
        let seconds = |step: &Step| match step.done(&self.folder) {
            Some(_) => 0.0,
            None => step.seconds,
        };
        let plan = steps.iter().map(|step| (step.name.clone(), seconds(step)));
        self.plan = plan.collect();
    }

    /// Does steps one after the other, each where it is not done already, and ends the last server.
    ///
    /// # Errors
    /// As for [`Self::step`]; the steps after it are not begun.
    pub fn all(&mut self, steps: &[Step]) -> Result<Vec<StepEnd>, RunError> {
        let ends = steps.iter().map(|step| self.step(step)).collect();
        self.end_server();
        ends
    }

    /// Does a step, where its folder does not hold its result already.
    ///
    /// # Errors
    /// A signal came, its server does not answer, it makes no progress, or it leaves no result.
    pub fn step(&mut self, step: &Step) -> Result<StepEnd, RunError> {
        let folder = self.folder.join(&step.name);
        if let Some(code) = step.done(&self.folder) {
            (self.tell)(&Progress::Done { step: &step.name });
            return Ok(StepEnd { folder, code });
        }
        if step.leaves == Leaves::Record
            && let Some(kept) = set_aside(&folder)?
        {
            (self.tell)(&Progress::SetAside {
                step: &step.name,
                kept: &kept,
            });
        }
        self.begins(step);
        let url = self.server(step)?;
        let begun = Instant::now();
        let code = self.program(step, &folder, &url)?;
        let took = begun.elapsed().as_secs_f64();
        self.spent = (self.spent.0 + took, self.spent.1 + step.seconds);
        Ok(StepEnd { folder, code })
    }

    /// Ends the server that runs, with all it started.
    pub fn end_server(&mut self) {
        self.serving = None;
    }

    fn begins(&self, step: &Step) {
        let at = self.plan.iter().position(|(name, _)| *name == step.name);
        let ahead = &self.plan[at.unwrap_or(self.plan.len())..];
        let seconds: f64 = ahead.iter().map(|(_, seconds)| seconds).sum();
        // What this machine made of the expectation so far.
        let factor = match self.spent {
            (took, expected) if expected > 0.0 => took / expected,
            _ => 1.0,
        };
        (self.tell)(&Progress::Begins {
            step: &step.name,
            about: &step.about,
            number: at.map_or(0, |at| at + 1),
            of: self.plan.len(),
            left: Duration::try_from_secs_f64(seconds * factor).unwrap_or_default(),
        });
    }

    /// The address of the server that a step needs, which is started where it is another one than the step before had.
    fn server(&mut self, step: &Step) -> Result<String, RunError> {
        let spec = match &step.needs {
            Some(Needs::Started(spec)) => spec,
            Some(Needs::Running { url, what }) => {
                self.end_server();
                check_running(url, what)?;
                return Ok(url.clone());
            }
            None => {
                self.end_server();
                return Ok(String::new());
            }
        };
        if let Some((running, server)) = &mut self.serving
            && running == spec
            && server.exit().is_none()
        {
            return Ok(server.url().to_owned());
        }
        self.end_server();
        let port = spec.port()?;
        (self.tell)(&Progress::Starting {
            words: &redacted_arguments(spec.words_with(port)),
        });
        let begun = Instant::now();
        let server = Server::start(spec, port, self.interrupt)?;
        (self.tell)(&Progress::Answers {
            after: begun.elapsed(),
        });
        let url = server.url().to_owned();
        self.serving = Some((spec.clone(), server));
        Ok(url)
    }

    /// Runs a step's program, and gives its exit code where it left its result.
    fn program(&mut self, step: &Step, folder: &Path, url: &str) -> Result<u8, RunError> {
        let log = self.folder.join(format!("{}.log", step.name));
        let above = log.parent().unwrap_or(&self.folder);
        private::make_folders(above).map_err(|source| RunError::Io {
            what: "cannot make the folder",
            path: above.to_owned(),
            source,
        })?;
        let open = step.open_mark(&self.folder);
        let at_mark = |what: &'static str| {
            let path = open.clone();
            move |source| RunError::Io { what, path, source }
        };
        private::create(&open).map_err(at_mark("cannot write"))?;
        let begun = Instant::now();
        let program = Program {
            name: &step.name,
            command: step.command,
            arguments: &step.arguments_with(url, &self.folder),
            environment: &step.environment,
            log: &log,
            is_kept: |_| true,
            grows: &folder.join("journal.jsonl"),
            deadline: step.deadline,
        };
        let (code, last) = match child::run(&program, self.interrupt)? {
            Ended::Interrupted(signal) => return Err(RunError::Interrupted(signal)),
            Ended::Stalled(silence) => {
                let step = step.name.clone();
                return Err(RunError::Stalled { step, silence, log });
            }
            Ended::Exit { code, last } => (code, last),
        };
        if !step.has_result(folder) {
            let step = step.name.clone();
            let serving = self.serving.as_mut();
            return Err(match serving.and_then(|(_, server)| server.exit()) {
                Some(exit) => RunError::ServerGone { step, code, exit },
                None => RunError::NoResult {
                    step,
                    code,
                    last,
                    log,
                },
            });
        }
        std::fs::remove_file(&open).map_err(at_mark("cannot remove"))?;
        (self.tell)(&Progress::Ended {
            step: &step.name,
            folder,
            took: begun.elapsed(),
            code,
            last: &last,
        });
        Ok(code)
    }
}
