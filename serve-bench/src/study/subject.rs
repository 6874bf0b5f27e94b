//! What a study or an ablation is of: a model on devices or a simulated machine, served by a command; and the steps that measure it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use boxfile::BoxFile;
use clap::Args;
use clap::builder::PossibleValuesParser;
use program::Stop;
use program::command_line::seconds;
use record::redacted_arguments;
use runner::run::{Needs, Step, URL};
use serde_json::Value;
use tp_plan::{Engine, ModelFacts};

use super::engines::{ServerCommand, TP, embedded};
use crate::planner::{self, anywhere, step, usage, words};

/// The folder of a run's links.
pub(crate) const LINKS: &str = "links";

/// Without a line or a row for so long a step that measures links or collectives is ended: its own deadlines are far shorter.
const DEADLINE: Duration = Duration::from_secs(600);

/// The start of a rank, s, on two cores.
const RANK_S: f64 = 1.5;

/// What a decode step is assumed to take, s, and the part of its time to get ready that a server needs: only the time that is printed
/// before the first load rests on it.
const STEP_S: f64 = 0.03;
const START: f64 = 1.0 / 30.0;

/// A closed loop of requests of equal length, on a server that is started for it.
#[derive(Debug, Clone, Args)]
pub(crate) struct LoadArgs {
    /// Requests in flight at once, which is the batch that decodes.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=16_384))]
    pub(crate) concurrency: u32,

    /// Measured requests. Default: four for each in flight.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) requests: Option<u32>,

    /// Prompt tokens of each request.
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=4_000_000))]
    pub(crate) input_tokens: u32,

    /// Output tokens of each request.
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(2..=4_000_000))]
    pub(crate) output_tokens: u32,

    /// Seconds until a started server must answer.
    #[arg(long, value_name = "SECONDS", default_value = "1800", value_parser = seconds)]
    pub(crate) ready_timeout: Duration,

    /// Seed of the prompts: the same prompts for every server, each being started afresh.
    #[arg(skip = 1_u32)]
    pub(crate) seed: u32,
}

impl LoadArgs {
    /// Measured requests.
    pub(crate) fn requests(&self) -> u32 {
        self.requests.unwrap_or(self.concurrency.saturating_mul(4))
    }

    /// What decides a run with this load on a server of these words, beside what is its own.
    pub(crate) fn settings(&self, mut own: Value, server: &[String]) -> Value {
        own["schema"] = 1.into();
        own["concurrency"] = self.concurrency.into();
        own["requests"] = self.requests().into();
        own["input_tokens"] = self.input_tokens.into();
        own["output_tokens"] = self.output_tokens.into();
        // Kept without the values of flags that name a secret.
        let server = server.iter().map(|words| anywhere(words));
        own["server"] = redacted_arguments(server).into();
        own
    }

    /// The step that puts this load on the server that it `needs`, of a model with so many token ids and of this size.
    pub(crate) fn step(
        &self,
        named: (String, String),
        (vocab, tp): (u32, u32),
        needs: Needs,
    ) -> Step {
        // The special tokens of most vocabularies stand at the end; an image token without an image is refused.
        let ids = vocab - vocab / 10;
        let arguments = words([
            ("--base-url", URL.to_owned()),
            ("--tp", tp.to_string()),
            ("--concurrency", self.concurrency.to_string()),
            ("--requests", self.requests().to_string()),
            ("--input-tokens", self.input_tokens.to_string()),
            ("--output-tokens", self.output_tokens.to_string()),
            ("--dataset-name", "random-ids".to_owned()),
            ("--vocab", ids.to_string()),
            ("--seed", self.seed.to_string()),
        ]);
        planner::load(named, arguments, Some(needs), self.seconds())
    }

    /// Seconds of a server's start and the load on it, about; the warm-up has one more request for each in flight.
    fn seconds(&self) -> f64 {
        let waves = f64::from(self.requests().div_ceil(self.concurrency) + 1);
        let start = self.ready_timeout.as_secs_f64() * START;
        start + waves * f64::from(self.output_tokens) * STEP_S
    }
}

/// What is measured.
#[derive(Debug, Clone, Args)]
pub(crate) struct SubjectArgs {
    /// Model that is served, whose message sizes are measured: a shipped name, a config.json, or a folder that holds one.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: String,

