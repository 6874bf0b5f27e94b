//! A plan as it stands in its TOML file, whose unknown keys are errors that name their line, or on the command line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use record::redacted_arguments;
use serde::{Deserialize, Serialize};

/// The version that is read.
const SCHEMA: u32 = 1;

/// A sweep.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Plan {
    pub(super) schema: u32,
    /// Name of a cell's folder, such as `{config}_{model}_TP{tp}_{input}_np{n}`.
    pub(super) name: String,
    /// How servers are started.
    pub(super) server: ServerPlan,
    /// What requests are.
    #[serde(default)]
    pub(super) load: LoadPlan,
    /// What `{path}` is for a model, and else `{path}` is the model's name.
    #[serde(default)]
    pub(super) paths: BTreeMap<String, String>,
    /// What `{gpus}` is for a configuration.
    #[serde(default)]
    pub(super) gpus: BTreeMap<String, String>,
    /// The cells.
    pub(super) matrix: Vec<Matrix>,
}

/// How servers are started.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServerPlan {
    /// Whether the sweep starts and stops them; else one runs already.
    #[serde(default)]
    pub(super) manage: bool,
    /// The command, one word an element, with `{path}`, `{model}`, `{tp}`, `{port}`, `{gpus}`, `{max_len}`; none for a server that
    /// runs already.
    #[serde(default)]
    pub(super) command: Vec<String>,
    /// Environment variables, with the same places but the port.
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    /// Where it answers. Needed without `manage`; with it a free port is taken for `{port}`.
    pub(super) base_url: Option<String>,
    /// Seconds until it must answer.
    #[serde(default = "ready_timeout")]
    pub(super) ready_timeout_s: u64,
    /// Tokens beside the longest prompt and reply that `{max_len}` leaves.
    #[serde(default)]
    pub(super) slack: u32,
}

/// What requests are.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LoadPlan {
    /// Further flags of `tplens serve run`.
    #[serde(default)]
    pub(super) flags: Vec<String>,
    /// Seed of the first cell; each takes the next. Without it the prompts of each run are new.
    pub(super) seed: Option<u64>,
}

/// Every combination of these values is a cell.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Matrix {
    /// Labels of configurations.
    pub(super) configs: Vec<String>,
    /// Model names.
    pub(super) models: Vec<String>,
    /// Tensor parallel sizes.
    pub(super) tp: Vec<u32>,
    /// Prompt tokens.
    pub(super) inputs: Vec<u32>,
    /// Output tokens.
    pub(super) outputs: Vec<u32>,
    /// Numbers of requests; without it 4 for each in flight, 30 s of a rate, 16 at least.
    pub(super) num_prompts: Option<Numbers>,
    /// Requests in flight; without it and `rates` all are sent at once.
    pub(super) concurrency: Option<Numbers>,
    /// Requests per second.
    #[serde(default)]
    pub(super) rates: Vec<f64>,
}

/// Numbers from 1 on: a text such as `1..200` or `1,2,4`, both ends in the range; in a plan also a list, or one.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "toml::Value")]
pub(super) struct Numbers(pub(super) Vec<u32>);

impl TryFrom<toml::Value> for Numbers {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        match &value {
            toml::Value::String(text) => text.parse(),
            // A list is written with brackets.
            other => other.to_string().trim_matches(['[', ']']).parse(),
        }
    }
}

impl FromStr for Numbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let range = |part: &str| {
            let (from, to) = part.split_once("..").unwrap_or((part, part));
            let range: (u32, u32) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
            (range.0 > 0 && range.0 <= range.1 && range.1 - range.0 <= 100_000)
                .then_some(range.0..=range.1)
        };
        let wrong = |part| format!("`{part}` is no number from 1 on, or range such as 1..200");
        let parts = text.split(',').map(str::trim);
        let ranges = parts.map(|part| range(part).ok_or_else(|| wrong(part)));
        let ranges = ranges.collect::<Result<Vec<_>, String>>()?;
        Ok(Self(ranges.into_iter().flatten().collect()))
    }
}

fn ready_timeout() -> u64 {
    1800
}

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// In words with the file's name, and the line where it has one.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let text = bounded::text(path, bounded::SETTINGS)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        Self::parse(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Reads a plan's text.
    ///
    /// # Errors
    /// In words.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let plan: Self = toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start));
            let line = before.map_or(String::new(), |before| {
                format!("line {}: ", before.matches('\n').count() + 1)
            });
            format!("{line}{}", error.message().replace('\n', "; "))
        })?;
        plan.checked()
    }

    /// The plan, where it can be swept and has nothing that may be a secret: it is copied into the folder, and commands are shown.
    ///
    /// # Errors
    /// In words.
    pub(super) fn checked(self) -> Result<Self, String> {
        let server = &self.server;
        let has_port = server.command.iter().any(|word| word.contains("{port}"));
        let is_started = !server.command.is_empty() && (has_port || server.base_url.is_some());
        let url: Vec<String> = server.base_url.iter().cloned().collect();
        let variables = server.env.iter().filter(|(_, value)| !value.is_empty());
        let variables = variables.map(|(name, value)| format!("{name}={value}"));
        let places = [
            ("server.base_url", &url),
            ("server.env", &variables.collect()),
            ("server.command", &server.command),
            ("load.flags", &self.load.flags),
        ];
        let secret = places.iter().find(|(_, words)| has_secret(words));
        Err(match (server.manage, secret) {
            _ if self.schema != SCHEMA => format!(
                "schema {} is not known; this program reads {SCHEMA}",
                self.schema
            ),
            (true, _) if !is_started => "server.command: write the words that start the server, with {port} where the port belongs".to_owned(),
            (false, _) if url.is_empty() => {
                "server.base_url is missing; say where the server answers, or set manage = true"
                    .to_owned()
            }
            (_, Some((place, _))) => format!(
                "{place} may hold a secret, and a plan is kept beside its results: give the load --api-key-env NAME or --api-key-file \
                 FILE, and export before the sweep what servers need, which inherit it"
            ),
            (_, None) => return Ok(self),
        })
    }
}

