//! A plan as it stands in its TOML file. Unknown keys are errors that name their line.

use std::collections::BTreeMap;
use std::path::Path;

use record::{is_secret, redacted_arguments};
use serde::{Deserialize, Serialize};

/// The version that is read.
pub(super) const SCHEMA: u32 = 1;

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
    /// Numbers of requests.
    pub(super) num_prompts: Numbers,
    /// Requests in flight; without it and `rates` all are sent at once.
    pub(super) concurrency: Option<Numbers>,
    /// Requests per second.
    #[serde(default)]
    pub(super) rates: Vec<f64>,
}

/// Numbers from 1 on: a text such as `1..200` or `1,2,4`, a list, or one.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "toml::Value")]
pub(super) struct Numbers(pub(super) Vec<u32>);

impl TryFrom<toml::Value> for Numbers {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        match &value {
            toml::Value::String(text) => numbers(text),
            // A list is written with brackets.
            other => numbers(other.to_string().trim_matches(['[', ']'])),
        }
        .map(Self)
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
        let server = &plan.server;
        let has_port = server.command.iter().any(|word| word.contains("{port}"));
        if plan.schema != SCHEMA {
            return Err(format!(
                "schema {} is not known; this program reads {SCHEMA}",
                plan.schema
            ));
        }
        if server.manage && !has_port && server.base_url.is_none() {
            return Err("server.command has no {port}: write the words that start the server, with {port} where the port belongs, or give server.base_url".to_owned());
        }
        if server.command.is_empty() && server.manage {
            return Err(
                "server.command is empty; write the words that start the server".to_owned(),
            );
        }
        if !server.manage && server.base_url.is_none() {
            return Err(
                "server.base_url is missing; say where the server answers, or set manage = true"
                    .to_owned(),
            );
        }
        plan.check_secrets()?;
        Ok(plan)
    }

    /// Refuses what may be a secret: the plan is copied into the folder, and commands are shown.
    pub(super) fn check_secrets(&self) -> Result<(), String> {
        let has_secret = |words: &[String]| {
            let words = without_places(words);
            redacted_arguments(words.iter().map(|word| (*word).to_owned())) != words
        };
        let variable = self.server.env.iter();
        let mut variable = variable.filter(|(name, value)| is_secret(name) && !value.is_empty());
        let place = match variable.next() {
            Some((name, _)) => format!("server.env.{name}"),
            None if has_secret(&self.server.command) => "server.command".to_owned(),
            None if has_secret(&self.load.flags) => "load.flags".to_owned(),
            None => return Ok(()),
        };
        Err(format!(
            "{place} may hold a secret, and a plan is kept beside its results: give the load --api-key-env NAME or --api-key-file FILE, \
             and export before the sweep what servers need, which inherit it"
        ))
    }
}

/// A command line without the flags that tell where a key is, which are no secret.
fn without_places(words: &[String]) -> Vec<&str> {
    const PLACES: [&str; 2] = ["--api-key-env", "--api-key-file"];
    let is_place = |word: &str| PLACES.contains(&word.split('=').next().unwrap_or(word));
    let mut is_value = false;
    let kept = words.iter().map(String::as_str).filter(|word| {
        let drops = std::mem::take(&mut is_value) || is_place(word);
        is_value = PLACES.contains(word);
        !drops
    });
    kept.collect()
}

/// Reads numbers such as `1..3,8`, both ends in the range.
///
/// # Errors
/// In words.
pub(super) fn numbers(text: &str) -> Result<Vec<u32>, String> {
    let mut all = Vec::new();
    for part in text.split(',').map(str::trim) {
        let (from, to) = part.split_once("..").unwrap_or((part, part));
        let range = from.trim().parse().ok().zip(to.trim().parse().ok());
        let is_range = |(from, to): &(u32, u32)| *from > 0 && from <= to && to - from <= 100_000;
        let (from, to) = range
            .filter(is_range)
            .ok_or_else(|| format!("`{part}` is no number from 1 on, or range such as 1..200"))?;
        all.extend(from..=to);
    }
    Ok(all)
}
