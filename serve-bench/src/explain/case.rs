//! What `explain` and `predict` are told of the machine and its engine.

use std::path::PathBuf;

use ::explain::Priors;
use boxfile::BoxFile;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use tp_plan::{Engine, EngineFacts, Surroundings};

/// Two nodes, one for prefill and one for decode, which the demonstration plays, and the box of each.
pub(crate) const PAIR: &str = "h200x16-pd";
pub(crate) const NODE: &str = "h200x8";

/// The machine and its engine, what is assumed of them, and where the answer goes: alike in `explain` and `predict`.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct CaseArgs {
    /// Collective times of this box: of tplens allreduce, nccl-tests (text or JSON), or CSV with the columns op,ranks,bytes,us and
    /// mode, which says how calls were timed and decides how good the evidence is: graph (in a captured graph), interleaved (with work
    /// between the calls), back_to_back or host_synced. May be given several times.
    #[arg(long, value_name = "FILE")]
    pub(crate) allreduce: Vec<PathBuf>,

    /// Links of this box, of tplens p2p.
    #[arg(long, value_name = "FILE")]
    pub(crate) links: Option<PathBuf>,

    /// What the box is, where no links were measured: a built-in box or a box file.
    #[arg(long = "box", value_name = "BOX")]
    pub(crate) box_name: Option<String>,

    /// The GPUs' name, such as "H100", where nothing else says what the machine is: over NVLink where their board has it.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["box_name", "links"])]
    pub(crate) gpu: Option<String>,

    #[command(flatten)]
    pub(crate) engine: EngineFlags,

    /// Replaces something that is assumed, such as gemm_start_us=3..6; may be given several times. The long help of explain lists
    /// the names.
    #[arg(long, value_name = "NAME=LOW..HIGH")]
    pub(crate) prior: Vec<String>,

    /// Write the answer to this file as JSON; `-` for standard output instead of the text.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

impl CaseArgs {
    /// What is assumed, with what was given in its place.
    ///
    /// # Errors
    /// There is no such prior, or its range has no sense; in words.
    pub(crate) fn priors(&self) -> Result<Priors, String> {
        let usage = |error: ::explain::PriorError| format!("--prior: {error}");
        let mut known = Priors::builtin().map_err(usage)?;
        for text in &self.prior {
            known.set(text.parse().map_err(usage)?).map_err(usage)?;
        }
        Ok(known)
    }

    /// The box file that was named; of the demonstration's two nodes that of each.
    ///
    /// # Errors
    /// There is none of that name, or it cannot be read; in words.
    pub(crate) fn described(&self) -> Result<Option<BoxFile>, String> {
        let named = self.box_name.as_deref();
        let named = named.map(|name| if name == PAIR { NODE } else { name });
        let described = named.map(BoxFile::resolve).transpose();
        described.map_err(|error| format!("--box: {error}"))
    }
}

/// The flag by which an engine leaves all-reduces to the library: of vLLM 0.13.0 (`engine/arg_utils.py`), of SGLang 0.5.6
/// (`srt/server_args.py`), and of the embedded engine.
pub(crate) const NO_OWN_ALL_REDUCE: &str = "--disable-custom-all-reduce";

/// How an engine was started, or is to be, as far as its flags say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub(crate) struct EngineFlags {
    /// Engine [default: what a log of it says, else vllm].
    #[arg(long, value_parser = engines())]
    pub(crate) engine: Option<Engine>,

    /// The engine runs without graphs.
    #[arg(long)]
    pub(crate) eager: bool,

    /// The engine is told to leave every all-reduce to the vendor's library, by this flag of its own.
    #[arg(long = "disable-custom-all-reduce")]
    pub(crate) library_only: bool,

    /// The engine's limit of sequences, where it is set.
    #[arg(long, value_name = "N")]
    pub(crate) max_num_seqs: Option<u32>,

    /// The engine's limit of tokens a step, where it is set.
    #[arg(long = "max-num-batched-tokens", value_name = "N")]
    pub(crate) max_batched_tokens: Option<u32>,

    /// How the engine stores its cache of keys and values, where it is set [default: as the model says].
    #[arg(long = "kv-cache-dtype", value_name = "TYPE", value_parser = cache_bytes)]
    pub(crate) kv_cache_bytes: Option<u32>,
}

fn engines() -> impl TypedValueParser<Value = Engine> {
    PossibleValuesParser::new(["vllm", "sglang", "trtllm"]).map(|name| match name.as_str() {
        "sglang" => Engine::Sglang,
        "trtllm" => Engine::Trtllm,
        _ => Engine::Vllm,
    })
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

/// Bytes of an element of the cache by the engine's name of its type; 0 for the model's own.
pub(super) fn cache_bytes(text: &str) -> Result<u32, String> {
    match text {
        "auto" => Ok(0),
        text if text.starts_with("fp8") => Ok(1),
        "bf16" | "bfloat16" | "float16" => Ok(2),
        _ => Err("the types are auto, bf16, bfloat16, float16, fp8, fp8_e4m3, fp8_e5m2".to_owned()),
    }
}
