//! One launch: the collectives are timed, then the server is started in the same environment, loaded and ended.
//!
//! A launch whose folder holds [`FILE`] is whole and is not done again; what a broken one left is set aside under another name.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use explain::Launch;
use program::Stop;
use record::exit;
use record::write_whole;
use runner::run::{Needs, Run, RunError, Step, StepEnd, set_aside};
use runner::server::ServerSpec;
use tp_plan::Execution;

use super::arm::Arm;
use super::plan::Plan;
use super::{collect, delays, soft};
use crate::json;
use crate::study::engines::ServerCommand;
use crate::study::steps::measured;

/// What a whole launch leaves.
const FILE: &str = "launch.json";

/// Where the delay shim says how often it was called.
pub(super) const SHIM_LOG: &str = "shim.jsonl";

/// The folder of a launch, below that of the ablation.
pub(super) fn folder(number: usize, arm: &Arm) -> String {
    format!("launches/{number:03}-{}", arm.name)
}

/// A whole launch that was kept in a folder.
pub(super) fn kept(folder: &Path) -> Option<Launch> {
    let text = bounded::text(&folder.join(FILE), bounded::RESULT).ok()?;
    serde_json::from_str(&text).ok()
}

/// The box files of a launch on a simulated machine.
struct Boxes {
    bench: PathBuf,
    engine: PathBuf,
}

impl Plan<'_> {
    /// Does a launch and keeps it; the inner error is why this launch says nothing.
    ///
    /// # Errors
    /// A signal came, or the disk or this program failed.
    pub(super) fn launch(
        &self,
        run: &mut Run<'_>,
        number: usize,
        arm: &Arm,
    ) -> Result<Result<Launch, String>, Stop> {
        let name = folder(number, arm);
        let folder = run.folder().join(&name);
        set_aside(&folder)?;
        record::private::make_folders(&folder)
            .map_err(|error| anyhow!("cannot make the folder {}: {error}", folder.display()))?;
        let order = u32::try_from(number).unwrap_or(u32::MAX);
        let boxes = self.boxes(arm, order, &folder)?;
        let step = self.collectives(arm, &name, boxes.as_ref(), &folder)?;
        let timed = of_launch(run.step(&step))?.and_then(|end| match end.code {
            exit::WRONG_DATA => {
                let log = folder.join("allreduce.log");
                Err(format!(
                    "tplens allreduce found wrong data; see {}",
                    log.display()
                ))
            }
            _ => collect::collective_us(&end.folder, &self.planned(), self.mode),
        });
        let collective_us = match timed {
            Ok(range) => range,
            Err(reason) => return Ok(Err(reason)),
        };
        // What the benchmark's processes said there is not the server's.
        let shim = folder.join(SHIM_LOG);
        if shim.exists() {
            std::fs::rename(&shim, folder.join("shim-allreduce.jsonl"))
                .map_err(|error| anyhow!("cannot rename {}: {error}", shim.display()))?;
        }
        let step = self.serving(arm, &name, boxes.as_ref(), &folder)?;
        let served = of_launch(run.step(&step))?;
        // With it ends what the shim writes.
        run.end_server();
        let launch = served.and_then(|end| {
            if arm.delay_us.is_some() && self.place.soft.is_none() {
                let has_graphs = self.place.facts(self.args.tp).execution != Execution::Eager;
                delays::check(&shim, self.args.tp, has_graphs).map_err(|why| {
                    let log = folder.join("server.log");
                    format!(
                        "{why}; see in {} which library the engine loaded",
                        log.display()
                    )
                })?;
            }
            let machine = collect::machine(&end.folder)?;
            // No step of a simulated machine is a measurement: a launch that a busy machine played is kept, marked, and left out.
            if let (Some(reason), None) = (&machine.limited, &self.place.soft) {
                return Err(reason.clone());
            }
            let (step_ms, steps) = collect::step(&end.folder, boxes.is_some())?;
            Ok(Launch {
                order,
                collective_us: Some(collective_us),
                step_ms,
                steps,
                folder: Some(name),
                late_ms: machine.late_ms,
                limited: machine.limited,
            })
        });
        if let Ok(launch) = &launch {
            json::write(&folder.join(FILE), launch)?;
        }
        Ok(launch)
    }

    /// The steps of all launches, for the progress.
    pub(super) fn expected(&self) -> Result<Vec<Step>, Stop> {
        let mut steps = Vec::new();
        for (number, arm) in self.order.iter().enumerate() {
            let arm = &self.arms[*arm];
            let (name, none) = (folder(number, arm), Path::new("."));
            steps.push(self.collectives(arm, &name, None, none)?);
            steps.push(self.serving(arm, &name, None, none)?);
        }
        Ok(steps)
    }

    fn collectives(
        &self,
        arm: &Arm,
        name: &str,
        boxes: Option<&Boxes>,
        folder: &Path,
    ) -> Result<Step, Stop> {
        let arguments = self.bench(arm, boxes.map(|boxes| &*boxes.bench));
        let (name, seconds) = (format!("{name}/allreduce"), self.args.budget.as_secs_f64());
        Ok(Step {
            environment: self.variables(arm, folder)?,
            ..measured(name, "collectives", "allreduce", arguments, seconds)
        })
    }

    fn serving(
        &self,
        arm: &Arm,
        name: &str,
        boxes: Option<&Boxes>,
        folder: &Path,
    ) -> Result<Step, Stop> {
        let server = ServerSpec {
            name: "server".to_owned(),
            words: self.server(boxes.map(|boxes| &*boxes.engine))?,
            environment: self.variables(arm, folder)?,
            port: self.command.as_ref().and_then(ServerCommand::port),
            log: folder.join("server.log"),
            ready: self.args.load.ready_timeout,
        };
        let named = (format!("{name}/serve"), "load on the server".to_owned());
        let size = (self.model.vocab, self.args.tp);
        Ok((self.args.load).step(named, size, Needs::Started(server), self.seconds()))
    }

    fn variables(&self, arm: &Arm, folder: &Path) -> Result<Vec<(OsString, OsString)>, Stop> {
        let variables = self.environment(arm, folder).map_err(Stop::Usage)?;
        let variables = variables.into_iter();
        Ok(variables
            .map(|(name, value)| (name.into(), value.into()))
            .collect())
    }

    /// Writes the boxes of a launch: that of the benchmark, whose library is told of limits by variables, and that of the engine.
    fn boxes(&self, arm: &Arm, order: u32, folder: &Path) -> Result<Option<Boxes>, Stop> {
        let Some(described) = &self.place.soft else {
            return Ok(None);
        };
        let bench = soft::delayed(described, arm.delay_us.unwrap_or(0), order);
        let engine = soft::limited(&bench, &(arm.row.limits)());
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
}

/// What a step came to: the inner error is of this launch alone.
fn of_launch(end: Result<StepEnd, RunError>) -> Result<Result<StepEnd, String>, Stop> {
    match end {
        Err(error) if error.is_of_step() => Ok(Err(error.to_string())),
        end => Ok(Ok(end?)),
    }
}
