//! How an engine was started.

use tp_plan::{Engine, EngineFacts, Surroundings};

/// The flag by which an engine leaves all-reduces to the library: of vLLM 0.13.0 (`engine/arg_utils.py`), of SGLang 0.5.6
/// (`srt/server_args.py`), and of the embedded engine.
pub(crate) const NO_OWN_ALL_REDUCE: &str = "--disable-custom-all-reduce";

/// How an engine was started, as far as its flags say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct EngineFlags {
    /// Whose rules hold; vLLM's where nobody says.
    pub(crate) engine: Option<Engine>,
    /// Whether the user named it.
    pub(crate) stated: bool,
    /// Without graphs.
    pub(crate) eager: bool,
    /// Limit of sequences.
    pub(crate) max_num_seqs: Option<u32>,
    /// Limit of tokens a step.
    pub(crate) max_batched_tokens: Option<u32>,
    /// Told to leave every all-reduce to the library.
    pub(crate) library_only: bool,
    /// Bytes of an element of the cache, where they are set.
    pub(crate) kv_cache_bytes: Option<u32>,
}

impl EngineFlags {
    /// What they make of the engine's rules at a size.
    pub(crate) fn facts(self, tp: u32, around: &Surroundings) -> EngineFacts {
        let engine = self.engine.unwrap_or(Engine::Vllm);
        let mut facts = EngineFacts::of(engine, tp, around);
        if let Some(tokens) = self.max_batched_tokens {
            facts = facts.with_max_batched_tokens(tokens);
        }
        if let Some(sequences) = self.max_num_seqs {
            facts = facts.with_max_num_seqs(sequences);
        }
        if self.eager {
            facts = facts.with_eager();
        }
        if self.library_only {
            facts = facts.with_library_only(NO_OWN_ALL_REDUCE);
        }
        facts
    }
}
