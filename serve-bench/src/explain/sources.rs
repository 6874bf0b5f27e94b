//! From files to what the explanation starts from: who wrote what, and what it says of the box.

use std::path::{Path, PathBuf};

use super::boxes::{measured, of_file, of_gpu};
use super::case::CaseArgs;
use super::logs::{self, EngineLogFile};
use ::explain::{Evidence, Inputs, KnownBox, Seen, Variable};
use import::collectives::CallFile;
use import::serve::Throttle;
use import::{ServeRun, collectives, serve, trace};
use program::say;
use record::{Payload, Record, load};
use topology::PcieLink;
use tp_plan::{ModelFacts, Surroundings, Vendor};

/// What the user named.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sources {
    /// A shipped model, a config.json, or a folder that holds one.
    pub(crate) model: String,
    /// Serving results with their tensor parallel size.
    pub(crate) serving: Vec<(u32, PathBuf)>,
    /// The machine, its engine, and what is assumed of them.
    pub(crate) case: CaseArgs,
    /// Results of shard runs.
    pub(crate) half: Vec<PathBuf>,
    /// Kernel sums of traced steps.
    pub(crate) trace: Option<PathBuf>,
    /// What is asked to be put in the place of the collectives.
    pub(crate) what_if: Vec<String>,
    /// Logs of the servers, each of another size.
    pub(crate) engine_logs: Vec<EngineLogFile>,
    /// What the reader must know of how the results were made.
    pub(crate) note: Option<String>,
    /// The simulated machine as it was named, for commands that are printed.
    pub(crate) sim: Option<String>,
    /// Whether the demonstration that made the results switched the engine's own all-reduce off by itself.
    pub(crate) off_by_us: bool,
}

impl Sources {
    /// Reads everything.
    ///
    /// # Errors
    /// A file that cannot be read or is not what it should be, a model or box that is not known; in words.
    pub(crate) fn read(&self) -> Result<Inputs, String> {
        let mut model =
            ModelFacts::resolve(&self.model).map_err(|error| format!("--model: {error}"))?;
        let mut by_logs = self.engine_logs.iter().map(EngineLogFile::cache_bytes);
        let cache_bytes = self.case.engine.kv_cache_bytes.filter(|bytes| *bytes > 0);
        if let Some(bytes) = cache_bytes.or_else(|| by_logs.find_map(|bytes| bytes)) {
            model.kv_cache_bytes = bytes;
        }
        let (mut runs, mut beside) = (Vec::new(), Beside::default());
        for (tp, file) in &self.serving {
            let run = run(file, &mut beside)?;
            if let Some(said) = run.tp.filter(|said| said != tp) {
                return Err(format!(
                    "{} says that it is of tensor parallel size {said}, not {tp}",
                    file.display()
                ));
            }
            runs.push((*tp, run));
        }
        let (mut curve, mut troubles) = (Vec::new(), Vec::new());
        for file in &self.case.allreduce {
            let told = collectives::troubles(file).map_err(|error| error.to_string())?;
            match collectives::read(file) {
                Ok(points) => curve.extend(points),
                // A record without a single time still tells what went wrong.
                Err(_) if !told.is_empty() => {}
                Err(error) => return Err(error.to_string()),
            }
            troubles.extend(told);
        }
        let tp = runs.iter().map(|(tp, _)| *tp).max().unwrap_or(1);
        let timed = self.timed();
        let (mut around, known) = self.the_box(tp)?;
        let logs: Vec<_> = self.engine_logs.iter().map(EngineLogFile::said).collect();
        logs::peers(&logs, &mut around);
        let evidence = Evidence {
            transport: transport(&timed, tp),
            curve_gpus: curve_gpus(&timed),
            logs,
            engine_stated: self.case.engine.stated || self.case.engine.engine.is_some(),
            ..self.evidence(beside)?
        };
        let served = self.serving.iter().map(|(_, file)| file);
        let served = served.zip(runs.iter().map(|(_, run)| run));
        let halves = self.half.iter().zip(&evidence.half);
        once_each(served.chain(halves))?;
        let seen = self.seen(tp)?;
        let sizes: Vec<u32> = runs.iter().map(|(tp, _)| *tp).collect();
        let engines = logs::engines(&self.engine_logs, self.case.engine, &sizes, &around)?;
        Ok(Inputs {
            model,
            tp,
            engines,
            serve: runs,
            curve,
            troubles,
            around,
            known,
            evidence,
            seen,
            priors: self.case.priors()?,
        })
    }

