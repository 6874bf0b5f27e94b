//! From files to what the explanation starts from: who wrote what, and what it says of the box.

use std::path::{Path, PathBuf};

use ::explain::{Evidence, Inputs, Link, Seen};
use boxfile::BoxFile;
use clap::Args;
use import::collectives::{self, CallFile};
use import::serve::{self, ServeResult, Throttle};
use import::{ServeRun, trace};
use record::{Payload, ServerMachine};
use tp_plan::ModelFacts;
use view::{Item, Tone};

use super::boxes::Machine;
use super::case::CaseArgs;
use super::logs::{self, EngineLogFile};

/// What an explanation or a prediction starts from, as it is named.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Sources {
    /// Model that was served: a shipped name, a config.json, or a folder that holds one [default: the one that the first result names].
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// Serving results with their tensor parallel size; `None` where the file says it.
    #[arg(skip)]
    pub(crate) serving: Vec<(Option<u32>, PathBuf)>,

    #[command(flatten)]
    pub(crate) case: CaseArgs,

    /// GPUs of the machine that are used, where they are more than those of the results.
    #[arg(skip)]
    pub(crate) ranks: u32,

    /// Result of the model at a rank's width on one GPU, at the same batch and lengths; may be given several times, once a launch.
    #[arg(long, value_name = "FILE")]
    pub(crate) half: Vec<PathBuf>,

    /// Kernel sums of some traced decode steps on several GPUs: the CSV of nsys stats --report cuda_gpu_kern_sum, or rocprofv3's
    /// *_kernel_stats.csv.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,

    /// What the step would take with something else in place of its collectives: curve=FILE (times of another box),
    /// link=gen4x8 or link=OLD:NEW, p2p=on; may be given several times.
    #[arg(long = "what-if", value_name = "WHAT=IT")]
    pub(crate) what_if: Vec<String>,

    /// Logs of the servers, each of another size.
    #[arg(skip)]
    pub(crate) engine_logs: Vec<EngineLogFile>,

    /// What the reader must know of how the results were made.
    #[arg(skip)]
    pub(crate) note: Option<String>,

    /// The simulated machine as it was named, for commands that are printed.
    #[arg(skip)]
    pub(crate) sim: Option<String>,

    /// Whether the demonstration that made the results switched the engine's own all-reduce off by itself.
    #[arg(skip)]
    pub(crate) off_by_us: bool,
}

impl Sources {
    /// A line for each simulated result of which the load generator was the limit.
    pub(super) fn limited(&self) -> Vec<Item> {
        let serving = self.serving.iter().map(|(_, file)| file);
        let item = |file: &PathBuf| {
            let (result, _) = serve::read_one(file).ok()?;
            Some(Item::of(Tone::Warning, limited(&result)?).coded("client-limited"))
        };
        serving.chain(&self.half).filter_map(item).collect()
    }

    /// Reads everything, each file once; with the slowest link of the box and the file that describes it, where they are known.
    ///
    /// # Errors
    /// A file that cannot be read or is not what it should be, a model or box that is not known; in words.
    pub(crate) fn read(&self) -> Result<(Inputs, Option<Link>, Option<BoxFile>), String> {
        let mut beside = Beside::default();
        let serving = self.serving.iter();
        let serving = serving.map(|(said, file)| beside.run(*said, file));
        let mut runs = serving.collect::<Result<Vec<_>, String>>()?;
        runs.sort_by_key(|(tp, _)| *tp);
        let (model, named) = self.model(&runs)?;
        let mut seen = Seen {
            machines: std::mem::take(&mut beside.machines),
            model_given: Some(named),
            soft_given: self.sim.clone(),
            off_by_us: self.off_by_us,
            ..Seen::default()
        };
        // A shard runs on one GPU.
        let half = self.half.iter().map(|file| beside.run(Some(1), file));
        let half = half.map(|run| run.map(|(_, run)| run));
        let half = half.collect::<Result<Vec<_>, String>>();
        let half = half.map_err(|why| format!("--half: {why}; a shard runs on one GPU"))?;
        once_each(runs.iter().map(|(_, run)| run).chain(&half))?;
        let (mut timed, mut curve, mut troubles) = (Vec::new(), Vec::new(), Vec::new());
        for file in &self.case.allreduce {
            let file = collectives::read_file(file).map_err(|error| error.to_string())?;
            let told = file.faults();
            match file.points() {
                Ok(points) => curve.extend(points),
                // A record without a single time still tells what went wrong.
                Err(_) if !told.is_empty() => {}
                Err(error) => return Err(error.to_string()),
            }
            troubles.extend(told);
            seen.variables.extend(file.environment.clone());
            timed.push(file);
        }
        let tp = runs.iter().map(|(tp, _)| *tp).max().unwrap_or(1);
        // As `tplens half` names it.
        let shard_of = |run: &ServeRun| run.model.as_ref()?.rsplit_once("-half-tp")?.1.parse().ok();
        if let Some(other) = half.iter().filter_map(shard_of).find(|of: &u32| *of != tp) {
            return Err(format!(
                "--half: it is a shard of TP{other}, and TP{tp} is explained: run tplens half --tp {tp}"
            ));
        }
        let on_cpus = is_on_cpus(&timed);
        let machine = Machine::of(&self.case, self.ranks.max(tp), on_cpus, &mut seen)?;
        let mut around = machine.around;
        let logs: Vec<_> = self.engine_logs.iter().map(EngineLogFile::said).collect();
        logs::peers(&logs, &mut around);
        let trace = self.trace.as_deref().map(trace::read).transpose();
        let evidence = Evidence {
            half,
            trace: trace.map_err(|error| format!("--trace: {error}"))?,
            transport: transport(&timed, tp),
            throttle: beside.clocks,
            found: beside.found,
            logs,
            curve_gpus: curve_gpus(&timed),
        };
        let sizes: Vec<u32> = runs.iter().map(|(tp, _)| *tp).collect();
        let engines = logs::engines(&self.engine_logs, self.case.engine, &sizes, &around)?;
        let inputs = Inputs {
            model,
            tp,
            engines,
            serve: runs,
            curve,
            troubles,
            around,
            known: machine.known,
            evidence,
            seen,
            priors: self.case.priors()?,
        };
        Ok((inputs, machine.link, machine.described))
    }

