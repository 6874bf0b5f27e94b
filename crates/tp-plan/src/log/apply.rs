//! What a log says of an engine takes the place of what would be assumed of it.

use super::facts::{EngineLog, Graphs};
use crate::engine::{EngineFacts, Execution};

impl EngineFacts {
    /// Takes over what a log of this engine at this size says: limits, graphs, the engine's own all-reduce and its version. What it
    /// settles is no longer among what is assumed.
    #[must_use]
    pub fn with_log(self, log: &EngineLog) -> Self {
        let mut facts = self;
        let graphs = log.graphs.as_ref().map(|said| &said.value);
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
        match graphs {
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
        let has_sizes = graphs.is_some_and(|of| *of != Graphs::Captured { sizes: None });
        let limits = log.max_batched_tokens.is_some() && has_sizes;
        facts.settle(log.custom_all_reduce.is_some(), limits);
        if let Some(pp) = log.pp.as_ref().filter(|pp| pp.value > 1) {
            facts.assumed.push(format!(
                "line {} of the log says {} pipeline stages: what goes between them is not planned",
                pp.line, pp.value
            ));
        }
        facts
    }
}