    /// Devices, as tplens p2p takes them. Default: the first of the machine, as many as the largest of --tp.
    #[arg(long, value_name = "LIST")]
    pub(crate) gpus: Option<String>,

    /// Whose driver to use, as tplens p2p takes it.
    #[arg(long, default_value = "auto", value_parser = backends())]
    pub(crate) backend: String,

    #[command(flatten)]
    pub(crate) load: LoadArgs,

    /// Seconds for the collectives of each size or launch [default: 30, of a launch 10].
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) budget: Option<Duration>,

    /// A simulated machine instead of this one: a built-in name or a machine file; without a server command with the embedded engine.
    /// Its numbers are arithmetic, never measurements.
    #[arg(long, value_name = "BOX")]
    pub(crate) sim: Option<String>,

    /// Folder of the results. Default: a new one under tplens-results.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// The server command after `--`. vLLM, SGLang and tplens serve engine get their size and port added; in any other command
    /// write {tp} and {port} where the numbers belong.
    #[arg(last = true, value_name = "SERVER COMMAND")]
    pub(crate) server: Vec<String>,
}

/// The names that tplens p2p takes for --backend.
fn backends() -> PossibleValuesParser {
    let named = device::Built::ALL.iter().map(|built| built.name());
    ["auto"].into_iter().chain(named).into()
}

impl SubjectArgs {
    /// What decides what is measured, beside what is the run's own. A folder holds one run, and this never changes.
    pub(crate) fn settings(&self, mut own: Value) -> Value {
        own["model"] = self.model.clone().into();
        own["gpus"] = self.gpus.clone().into();
        own["backend"] = self.backend.clone().into();
        own["sim"] = self.sim.clone().into();
        self.load.settings(own, &self.server)
    }
}

/// What is measured, looked up.
#[derive(Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) args: &'a SubjectArgs,
    pub(crate) model: ModelFacts,
    /// The simulated machine.
    pub(crate) simulated: Option<BoxFile>,
    /// The server command.
    pub(crate) command: ServerCommand,
}

impl<'a> Subject<'a> {
    /// Looks it up, to be measured at these sizes.
    ///
    /// # Errors
    /// A model, machine or command that cannot be used.
    pub(crate) fn new(args: &'a SubjectArgs, sizes: &[u32]) -> Result<Self, Stop> {
        let words = match (&args.sim, args.server.is_empty()) {
            (Some(sim), true) => embedded(sim, &args.model, TP)?,
            _ => args.server.clone(),
        };
        let command = ServerCommand::new(words, sizes).map_err(Stop::Usage)?;
        let model = ModelFacts::resolve(&args.model).map_err(usage("--model"))?;
        for tp in sizes {
            model.check_tp(*tp).map_err(usage("--tp"))?;
        }
        let simulated = args.sim.as_deref().map(BoxFile::resolve).transpose();
        Ok(Self {
            args,
            command,
            model,
            simulated: simulated.map_err(usage("--sim"))?,
        })
    }

    /// A step that measures the links or collectives of this machine, or of the simulated one.
    pub(crate) fn measured(
        &self,
        name: String,
        command: &'static str,
        mut arguments: Vec<String>,
        seconds: f64,
    ) -> Step {
        arguments.extend(match &self.args.sim {
            Some(sim) => words([("--sim", sim.clone())]),
            None => words([("--backend", self.args.backend.clone())]),
        });
        let about = match command {
            "p2p" => "links between host and devices",
            _ => "collectives at the sizes that the model sends",
        };
        let named = (name, about.to_owned());
        step(command, named, arguments, seconds, DEADLINE)
    }

    /// The step that times the collectives of these batches on these devices, as the engine sends them.
    pub(crate) fn collectives(
        &self,
        name: String,
        (gpus, tp): (String, u32),
        batches: String,
        budget_s: f64,
    ) -> Step {
        let budget_s = self.args.budget.map_or(budget_s, |of| of.as_secs_f64());
        let flags = self.command.flags();
        let mut arguments = words([
            ("--gpus", gpus),
            ("--model", self.args.model.clone()),
            ("--tp", tp.to_string()),
            ("--batches", batches),
            ("--budget", budget_s.to_string()),
        ]);
        arguments.extend(flags.eager.then(|| "--eager".to_owned()));
        if flags.engine == Some(Engine::Sglang) {
            arguments.extend(["--engine", "sglang"].map(str::to_owned));
        }
        let seconds = budget_s + f64::from(tp) * RANK_S;
        self.measured(name, "allreduce", arguments, seconds)
    }

