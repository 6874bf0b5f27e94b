//! From the command line to an engine: box, model, the engine's facts, limits and profile.

use anyhow::Context;
use boxfile::BoxFile;
use disagg::KvShape;
use engine::{Curve, Engine, Limits, Profile, StepTime, surroundings};
use tp_plan::{EngineFacts, ModelFacts};

use super::args::{Args, Fault};
use super::dialect::Dialect;
use super::remote::Settings;

/// An engine and what its answers say of it.
#[derive(Debug)]
pub(super) struct Setup {
    /// The engine, with nothing to do.
    pub(super) engine: Engine,
    /// Name that requests carry.
    pub(super) model: String,
    /// Name of the box.
    pub(super) soft_box: String,
    /// Virtual seconds a second.
    pub(super) speed: f64,
    /// Whose words it answers in.
    pub(super) dialect: Dialect,
    /// Tokens in an event after the first one.
    pub(super) tokens_per_chunk: u32,
    /// Whether the engine has a prefix cache, and tells how much of a prompt it had.
    pub(super) prefix_caching: bool,
    /// What goes wrong with each request.
    pub(super) fault: Option<Fault>,
    /// Its part in serving with others.
    pub(super) remote: Option<Settings>,
}

impl Setup {
    /// Reads what the command line names. Every error is the user's input.
    pub(super) fn of(args: &Args) -> anyhow::Result<Self> {
        let described = BoxFile::resolve(&args.described).context("--box")?;
        let model = ModelFacts::resolve(&args.model).context("--model")?;
        let ranks = args.tensor_parallel_size;

        let around = surroundings(&described, ranks)?;
        model.check_tp(ranks).context("--tensor-parallel-size")?;
        let mut facts = EngineFacts::vllm(ranks, &around);
        if let Some(sequences) = args.max_num_seqs {
            facts = facts.with_max_num_seqs(sequences);
        }
        if let Some(tokens) = args.max_num_batched_tokens {
            facts = facts.with_max_batched_tokens(tokens);
        }
        if args.enforce_eager {
            facts = facts.with_eager();
        }
        if args.disable_custom_all_reduce {
            facts = facts.with_library_only("--disable-custom-all-reduce");
        }
        let mut profile = Profile::of_box(&described, &model)?;
        if let Some(file) = &args.profile {
            let text = bounded::text(file, bounded::SETTINGS)
                .with_context(|| format!("--profile: cannot read {}", file.display()))?;
            profile = profile.with_json(&text, &file.display().to_string())?;
        }
        let limits = Limits::of_box(&described, &model, ranks, args.max_model_len)?;
        let name = args
            .served_model_name
            .clone()
            .unwrap_or_else(|| model.name.clone());
        let shape = KvShape::of(&model, limits.block_tokens);
        let remote = args.role.map(|role| Settings {
            role,
            law: args.kv_link,
            shape,
            tp: ranks,
            speed: args.speed,
        });
        let step_time = StepTime::new(model, facts, profile, Curve::of_box(&described, ranks))?;
        let mut engine = Engine::new(step_time, limits)?;
        if args.enable_prefix_caching {
            engine = engine.with_prefix_caching();
        }
        Ok(Self {
            engine,
            model: name,
            soft_box: described.name,
            speed: args.speed,
            dialect: args.dialect,
            tokens_per_chunk: args.tokens_per_chunk,
            fault: args.fault,
            prefix_caching: args.enable_prefix_caching,
            remote,
        })
    }
}
