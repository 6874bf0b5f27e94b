//! One launch: the collectives are timed, then the server is started in the same environment, loaded and ended.
//!
//! A launch whose folder holds [`FILE`] is whole and is not done again; what a broken one left is set aside under another name.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use explain::{Launch, Range, StepFrom};
use measure::exit;
use measure::record::{redacted_arguments, write_whole};
use program::Stop;
use serde::{Deserialize, Serialize};
use supervisor::Interrupt;
use tp_plan::Execution;

use super::arm::Arm;
use super::collect::Steps;
use super::plan::Plan;
use super::table::Soft;
use super::{collect, delays, soft};
use crate::study::child::{self, Ended};
use crate::study::server::{self, Failed, Server};
use crate::study::shell::shell;
use crate::study::step;

/// What a whole launch leaves.
const FILE: &str = "launch.json";

/// Where the delay shim says how often it was called.
pub(super) const SHIM_LOG: &str = "shim.jsonl";

/// The folder of a launch, below that of the ablation.
pub(super) fn folder(number: usize, arm: &Arm) -> String {
    format!("launches/{number:03}-{}", arm.name)
}

/// What a whole launch measured, as it is kept in its folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Measured {
    /// Its place in the order of all launches.
    order: u32,
    /// Time of all collectives of a decode step over the number of its all-reduces, us; `None` for one GPU.
    pub(super) collective_us: Option<Range>,
    /// Its decode step.
    pub(super) steps: Steps,
    /// Its folder below that of the ablation.
    pub(super) folder: String,
    /// Of a soft box: by how much a mean step was played longer than it is, ms.
    #[serde(default)]
    pub(super) late_ms: Option<f64>,
    /// Of a soft box: why the load generator was the limit.
    #[serde(default)]
    pub(super) limited: Option<String>,
}

impl Measured {
    /// As an ablation keeps it, its step by one metric; `None` where it does not show that.
    pub(super) fn by(&self, metric: StepFrom) -> Option<Launch> {
        let step = self.steps.by(metric)?;
        Some(Launch {
            order: self.order,
            collective_us: self.collective_us,
            step_ms: step.ms,
            steps: step.n,
            folder: Some(self.folder.clone()),
            late_ms: self.late_ms,
            limited: self.limited.clone(),
        })
    }
}

/// A whole launch that was kept in a folder.
pub(super) fn kept(folder: &Path) -> Option<Measured> {
    let text = bounded::text(&folder.join(FILE), bounded::RESULT).ok()?;
    serde_json::from_str(&text).ok()
}

/// What launches are done with.
pub(super) struct Launcher<'a> {
    pub(super) plan: &'a Plan<'a>,
    /// The ablation's folder.
    pub(super) above: &'a Path,
    pub(super) interrupt: &'a Interrupt,
    pub(super) say: &'a dyn Fn(&str),
}

/// The box files of a launch on a soft box.
struct Boxes {
    bench: PathBuf,
    engine: PathBuf,
}