    /// The step that loads a server of this name and size.
    pub(crate) fn serving(
        &self,
        name: String,
        tp: u32,
        server: (String, Vec<String>),
        environment: Vec<(OsString, OsString)>,
        log: PathBuf,
    ) -> Step {
        let ready = self.args.load.ready_timeout;
        let server = planner::server(&server.0, server.1, environment, log, ready);
        let named = (name, format!("load on the server with {tp} GPU(s)"));
        let size = (self.model.vocab, tp);
        self.args.load.step(named, size, Needs::Started(server))
    }

    /// Devices for a size: the first of `--gpus`, or of the machine.
    pub(crate) fn devices(&self, tp: u32) -> Result<String, Stop> {
        let Some(list) = &self.args.gpus else {
            return Ok(first(tp));
        };
        let names: Vec<&str> = list.split(',').map(str::trim).collect();
        let names = names.get(..tp as usize).ok_or_else(|| {
            let named = names.len();
            Stop::Usage(format!(
                "--gpus {list} names {named} device(s) and --tp {tp} needs {tp}"
            ))
        })?;
        Ok(names.join(","))
    }
}

/// The first devices, by number.
pub(crate) fn first(count: u32) -> String {
    let numbers: Vec<String> = (0..count).map(|index| index.to_string()).collect();
    numbers.join(",")
}

/// The devices of a list, in the words of a variable such as CUDA_VISIBLE_DEVICES; numbers count within what it shows this process.
///
/// # Errors
/// A device that the variable cannot name, or that it hides.
pub(crate) fn visible(devices: &str, variable: &str) -> Result<String, Stop> {
    let seen = std::env::var(variable).ok();
    within(devices, variable, seen.as_deref()).map_err(Stop::Usage)
}

fn within(devices: &str, variable: &str, seen: Option<&str>) -> Result<String, String> {
    let seen: Option<Vec<&str>> = seen.map(|seen| seen.split(',').map(str::trim).collect());
    let one = |name: &str| match (name.parse::<usize>(), &seen) {
        (Ok(_), None) => Ok(name.to_owned()),
        (Ok(number), Some(seen)) => {
            let shown = || format!("--gpus {name}: {variable} shows {} device(s)", seen.len());
            seen.get(number)
                .map(|name| (*name).to_owned())
                .ok_or_else(shown)
        }
        (Err(_), _) if name.starts_with("GPU-") || name.starts_with("MIG-") => Ok(name.to_owned()),
        (Err(_), _) => Err(format!(
            "--gpus {name}: the server can be given devices by number or UUID; name them so"
        )),
    };
    let names: Result<Vec<String>, String> = devices.split(',').map(str::trim).map(one).collect();
    Ok(names?.join(","))
}

/// Whether the program of a server's command is there, told before anything else is done.
///
/// # Errors
/// It is not.
pub(crate) fn check_program(command: &[String]) -> Result<(), Stop> {
    let Some(program) = command.first() else {
        return Ok(());
    };
    match is_installed(program) {
        true => Ok(()),
        false => Err(Stop::Usage(format!(
            "{program}, which serves, is not installed here: activate its environment, or write its path after `--`"
        ))),
    }
}

/// Whether a program is there, by its path or its name.
pub(crate) fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    match program.contains('/') {
        true => Path::new(program).is_file(),
        false => std::env::split_paths(&path).any(|folder| folder.join(program).is_file()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_sees_the_devices_that_were_measured() {
        let within = |devices, seen| within(devices, "CUDA_VISIBLE_DEVICES", seen);
        assert_eq!(within("2,3", None).unwrap(), "2,3");
        // Of 4 to 7 the numbers 2 and 3 are 6 and 7.
        assert_eq!(within("2,3", Some("4,5,6,7")).unwrap(), "6,7");
        assert_eq!(within("MIG-a", Some("0")).unwrap(), "MIG-a");
        assert!(within("2", Some("0,1")).unwrap_err().contains("shows 2"));
        assert!(within("0000:21:00.0", None).unwrap_err().contains("UUID"));
    }
}
