//! What a log says of an engine takes the place of what would be assumed of it.

use thiserror::Error;

use super::facts::{EngineLog, Graphs};
use crate::engine::{EngineFacts, Execution};

/// Why a log is not of this engine.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LogError {
    /// It is of another engine.
    #[error("line {line} says that this is {log}, not {asked}; name the engine that served")]
    OtherEngine {
        /// The line.
        line: u64,
        /// The log's engine.
        log: &'static str,
        /// The engine that was asked for.
        asked: &'static str,
    },
    /// It is of another size.
    #[error(
        "line {line} says `{text}`, but the result is of tensor parallel size {asked}; give the log of the server that was measured"
    )]
    OtherTp {
        /// The line.
        line: u64,
        /// Its words.
        text: String,
        /// The tensor parallel size that was asked for.
        asked: u32,
    },
}

impl EngineFacts {
    /// Takes over what the log says: limits, graphs, the engine's own all-reduce and its version. What it settles is no longer
    /// among what is assumed.
    ///
    /// # Errors
    /// The log is of another engine, or of another tensor parallel size.
    pub fn with_log(self, log: &EngineLog) -> Result<Self, LogError> {
        if let Some(engine) = &log.engine
            && engine.value != self.engine
        {
            return Err(LogError::OtherEngine {
                line: engine.line,
                log: engine.value.name(),
                asked: self.engine.name(),
            });
        }
        if let Some(tp) = &log.tp
            && tp.value != self.tp
        {
            return Err(LogError::OtherTp {
                line: tp.line,
                text: tp.text.clone(),
                asked: self.tp,
            });
        }
        let mut facts = self;
        if let Some(version) = &log.version {
            facts = facts.with_version(&version.value);
        }
        // The captured sizes follow from these, and what the log says of the sizes replaces them.
        if let Some(tokens) = &log.max_batched_tokens {
            facts = facts.with_max_batched_tokens(tokens.value);
        }
        if let Some(sequences) = &log.max_num_seqs {
            facts = facts.with_max_num_seqs(sequences.value);
        }
        match log.graphs.as_ref().map(|said| &said.value) {
            Some(Graphs::Eager { .. }) => facts = facts.with_eager(),
            Some(Graphs::Captured { sizes: Some(sizes) }) => {
                facts.execution = Execution::Graph {
                    capture_sizes: sizes.clone(),
                };
            }
            Some(Graphs::Captured { sizes: None }) | None => {}
        }
        if let Some(custom) = &log.custom_all_reduce
            && facts.tp > 1
        {
            facts.custom_all_reduce = custom.value.clone();
        }
        let sizes = matches!(
            log.graphs.as_ref().map(|said| &said.value),
            Some(Graphs::Eager { .. } | Graphs::Captured { sizes: Some(_) })
        );
        let limits = log.max_batched_tokens.is_some() && sizes;
        facts.settle(log.custom_all_reduce.is_some(), limits);
        if let Some(pp) = log.pp.as_ref().filter(|pp| pp.value > 1) {
            facts.assumed.push(format!(
                "line {} of the log says {} pipeline stages: what goes between them is not planned",
                pp.line, pp.value
            ));
        }
        Ok(facts)
    }
}