impl Launcher<'_> {
    /// Does a launch and keeps it; the inner error is why this launch says nothing.
    ///
    /// # Errors
    /// A signal came, or the disk or this program failed.
    pub(super) fn launch(
        &self,
        number: usize,
        arm: &Arm,
    ) -> Result<Result<Measured, String>, Stop> {
        let name = folder(number, arm);
        let folder = self.above.join(&name);
        step::set_aside(&folder)?;
        measure::private::make_folders(&folder)
            .map_err(|error| anyhow!("cannot make the folder {}: {error}", folder.display()))?;
        let order = u32::try_from(number).unwrap_or(u32::MAX);
        let boxes = self.boxes(arm, order, &folder)?;
        let environment: Vec<(OsString, OsString)> = self
            .plan
            .environment(arm, &folder)
            .map_err(Stop::Usage)?
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();

        let mut collective_us = None;
        if arm.tp > 1 {
            match self.collectives(arm, &folder, boxes.as_ref(), &environment)? {
                Ok(range) => collective_us = Some(range),
                Err(reason) => return Ok(Err(reason)),
            }
        }
        let served = self.serve(arm, &folder, boxes.as_ref(), environment)?;
        let out = folder.join("serve");
        let machine = match served.and_then(|()| collect::machine(&out)) {
            Ok(machine) => machine,
            Err(reason) => return Ok(Err(reason)),
        };
        // No step of a soft box is a measurement: a launch that a busy machine played is kept, marked, and left out of the line.
        if let (Some(reason), None) = (&machine.limited, &self.plan.place.soft) {
            return Ok(Err(reason.clone()));
        }
        let steps = match collect::steps(&out, boxes.is_some()) {
            Ok(steps) => steps,
            Err(reason) => return Ok(Err(reason)),
        };
        let measured = Measured {
            order,
            collective_us,
            steps,
            folder: name,
            late_ms: machine.late_ms,
            limited: machine.limited,
        };
        let text = serde_json::to_string_pretty(&measured).map_err(anyhow::Error::from)?;
        write_whole(&folder.join(FILE), (text + "\n").as_bytes()).map_err(anyhow::Error::from)?;
        Ok(Ok(measured))
    }

    /// Writes the boxes of a launch: that of the benchmark, whose library is told of limits by variables, and that of the engine.
    fn boxes(&self, arm: &Arm, order: u32, folder: &Path) -> Result<Option<Boxes>, Stop> {
        let Some(described) = &self.plan.place.soft else {
            return Ok(None);
        };
        let bench = soft::delayed(described, arm.delay_us.unwrap_or(0), order);
        let engine = match arm.row.soft {
            Soft::Limited(limits) => soft::limited(&bench, &limits()),
            Soft::Not(_) => bench.clone(),
        };
        let write = |name: &str, described: &boxfile::BoxFile| -> Result<PathBuf, Stop> {
            let file = folder.join(name);
            let text = described.to_toml().map_err(anyhow::Error::from)?;
            write_whole(&file, text.as_bytes()).map_err(anyhow::Error::from)?;
            Ok(file)
        };
        Ok(Some(Boxes {
            bench: write("bench-box.toml", &bench)?,
            engine: write("engine-box.toml", &engine)?,
        }))
    }

    fn collectives(
        &self,
        arm: &Arm,
        folder: &Path,
        boxes: Option<&Boxes>,
        environment: &[(OsString, OsString)],
    ) -> Result<Result<Range, String>, Stop> {
        let out = folder.join("allreduce");
        let mut arguments = self.plan.bench(arm, boxes.map(|boxes| &*boxes.bench));
        arguments.extend(["--out".to_owned(), out.display().to_string()]);
        let bench = child::beside("allreduce-bench").map_err(Stop::Usage)?;
        let (program, arguments) = bound(arm, &bench, arguments);
        let log = folder.join("allreduce.log");
        let ended = child::run(
            "allreduce-bench",
            &program,
            &arguments,
            environment.to_vec(),
            &log,
            |_| true,
            self.interrupt,
        )?;
        match ended {
            Ended::Interrupted(signal) => Err(Stop::Interrupted(signal)),
            Ended::Exit { code, last } if step::complete(&out).is_none() => Ok(Err(format!(
                "allreduce-bench ended with exit code {code}: {last}"
            ))),
            Ended::Exit {
                code: exit::WRONG_DATA,
                last,
            } => Ok(Err(format!("allreduce-bench found wrong data: {last}"))),
            Ended::Exit { .. } => {
                let step = self.plan.planned(arm);
                Ok(collect::collective_us(&out, &step, self.plan.mode.mode()))
            }
        }
    }

    fn serve(
        &self,
        arm: &Arm,
        folder: &Path,
        boxes: Option<&Boxes>,
        environment: Vec<(OsString, OsString)>,
    ) -> Result<Result<(), String>, Stop> {
        let port = match self
            .plan
            .command
            .as_ref()
            .and_then(|command| command.port())
        {
            Some(port) => port,
            None => server::free_port()?,
        };
        let url = format!("http://127.0.0.1:{port}");
        if server::answers(&url)? {
            return Err(Stop::Refused(format!(
                "something answers at {url} already; end it, then start this again"
            )));
        }
        let words = self
            .plan
            .server(arm, port, boxes.map(|boxes| &*boxes.engine))?;
        let shown = redacted_arguments(words.iter().cloned());
        (self.say)(&format!("  starting: {}", shell(&shown)));
        // What the benchmark's processes said there is not the server's.
        let shim = folder.join(SHIM_LOG);
        if shim.exists() {
            std::fs::rename(&shim, folder.join("shim-allreduce.jsonl"))
                .map_err(|error| anyhow!("cannot rename {}: {error}", shim.display()))?;
        }
        let log = folder.join("server.log");
        let limit = self.plan.args.load.ready_timeout;
        let started = Server::start(
            "server",
            &words,
            environment,
            &url,
            &log,
            limit,
            self.interrupt,
        );
        let running = match started {
            Ok(running) => running,
            Err(Failed::Interrupted(signal)) => return Err(Stop::Interrupted(signal)),
            Err(Failed::Reason(error)) => return Ok(Err(program::outputs::told(&error))),
        };
        let out = folder.join("serve");
        let mut arguments = self.plan.load().words(&url, arm.tp);
        arguments.extend(["--out".to_owned(), out.display().to_string()]);
        let own = child::beside("serve-bench").map_err(Stop::Usage)?;
        let log = folder.join("serve.log");
        let ended = child::run(
            "serve-bench",
            &own,
            &arguments,
            Vec::new(),
            &log,
            |_| true,
            self.interrupt,
        )?;
        // Ends the server, and with it what the shim writes at its end.
        drop(running);
        match ended {
            Ended::Interrupted(signal) => Err(Stop::Interrupted(signal)),
            Ended::Exit { code, last } if step::complete(&out).is_none() => {
                Ok(Err(format!("the load ended with exit code {code}: {last}")))
            }
            Ended::Exit { .. } if self.has_shim(arm) => {
                let has_graphs = self.plan.place.facts(arm.tp).execution != Execution::Eager;
                let delayed = delays::check(&shim, arm.tp, has_graphs);
                Ok(delayed.map_err(|why| {
                    format!(
                        "{why}; see in {} which library the engine loaded",
                        folder.join("server.log").display()
                    )
                }))
            }
            Ended::Exit { .. } => Ok(Ok(())),
        }
    }

    /// Whether the shim stands before the library; one GPU reduces nothing.
    fn has_shim(&self, arm: &Arm) -> bool {
        arm.delay_us.is_some() && arm.tp > 1 && self.plan.place.soft.is_none()
    }
}

/// A program of an arm with what binds it before it.
fn bound(arm: &Arm, program: &Path, arguments: Vec<String>) -> (PathBuf, Vec<String>) {
    let mut binding = Plan::binding(arm).into_iter();
    match binding.next() {
        None => (program.to_owned(), arguments),
        Some(first) => {
            let own = program.display().to_string();
            (
                first.into(),
                binding.chain([own]).chain(arguments).collect(),
            )
        }
    }
}
