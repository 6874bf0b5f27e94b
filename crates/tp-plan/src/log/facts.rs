//! What an engine's log says of how the engine runs, each fact with the line that said it. What no line said is absent.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::engine::{CustomAllReduce, Engine};

/// What the log of one start of an engine says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineLog {
    /// Which engine.
    pub engine: Option<Said<Engine>>,
    /// Its version, such as `0.13.0`. SGLang does not say its own.
    pub version: Option<Said<String>>,
    /// Tensor parallel size.
    pub tp: Option<Said<u32>>,
    /// Pipeline parallel size.
    pub pp: Option<Said<u32>>,
    /// The engine's own all-reduce: on where a line proves it, off where one says so. A line that only leaves it enabled is neither.
    pub custom_all_reduce: Option<Said<CustomAllReduce>>,
    /// Graphs or eager.
    pub graphs: Option<Said<Graphs>>,
    /// Tokens of one step at most; for SGLang of one prefill chunk.
    pub max_batched_tokens: Option<Said<u32>>,
    /// Sequences at once at most.
    pub max_num_seqs: Option<Said<u32>>,
    /// Whether prompts are found in a prefix cache.
    pub prefix_cache: Option<Said<bool>>,
    /// Type of the key-value cache, in the engine's word.
    pub kv_cache_dtype: Option<Said<String>>,
    /// The library of collectives.
    pub library: Option<Said<Library>>,
    /// How the library's ranks reach each other (`NCCL INFO Channel .. via ..`), by lines.
    #[serde(default)]
    pub transports: Vec<Counted>,
    /// Variables that the library took from the environment.
    #[serde(default)]
    pub environment: Vec<Said<String>>,
    /// Warnings that matter to the speed of a step.
    #[serde(default)]
    pub warnings: Vec<Warned>,
    /// Lines of the whole log.
    pub lines: u64,
    /// Starts of an engine in the log; all facts are of the last.
    pub starts: u32,
    /// The line where the last start begins.
    pub start_line: u64,
    /// What contradicts itself or was left out, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// Something that a line said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said<T> {
    /// What it said.
    pub value: T,
    /// The line, the first being 1.
    pub line: u64,
    /// The words, cut where they are long.
    pub text: String,
}

/// Graphs or eager.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Graphs {
    /// Graphs were to be captured.
    Captured {
        /// Batch sizes, ascending; `None` where the log does not list them.
        sizes: Option<Vec<u32>>,
    },
    /// No graphs.
    Eager {
        /// Why.
        reason: String,
    },
}

/// The library of collectives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Library {
    /// `NCCL`, `RCCL` or `MCCL`.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// Something that several lines said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// What, such as `P2P/IPC` or `Capturing CUDA graphs (decode, FULL)`.
    pub name: String,
    /// How often: lines of a transport, graphs of a progress bar.
    pub count: u32,
    /// The first line.
    pub line: u64,
    /// Its words.
    pub text: String,
}

/// A warning that matters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warned {
    /// What it means for the speed of a step.
    pub meaning: String,
    /// Lines that said it.
    pub count: u32,
    /// The first line.
    pub line: u64,
    /// Its words.
    pub text: String,
}

/// What a cell shows where there is nothing to show.
const ABSENT: &str = "—";

/// A fact, its value, the line that said it, and its words.
type Row = [String; 4];

impl EngineLog {
    /// Everything that the log says, a row each: fact, value, line, words. A fact that no line said is shown as absent.
    #[must_use]
    pub fn rows(&self) -> Vec<[String; 4]> {
        let log = self;
        let flag = |set: &bool| if *set { "on" } else { "off" }.to_owned();
        let mut rows = vec![
            row("engine", &log.engine, |engine| engine.name().to_owned()),
            row("version", &log.version, String::clone),
            row("tensor parallel size", &log.tp, u32::to_string),
            row("pipeline parallel size", &log.pp, u32::to_string),
            row(
                "custom all-reduce",
                &log.custom_all_reduce,
                CustomAllReduce::to_string,
            ),
            row("graphs", &log.graphs, Graphs::to_string),
            row(
                "tokens a step, at most",
                &log.max_batched_tokens,
                u32::to_string,
            ),
            row("sequences, at most", &log.max_num_seqs, u32::to_string),
            row("prefix cache", &log.prefix_cache, flag),
            row("key-value cache", &log.kv_cache_dtype, String::clone),
            row("collective library", &log.library, |library| {
                format!("{} {}", library.name, library.version)
            }),
        ];
        let more = |name: &str, value: String, line: u64, text: &str| -> Row {
            [name.to_owned(), value, line.to_string(), text.to_owned()]
        };
        rows.extend(log.transports.iter().map(|way: &Counted| {
            let value = format!("{} ({} lines)", way.name, way.count);
            more("transport", value, way.line, &way.text)
        }));
        let variables = log.environment.iter();
        rows.extend(
            variables.map(|said| more("environment", said.value.clone(), said.line, &said.text)),
        );
        rows.extend(log.warnings.iter().map(|warned| {
            let value = format!("{} ({} lines)", warned.meaning, warned.count);
            more("warning", value, warned.line, &warned.text)
        }));
        rows
    }
}

fn row<T>(name: &str, said: &Option<Said<T>>, show: impl Fn(&T) -> String) -> Row {
    let name = name.to_owned();
    match said {
        Some(said) => [
            name,
            show(&said.value),
            said.line.to_string(),
            said.text.clone(),
        ],
        None => [name, ABSENT.to_owned(), ABSENT.to_owned(), String::new()],
    }
}

impl fmt::Display for CustomAllReduce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Active => f.write_str("on"),
            Self::Off { reason, .. } => write!(f, "off: {reason}"),
        }
    }
}

impl fmt::Display for Graphs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Eager { reason } => write!(f, "none: {reason}"),
            Self::Captured { sizes: None } => f.write_str("captured, sizes not said"),
            Self::Captured { sizes: Some(sizes) } => {
                let largest = sizes.last().copied().unwrap_or(0);
                write!(f, "{} sizes, up to {largest}", sizes.len())
            }
        }
    }
}