    /// What the files that take the place of something assumed hold; `beside` is of the other runs.
    fn evidence(&self, mut beside: Beside) -> Result<Evidence, String> {
        let halves = self
            .half
            .iter()
            .map(|file| of_one_gpu(file, run(file, &mut beside)?));
        let half = halves.collect::<Result<_, _>>()?;
        let trace = self.trace.as_deref().map(trace::read).transpose();
        Ok(Evidence {
            half,
            trace: trace.map_err(|error| format!("--trace: {error}"))?,
            throttle: beside.clocks,
            found: beside.found,
            ..Evidence::default()
        })
    }

    /// The files of collectives as they are.
    fn timed(&self) -> Vec<CallFile> {
        let files = self.case.allreduce.iter();
        files
            .filter_map(|file| collectives::read_file(file).ok())
            .collect()
    }

    /// What the records tell besides, and the link that a box file describes.
    fn seen(&self, tp: u32) -> Result<Seen, String> {
        let mut seen = Seen {
            model_given: Some(self.model.clone()),
            soft_given: self.sim.clone(),
            off_by_us: self.off_by_us,
            ..Seen::default()
        };
        for (tp, file) in &self.serving {
            add_file(&mut seen, file, Some(*tp));
        }
        for file in self.case.allreduce.iter().chain(&self.case.links) {
            add_file(&mut seen, file, None);
        }
        if let Some(described) = self.case.described()? {
            let used = described.device.iter().take(tp as usize);
            let links = used.filter_map(|device| {
                PcieLink::new(device.link?.generation, device.link?.width).ok()
            });
            seen.described_link = links.reduce(PcieLink::slower);
        }
        Ok(seen)
    }

    /// The box: as it was measured, else as it is described, else unknown.
    pub(crate) fn the_box(&self, tp: u32) -> Result<(Surroundings, KnownBox), String> {
        let described = self.case.described()?;
        if let Some(file) = &self.case.links {
            let record = load(file).map_err(|error| error.to_string())?;
            let Payload::Links(links) = &record.payload else {
                return Err(format!(
                    "--links {}: this holds {}, not links of tplens p2p",
                    file.display(),
                    record.payload.kind()
                ));
            };
            let soft = record.header.simulated.as_ref();
            let soft = soft.map(|soft| soft.box_name.clone());
            let name = described.map(|described| described.name).or(soft);
            let of = record.soft_box().unwrap_or_else(|| "measured".to_owned());
            return measured(links, tp, name, of, file.display().to_string());
        }
        Ok(match (described, &self.case.gpu) {
            (Some(described), _) => of_file(&described, tp)?,
            (None, Some(gpu)) => of_gpu(gpu)?,
            (None, None) => {
                let vendor = match is_on_cpus(&self.timed()) {
                    true => Vendor::Host,
                    false => Vendor::Nvidia,
                };
                (
                    Surroundings::of_gpus(vendor, &[], None, false, None),
                    KnownBox::default(),
                )
            }
        })
    }
}

/// Whether collective times are those of an engine on CPUs, and none of GPUs. A file that cannot be read is refused elsewhere.
fn is_on_cpus(files: &[CallFile]) -> bool {
    let values = || files.iter().flat_map(|file| &file.values);
    let mut of_host = values();
    of_host.all(|value| value.library.as_deref() == Some("host"))
        && values().any(|value| value.series.engine.is_some())
}

