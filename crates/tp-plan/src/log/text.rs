//! A log's facts as rows of a table: what is known, and by which line.

use std::fmt;

use super::facts::{Counted, EngineLog, Graphs, Said};
use crate::engine::CustomAllReduce;

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