    /// The model with the name that leads to it: as it was given, else as the first result has it.
    fn model(&self, runs: &[(u32, ServeRun)]) -> Result<(ModelFacts, String), String> {
        let by_run = || {
            let named = runs.first()?.1.model.clone();
            named.filter(|name| ModelFacts::resolve(name).is_ok())
        };
        let named = self.model.clone().or_else(by_run);
        let named = named.ok_or("name with --model what was served")?;
        let mut model = ModelFacts::resolve(&named).map_err(|error| format!("--model: {error}"))?;
        let mut by_logs = self.engine_logs.iter().map(EngineLogFile::cache_bytes);
        let cache_bytes = self.case.engine.kv_cache_bytes.filter(|bytes| *bytes > 0);
        if let Some(bytes) = cache_bytes.or_else(|| by_logs.find_map(|bytes| bytes)) {
            model.kv_cache_bytes = bytes;
        }
        Ok((model, named))
    }
}

/// Whether collective times are those of an engine on CPUs, and none of GPUs.
fn is_on_cpus(files: &[CallFile]) -> bool {
    let values = || files.iter().flat_map(|file| &file.values);
    let mut of_host = values();
    of_host.all(|value| value.library.as_deref() == Some("host"))
        && values().any(|value| value.series.engine.is_some())
}

/// Two files hold the same result, whatever their names; in words.
fn once_each<'a>(results: impl Iterator<Item = &'a ServeRun>) -> Result<(), String> {
    let mut before: Vec<(ServeRun, &str)> = Vec::new();
    for run in results {
        let measured = ServeRun {
            origin: String::new(),
            tp: None,
            ..run.clone()
        };
        if let Some((_, other)) = before.iter().find(|(other, _)| *other == measured) {
            let one = &run.origin;
            return Err(format!(
                "{one} and {other} hold the same result: give each run once"
            ));
        }
        before.push((measured, &run.origin));
    }
    Ok(())
}

fn limited(result: &ServeResult) -> Option<String> {
    let (origin, why) = (&result.run.origin, result.invalid().next()?);
    Some(format!(
        "{origin} is not the server's: the load generator was the limit ({why})"
    ))
}

/// What serving results say beside their times.
#[derive(Default)]
struct Beside {
    clocks: Vec<Throttle>,
    /// What a monitor saw, with the tensor parallel size of each result.
    machines: Vec<(u32, ServerMachine)>,
    /// Findings of reading, each with the origin of its result.
    found: Vec<(String, String)>,
}

impl Beside {
    /// A serving result with its tensor parallel size, which the file says or `said` does.
    fn run(&mut self, said: Option<u32>, file: &Path) -> Result<(u32, ServeRun), String> {
        let (result, record) = serve::read_one(file).map_err(|error| error.to_string())?;
        let origin = &result.run.origin;
        let tp = match (said, result.run.tp) {
            (Some(said), Some(own)) if said != own => {
                return Err(format!(
                    "{origin} says that it is of tensor parallel size {own}, not {said}"
                ));
            }
            (said, own) => said.or(own).ok_or_else(|| {
                format!("{origin} does not say its tensor parallel size: give each result by its size, such as --tp1 {origin} --tp2 FILE")
            })?,
        };
        let found = result.findings.iter().map(view::imported::words);
        // What a simulated machine played on a busy machine is told and used: it measures nothing anyway.
        if result.run.simulated.is_none()
            && let Some(limited) = limited(&result)
        {
            return Err(format!(
                "{limited}; measure it again on a client that keeps up"
            ));
        }
        let found = found.map(|words| (origin.clone(), words));
        self.found.extend(found);
        if let Some(record) = record {
            self.clocks.extend(serve::throttle(&record, origin));
            if let Payload::Serve(serve) = record.payload {
                let machine = serve.server.and_then(|server| server.machine);
                self.machines.extend(machine.map(|machine| (tp, machine)));
            }
        }
        Ok((tp, result.run))
    }
}

/// The GPUs that collectives were timed on.
fn curve_gpus(files: &[CallFile]) -> Vec<String> {
    let is_gpus = |file: &&CallFile| file.backend.as_deref() != Some("host");
    let files = files.iter().filter(is_gpus);
    files.flat_map(|file| file.devices.clone()).collect()
}

/// What the library said that it goes over at that number of ranks.
fn transport(files: &[CallFile], ranks: u32) -> Option<String> {
    let is_of = |file: &&CallFile| file.values.iter().any(|value| value.series.ranks == ranks);
    let files = files.iter().filter(is_of);
    let mut ways: Vec<&str> = files.filter_map(|file| file.transport.as_deref()).collect();
    ways.dedup();
    (!ways.is_empty()).then(|| ways.join(", "))
}