/// Whether words of a command may hold a secret; flags that tell where a key is hold none.
fn has_secret(words: &[String]) -> bool {
    let mut kept: Vec<String> = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.split('=').next() {
            // Its value is the next word.
            Some("--api-key-env" | "--api-key-file") if !word.contains('=') => drop(words.next()),
            Some("--api-key-env" | "--api-key-file") => {}
            _ => kept.push(word.clone()),
        }
    }
    redacted_arguments(kept.iter().cloned()) != kept
}

/// Runs every cell of a matrix of loads, each into a folder of its own: on a server that runs (--base-url), or on those that a
/// plan starts. Started again with the same flags and folder it resumes: a cell whose record is complete is not done again, and
/// what was broken off is set aside.
///
/// Exit code 0 where every cell is done, 3 where one is not or its requests failed.
#[derive(Debug, Clone, Args)]
pub(crate) struct SweepArgs {
    /// A plan, a TOML file, instead of the flags of a matrix; see serve-bench/examples/r9700.toml.
    #[arg(value_name = "PLAN", conflicts_with_all = ["base_url", "concurrency", "request_rate", "input_len", "output_len", "num_prompts", "load"], required_unless_present = "base_url")]
    pub(super) plan: Option<PathBuf>,

    /// The server that all cells load.
    #[arg(long, value_name = "URL")]
    pub(super) base_url: Option<String>,

    /// Requests in flight, such as 1,2,4 or 1..8 [default: 1,2,4,8,16,32 where there is no --request-rate].
    #[arg(long, value_name = "LIST")]
    pub(super) concurrency: Option<Numbers>,

    /// Requests per second, such as 0.5,1,2.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = rate)]
    pub(super) request_rate: Vec<f64>,

    /// Prompt tokens.
    #[arg(long, value_name = "LIST", default_value = "1024")]
    pub(super) input_len: Numbers,

    /// Output tokens.
    #[arg(long, value_name = "LIST", default_value = "128")]
    pub(super) output_len: Numbers,

    /// Requests of each cell [default: 4 for each in flight, 30 s of a rate, 16 at least].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) num_prompts: Option<u32>,

    /// Only cells with one of these values, such as `model=8B,14B` or `n=1..20`; several are all kept. Keys: config, model,
    /// tp, input, output, n, concurrency, rate.
    #[arg(long, value_name = "KEY=VALUES")]
    pub(super) only: Vec<String>,

    /// Measure again the cells whose requests failed or that were limited by the client; what was there is kept beside, as
    /// NAME.broken-1. To measure another one again, delete its folder.
    #[arg(long, conflicts_with = "list")]
    pub(super) redo: bool,

    /// List the cells and the server commands, and whether each is done; run nothing.
    #[arg(long)]
    pub(super) list: bool,

    /// Folder of the sweep. Default: of a plan its name under tplens-results, so that the same plan resumes there; else a new one.
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,

    /// Further flags of `tplens serve run` after `--`, such as --model NAME.
    #[arg(last = true, value_name = "RUN FLAGS")]
    pub(super) load: Vec<String>,
}

/// A load: requests per second or in flight.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    text.trim()
        .parse()
        .ok()
        .filter(|rate| (1e-6..=1e6).contains(rate))
        .ok_or_else(|| format!("`{text}` is not a number from 0.000001 to 1000000"))
}

/// Requests in flight where no load is named.
const IN_FLIGHT: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// Configuration and model of cells that have none.
pub(super) const LABEL: &str = "server";

impl SweepArgs {
    /// The plan of a matrix that stands on the command line.
    pub(super) fn matrix(&self) -> Plan {
        let usual = || {
            self.request_rate
                .is_empty()
                .then(|| Numbers(IN_FLIGHT.to_vec()))
        };
        let matrix = |concurrency: Option<Numbers>, rates: &[f64]| Matrix {
            configs: vec![LABEL.to_owned()],
            models: vec![LABEL.to_owned()],
            // Not known.
            tp: vec![0],
            inputs: self.input_len.0.clone(),
            outputs: self.output_len.0.clone(),
            num_prompts: self.num_prompts.map(|requests| Numbers(vec![requests])),
            concurrency,
            rates: rates.to_vec(),
        };
        let closed = self.concurrency.clone().or_else(usual);
        let closed = closed.map(|numbers| matrix(Some(numbers), &[]));
        let open = Some(&self.request_rate[..]).filter(|rates| !rates.is_empty());
        let open = open.map(|rates| matrix(None, rates));
        Plan {
            schema: SCHEMA,
            name: "in{input}_out{output}_c{concurrency}_r{rate}".to_owned(),
            server: ServerPlan {
                base_url: self.base_url.clone(),
                ..ServerPlan::default()
            },
            load: LoadPlan {
                flags: self.load.clone(),
                seed: None,
            },
            matrix: closed.into_iter().chain(open).collect(),
            ..Plan::default()
        }
    }
}