/// Two files hold the same result, whatever their names; in words.
fn once_each<'a>(results: impl Iterator<Item = (&'a PathBuf, &'a ServeRun)>) -> Result<(), String> {
    let mut before: Vec<(&Path, ServeRun)> = Vec::new();
    for (file, run) in results {
        let measured = ServeRun {
            origin: String::new(),
            tp: None,
            ..run.clone()
        };
        if let Some((other, _)) = before.iter().find(|(_, other)| *other == measured) {
            return Err(format!(
                "{} and {} hold the same result: give each run once",
                other.display(),
                file.display()
            ));
        }
        before.push((file, measured));
    }
    Ok(())
}

/// What serving results say beside their times.
#[derive(Default)]
struct Beside {
    clocks: Vec<Throttle>,
    /// Findings of reading, each with the origin of its result.
    found: Vec<(String, String)>,
}

/// A serving result; what its monitor saw of the clocks, and what reading it found, go `beside`.
fn run(file: &Path, beside: &mut Beside) -> Result<ServeRun, String> {
    let run = serve::read(file).map_err(|error| error.to_string())?;
    // What a simulated machine played on a busy machine is told and used: it measures nothing anyway.
    for result in serve::read_all(file).map_err(|error| error.to_string())? {
        if let Some(reason) = result.invalid().next() {
            let limited = format!(
                "{} is not the server's: the load generator was the limit ({reason})",
                file.display()
            );
            if run.simulated.is_none() {
                return Err(format!(
                    "{limited}; measure it again on a client that keeps up"
                ));
            }
            say!("note: {limited}");
        }
        let found = result.findings.iter().map(view::imported::words);
        let of = |words| (result.run.origin.clone(), words);
        beside.found.extend(found.map(of));
    }
    let clocks = &mut beside.clocks;
    clocks.extend(serve::throttle(file).map_err(|error| error.to_string())?);
    Ok(run)
}

/// The GPUs that collectives were timed on.
fn curve_gpus(files: &[CallFile]) -> Vec<String> {
    let of_gpus = files
        .iter()
        .filter(|file| file.backend.as_deref() != Some("host"));
    of_gpus.flat_map(|file| file.devices.clone()).collect()
}

/// A run of one GPU, as that of a shard is.
fn of_one_gpu(file: &Path, run: ServeRun) -> Result<ServeRun, String> {
    match run.tp.filter(|tp| *tp != 1) {
        None => Ok(run),
        Some(tp) => Err(format!(
            "--half {}: a shard runs on one GPU, this ran on {tp}",
            file.display()
        )),
    }
}

/// What the library said that it goes over at that number of ranks.
fn transport(files: &[CallFile], ranks: u32) -> Option<String> {
    let of_ranks = files
        .iter()
        .filter(|file| file.values.iter().any(|value| value.series.ranks == ranks));
    let mut ways: Vec<String> = of_ranks.filter_map(|file| file.transport.clone()).collect();
    ways.dedup();
    (!ways.is_empty()).then(|| ways.join(", "))
}

/// What a record tells; a run's tensor parallel size goes with what its monitor saw.
fn add(seen: &mut Seen, record: &Record, tp: Option<u32>, origin: &str) {
    let environment = &record.header.provenance.environment;
    match &record.payload {
        Payload::Links(links) => seen.links = Some(links.as_ref().clone()),
        Payload::Serve(serve) => {
            let machine = serve
                .server
                .as_ref()
                .and_then(|server| server.machine.clone());
            seen.machines.extend(tp.zip(machine));
            // The environment of a load generator is not the server's.
            return;
        }
        _ => {}
    }
    let variables = environment.iter().map(|(name, value)| Variable {
        name: name.clone(),
        value: value.clone(),
        origin: origin.to_owned(),
    });
    seen.variables.extend(variables);
}

/// The same of a file or folder, where it is a record of ours.
fn add_file(seen: &mut Seen, file: &Path, tp: Option<u32>) {
    // What is no record of ours was read, or refused, as what it is.
    if let Ok(record) = load(file) {
        add(seen, &record, tp, &file.display().to_string());
    }
}
